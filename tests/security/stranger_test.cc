// Tests requests of a stranger that has attached as a replica. The gateway refuses each.
#include "tests/security/stranger.h"

#include "common/testing/status_matchers.h"

namespace basalt::security {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kJob = gateway::v1::SERVICE_KIND_JOB;
constexpr auto kGroup = gateway::v1::SERVICE_KIND_POD_GROUP;
constexpr auto kMerge = gateway::v1::Patch::TYPE_MERGE;
constexpr auto kJson = gateway::v1::Patch::TYPE_JSON;

constexpr char kKey[] = "c2VjcmV0LWtleQ==";

// Returns a Secret that is owned by that job, or by nobody if `job_uid` is empty.
std::string SecretOf(const std::string& job, const std::string& job_uid = "") {
  const std::string owner = fmt::format(
      R"(,"ownerReferences":[{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"{}","uid":"{}",)"
      R"("controller":true}}])",
      job, job_uid);
  return fmt::format(R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}-ssh","namespace":"prod"{}}},)"
                     R"("data":{{"id_rsa":"{}"}}}})",
                     job, job_uid.empty() ? "" : owner, kKey);
}

// Each patch tries to copy the private key to a field that answers or refusals would quote.
TEST_F(StrangerTest, NoPatchOfASecretShowsItsKey) {
  Create(SecretOf("train", CreateJob("train")));
  const std::string reference =
      R"({"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]})";
  const struct {
    gateway::v1::Patch::Type type;
    std::string body;
  } rows[] = {
      {kJson, "[" + reference + R"(,{"op":"copy","from":"/data/id_rsa","path":"/metadata/ownerReferences/0/name"}])"},
      {kJson, R"([{"op":"copy","from":"/data/id_rsa","path":"/metadata/finalizers"}])"},
      {kJson, R"([{"op":"test","path":"/data/id_rsa","value":"c2VjcmV0LWtleQ=="}])"},
      {kMerge, R"({"data":{"id_rsa":"bXkga2V5"}})"},
      {kMerge, R"({"data":null})"},
      {gateway::v1::Patch::TYPE_STRATEGIC, R"({"data":{"config":"YQ=="}})"},
      {gateway::v1::Patch::TYPE_APPLY, R"({"data":{"config":"YQ=="}})"},
  };
  for (const auto& row : rows) {
    const auto answer = Patch(WriteOf(kJob, "prod/train", kube::kSecrets, "prod", "train-ssh"), row.type, row.body);
    const std::string text = answer.ok() ? answer->DebugString() : std::string(answer.status().message());
    EXPECT_THAT(text, Not(HasSubstr(kKey))) << row.body;
    EXPECT_FALSE(answer.ok()) << row.body;
    EXPECT_EQ(FindString(Stored("secrets", "train-ssh").at("data"), "id_rsa"), kKey) << row.body;
  }
  // jobsvc sends this patch.
  const auto answer =
      Patch(WriteOf(kJob, "prod/train", kube::kSecrets, "prod", "train-ssh"), kMerge, R"({"data":{"config":"YQ=="}})");
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->DebugString(), Not(HasSubstr(kKey)));
  EXPECT_EQ(answer->object().generic().meta().owner_references_size(), 1) << answer->DebugString();
}

TEST_F(StrangerTest, ARefusalAboutASecretHasCodeAndReasonAlone) {
  Create(SecretOf("train", CreateJob("train")));
  api.faults().Add({.verb = "patch", .resource = "secrets", .code = 422});
  const auto answer =
      Patch(WriteOf(kJob, "prod/train", kube::kSecrets, "prod", "train-ssh"), kMerge, R"({"data":{"config":"YQ=="}})");
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->error().code(), 422);
  EXPECT_EQ(answer->error().message(), fmt::format("the API server refuses it as {} (422)", answer->error().reason()));
}

