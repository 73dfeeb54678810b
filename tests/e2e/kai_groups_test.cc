// Pods of KAI's scheduler under owners of several kinds: their groups and links, and that a restart writes nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/kube/names.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;

constexpr char kGroups[] = "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups";
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";

std::string Template(std::string_view labels) {
  return fmt::format(
      R"("template":{{"metadata":{{"labels":{{{}}},"annotations":{{"kubesim.basalt.dev/duration":"10h"}}}},"spec":{{)"
      R"("schedulerName":"kai-scheduler","terminationGracePeriodSeconds":0,"restartPolicy":"@","containers":[{{)"
      R"("name":"c","image":"busybox","command":["sleep","600"],"resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}})",
      labels);
}

std::string With(std::string text, std::string_view restart_policy) {
  return text.replace(text.find('@'), 1, restart_policy);
}

class KaiGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world_.ok()); }

  // The UID of what was made.
  std::string Create(const std::string& path, const std::string& body) {
    absl::StatusOr<http::Response> answer = absl::UnknownError("not asked");
    // A definition is served a moment after it was made.
    const bool is_made = Eventually(absl::Seconds(30), [&] {
      answer = world_.Call("POST", path, body);
      return answer.ok() && answer->status != 404;
    });
    EXPECT_TRUE(is_made && answer->status < 300) << path << ": " << (answer.ok() ? answer->body : "");
    if (!is_made) return "";
    const absl::StatusOr<json::value> made = ParseJson(answer->body);
    return made.ok() ? std::string(FindString(*Find(*made, "metadata"), "uid")) : "";
  }
  std::string CreateWorkload(const std::string& kind, const std::string& plural, const std::string& spec,
                             const std::string& metadata = "") {
    const std::string name = absl::StrCat("kai-", plural);
    return Create(
        fmt::format("/apis/apps/v1/namespaces/default/{}", plural),
        fmt::format(R"({{"apiVersion":"apps/v1","kind":"{}","metadata":{{"name":"{}"{}}},"spec":{{"replicas":2,)"
                    R"("selector":{{"matchLabels":{{"app":"{}"}}}},{}{}}}}})",
                    kind, name, metadata, name, spec, With(Template(fmt::format(R"("app":"{}")", name)), "Always")));
  }
  std::vector<json::value> Items(const std::string& path) {
    const json::value list = world_.KubeGet(path);
    const json::value* const items = list.is_null() ? nullptr : Find(list, "items");
    std::vector<json::value> all;
    if (items != nullptr) all.assign(items->as_array().begin(), items->as_array().end());
    return all;
  }
  static std::string TextAt(const json::value& object, std::initializer_list<std::string_view> path,
                            std::string_view member) {
    const json::value* const found = FindPath(object, path);
    return found == nullptr ? "" : std::string(FindString(*found, member));
  }
  // The groups that pods whose names begin so are in, once `count` of them run.
  std::set<std::string> GroupsOf(const std::string& prefix, size_t count) {
    std::set<std::string> groups;
    const bool run = Eventually(absl::Seconds(60), [&] {
      groups.clear();
      size_t running = 0;
      for (const json::value& pod : Items(kPods)) {
        if (!TextAt(pod, {"metadata"}, "name").starts_with(prefix)) continue;
        running += TextAt(pod, {"status"}, "phase") == "Running" ? 1 : 0;
        groups.insert(TextAt(pod, {"metadata", "annotations"}, kube::kKaiGroupNameKey));
      }
      return running == count;
    });
    EXPECT_TRUE(run) << prefix;
    return groups;
  }
  std::string Spec(const std::string& group) {
    const json::value object = world_.KubeGet(fmt::format("{}/{}", kGroups, group));
    return object.is_null() ? "none" : ToText(object.at("spec"));
  }
  size_t OurWrites() {
    size_t writes = 0;
    for (const Write& write : world_.Log()) {
      writes += write.IsOurs() && (write.resource == "podgroups" || write.resource == "pods") ? 1 : 0;
    }
    return writes;
  }

  World world_{{.gateway_flags = {"--slow_retry=1s"}, .kai = true}};
};