TEST_F(StrangerTest, NobodyChangesWhatAPodRuns) {
  const std::string uid = CreateJob("train");
  Create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"train-t-0","namespace":"prod",)"
      R"("labels":{{"volcano.sh/job-name":"train"}},"ownerReferences":)"
      R"([{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"train","uid":"{}","controller":true}}]}},)"
      R"("spec":{{"containers":[{{"name":"c","image":"good:1"}}]}}}})",
      uid));
  Create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"prod","annotations":)"
         R"({"scheduling.k8s.io/group-name":"web"}},"spec":{"schedulerName":"volcano",)"
         R"("containers":[{"name":"c","image":"good:1"}]}})");
  const std::string json = R"([{"op":"replace","path":"/spec/containers/0/image","value":"evil:1"}])";
  const std::string merge = R"({"spec":{"containers":[{"name":"c","image":"evil:1"}]}})";
  const struct {
    gateway::v1::ServiceKind service;
    std::string key;
    std::string pod;
  } rows[] = {{kJob, "prod/train", "train-t-0"}, {kGroup, "prod/web", "web-0"}};
  for (const auto& row : rows) {
    const auto request = WriteOf(row.service, row.key, kube::kPods, "prod", row.pod);
    for (const auto& answer : {Patch(request, kJson, json), Patch(request, kMerge, merge)}) {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied) << row.pod << answer.status();
    }
    EXPECT_EQ(FindString(Stored("pods", row.pod).at("spec").at("containers").at(0), "image"), "good:1") << row.pod;
  }
}

std::string PodOf(const std::string& ns, const std::string& name, const std::string& job_uid = "") {
  const std::string owner =
      fmt::format(R"(,"labels":{{"volcano.sh/job-name":"{0}"}},"ownerReferences":[{{"apiVersion":)"
                  R"("batch.volcano.sh/v1alpha1","kind":"Job","name":"{0}","uid":"{1}","controller":true}}])",
                  name.substr(0, name.find('-')), job_uid);
  return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"{}"{}}},)"
                     R"("spec":{{"containers":[{{"name":"c","image":"good:1"}}]}}}})",
                     name, ns, job_uid.empty() ? "" : owner);
}

constexpr char kMark[] = R"({"metadata":{"annotations":{"volcano.sh/controller-out-of-sync":"true"}}})";

TEST_F(StrangerTest, AJobGetsNothingThatIsNotItsOwn) {
  const std::string uid = CreateJob("deploy");
  Create(SecretOf("deploy"));
  Create(PodOf("prod", "deploy-app-0"));
  auto creation = WriteOf(kJob, "prod/deploy", kube::kPods, "prod", "deploy-t-0");
  creation.mutable_create()->set_body(PodOf("prod", "deploy-t-0", "invented"));
  EXPECT_EQ(Write(creation).status().code(), absl::StatusCode::kUnavailable);
  const auto secret = WriteOf(kJob, "prod/deploy", kube::kSecrets, "prod", "deploy-ssh");
  EXPECT_EQ(Patch(secret, kMerge, R"({"data":{"config":"YQ=="}})").status().code(),
            absl::StatusCode::kPermissionDenied);
  const auto pod = WriteOf(kJob, "prod/deploy", kube::kPods, "prod", "deploy-app-0");
  EXPECT_EQ(Patch(pod, kMerge, kMark).status().code(), absl::StatusCode::kPermissionDenied);
  auto deletion = pod;
  deletion.mutable_delete_()->set_uid(UidOf("pods", "deploy-app-0"));
  EXPECT_EQ(Write(deletion).status().code(), absl::StatusCode::kPermissionDenied);
  // The answer contains only what proves that the name is taken.
  const auto found = Get(kJob, "prod/deploy", kube::kPods, "prod", "deploy-app-0");
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->object().pod().uid(), UidOf("pods", "deploy-app-0"));
  EXPECT_EQ(found->object().pod().scheduler_name(), "");
  // The job may create and patch its own pod.
  creation.mutable_create()->set_body(PodOf("prod", "deploy-t-0", uid));
  ASSERT_THAT(Write(creation), IsOk());
  const auto own = WriteOf(kJob, "prod/deploy", kube::kPods, "prod", "deploy-t-0");
  const auto marked = Patch(own, kMerge, kMark);
  ASSERT_THAT(marked, IsOk());
  EXPECT_TRUE(marked->has_object()) << marked->DebugString();
}

TEST_F(StrangerTest, NoJobIsMadeAmongWhatTheClusterItselfRuns) {
  auto creation = WriteOf(kJob, "kube-system/evil", kube::kJobs, "kube-system", "evil");
  creation.mutable_create()->set_body(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"evil","namespace":"kube-system"},)"
      R"("spec":{"tasks":[{"name":"t","replicas":1,"template":{"spec":{"hostPID":true,"containers":)"
      R"([{"name":"c","image":"i"}]}}}]}})");
  const auto answer = Write(creation);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("only where --namespaces names it"));
  EXPECT_TRUE(Stored("jobs.batch.volcano.sh", "evil", "kube-system").is_null());
}

}  // namespace
}  // namespace basalt::security