TEST_F(KaiGroupsTest, PodsOfEachOwnerAreGroupedAndRunAndARestartWritesNothing) {
  const std::string set = CreateWorkload("StatefulSet", "statefulsets", R"("serviceName":"s",)",
                                         R"(,"labels":{"kai.scheduler/queue":"team"})");
  CreateWorkload("Deployment", "deployments", "");
  const std::string job = Create(
      kJobs,
      fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"kai-job","annotations":)"
                  R"({{"kai.scheduler/batch-min-member":"2"}}}},"spec":{{"parallelism":2,"completions":2,{}}}}})",
                  With(Template(R"("app":"kai-job")"), "Never")));
  EXPECT_EQ(GroupsOf("kai-statefulsets-", 2), std::set<std::string>{"pg-kai-statefulsets-" + set});
  EXPECT_THAT(Spec("pg-kai-statefulsets-" + set), HasSubstr(R"("queue":"team")"));
  EXPECT_EQ(GroupsOf("kai-job-", 2), std::set<std::string>{"pg-kai-job-" + job});
  EXPECT_THAT(Spec("pg-kai-job-" + job), HasSubstr(R"("minMember":2)"));
  const std::set<std::string> of_deployment = GroupsOf("kai-deployments-", 2);
  EXPECT_EQ(of_deployment.size(), 2u) << "one for each pod";
  for (const std::string& group : of_deployment) {
    EXPECT_THAT(Spec(group), HasSubstr(R"("priorityClassName":"inference")"));
  }

  const size_t writes = OurWrites();
  ASSERT_THAT(world_.suite().Kill("pgsvc"), testing::IsOk());
  ASSERT_THAT(world_.suite().Restart("pgsvc"), testing::IsOk());
  for (const json::value& pod : Items(kPods)) {
    const std::string name = TextAt(pod, {"metadata"}, "name");
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
      return world_.Ctl({"podgroup", "explain", name}).out.find("In cluster: yes") != std::string::npos;
    })) << world_.Ctl({"podgroup", "explain", name}).out;
  }
  EXPECT_EQ(OurWrites(), writes) << "everything is known again";
  const Ran none = world_.Ctl({"podgroup", "explain", "none"});
  EXPECT_EQ(none.exit_code, 1) << none.err;
  EXPECT_THAT(none.err, HasSubstr("there is no pod default/none that a scheduler of KAI's places"));
}

// The kind comes after somebody has asked for it.
TEST_F(KaiGroupsTest, PodsOfAKindThatIsNewToTheClusterAreOneGang) {
  Create(kPods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"early","ownerReferences":[{"apiVersion":
    "jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"nobodys","uid":"11111111-1111-4111-8111-111111111111"}]},
    "spec":{"schedulerName":"kai-scheduler","containers":[{"name":"c","image":"busybox"}]}})");
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    return world_.Ctl({"podgroup", "explain", "early"}).out.find("JobSet default/nobodys does not exist") !=
           std::string::npos;
  })) << world_.Ctl({"podgroup", "explain", "early"}).out;
  Create(kDefinitions, R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"jobsets.jobset.x-k8s.io"},"spec":{"group":"jobset.x-k8s.io","scope":"Namespaced",
    "names":{"kind":"JobSet","listKind":"JobSetList","plural":"jobsets","singular":"jobset"},
    "versions":[{"name":"v1alpha2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
    "x-kubernetes-preserve-unknown-fields":true}}}]}})");
  const std::string set = Create("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets",
                                 R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"js"},
    "spec":{"replicatedJobs":[{"name":"leader","replicas":1,"template":{"spec":{"parallelism":1}}},
    {"name":"worker","replicas":2,"template":{"spec":{"parallelism":1}}}]}})");
  // As its controller would, which nobody runs here.
  for (const auto& [name, index] : {std::pair("leader", 0), std::pair("worker", 0), std::pair("worker", 1)}) {
    Create(kJobs,
           fmt::format(R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"js-{}-{}","ownerReferences":[)"
                       R"({{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"js","uid":"{}",)"
                       R"("controller":true}}]}},"spec":{{"parallelism":1,"completions":1,{}}}}})",
                       name, index, set,
                       With(Template(fmt::format(R"("jobset.sigs.k8s.io/replicatedjob-name":"{}",)"
                                                 R"("jobset.sigs.k8s.io/job-index":"{}")",
                                                 name, index)),
                            "Never")));
  }
  EXPECT_EQ(GroupsOf("js-", 3), std::set<std::string>{"pg-js-" + set});
  const std::string spec = Spec("pg-js-" + set);
  EXPECT_THAT(spec, HasSubstr(R"("minSubGroup":2)"));
  EXPECT_THAT(spec, HasSubstr(R"("name":"worker-replica-1")"));
}

}  // namespace
}  // namespace basalt::e2e
