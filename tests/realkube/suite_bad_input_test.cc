// Problems arise on a real cluster while the whole suite runs on the cluster. The suite reports each problem where a
// person looks, every process survives, no other job is harmed, and the report ends as soon as the problem is solved.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "common/testing/status_matchers.h"
#include "tests/realkube/suite_fixture.h"

namespace basalt::realkube {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct BadJob {
  const char* name;
  std::string spec;
  const char* words;  // The field with its rule.
  const char* field;  // The field by which a metric counts the problem.
};

// The cluster has a definition without rules, as an owner who trusts every user might install.
class OpenDefinitionTest : public SuiteTest {
 protected:
  void SetUp() override {
    ASSERT_NE(e2e::RealCluster(), nullptr);
    Kubectl({"patch", "crd", kJobs, "--type", "json", "-p",
             R"([{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema",)"
             R"("value":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}])"});
    // The change may come into force a moment later.
    ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return Create("probe", R"("none")").ok(); }));
    Kubectl({"delete", kJobs, "probe"});
    Start();
  }
  void TearDown() override {
    if (world_ == nullptr) return;
    if (world_->ok()) {
      Kubectl({"delete", kJobs, "--all", "--wait=false"});
      EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return world_->JobCount() == 0; }));
    }
    Kubectl({"replace", "-f", BASALT_SOURCE_DIR "/deploy/crds/batch.volcano.sh_jobs.yaml"});
  }
};

TEST_F(OpenDefinitionTest, JobsThatCannotBeReadSaySoHarmNobodyAndRunWhenPutRight) {
  const std::vector<BadJob> bad = {
      {"count", Spec("[" + Task(R"("three")") + "]"), "spec.tasks[0].replicas: expected a number, found a string",
       "spec.tasks"},
      {"text", R"("none")", "spec: expected an object, found a string", "spec"},
      {"large", Spec("[" + Task("1") + "]", R"("minAvailable":4294967297)"),
       "spec.minAvailable: 4294967297 is not between", "spec.minAvailable"},
  };
  for (const BadJob& job : bad) EXPECT_THAT(Create(job.name, job.spec), IsOk()) << job.name;
  EXPECT_THAT(Create("good", GoodSpec()), IsOk());
  for (const BadJob& job : bad) {
    EXPECT_TRUE(Says(job.name, job.words)) << job.name << ": " << WordsOf(job.name);
    EXPECT_THAT(WordsOf(job.name), HasSubstr("InvalidJob: "));
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
      return EventsOf(job.name).find(std::string("Warning InvalidJob ") + job.words) != std::string::npos;
    })) << EventsOf(job.name);
    EXPECT_THAT(Metrics(), HasSubstr(fmt::format(
                               R"(gateway_undecodable_total{{field="{}",watch="jobs.batch.volcano.sh"}})", job.field)));
  }
  EXPECT_TRUE(Becomes("good", "Completed")) << world_->JobPhase("good");
  EXPECT_TRUE(Target("watch jobs.batch.volcano.sh").ready) << "nothing waits for them";
  for (const BadJob& job : bad) {
    EXPECT_EQ(CountPods(job.name, "create"), 0) << job.name;
    Replace(job.name, "/spec", GoodSpec());
  }
  for (const BadJob& job : bad) {
    EXPECT_TRUE(Becomes(job.name, "Completed"))
        << job.name << " is " << world_->JobPhase(job.name) << ", " << WordsOf(job.name);
    EXPECT_EQ(WordsOf(job.name).find("InvalidJob"), std::string::npos) << WordsOf(job.name);
    EXPECT_THAT(e2e::JudgeJob(*world_, job.name), IsEmpty()) << job.name;
  }
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

TEST_F(OpenDefinitionTest, AJobThatCannotBeReadAnyMoreKeepsItsPodsAndEndsWhenPutRight) {
  ASSERT_THAT(Create("edited", GoodSpec("4s")), IsOk());
  ASSERT_TRUE(Becomes("edited", "Running"));
  Replace("edited", "/spec/tasks/0/replicas", R"("two")");
  EXPECT_TRUE(Says("edited", "InvalidJob: spec.tasks[0].replicas")) << WordsOf("edited");
  // The pods end meanwhile. The job counts them once it can be read again.
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return PodPhases("edited") == "Succeeded Succeeded"; }))
      << PodPhases("edited");
  EXPECT_EQ(CountPods("edited", "delete"), 0);
  Replace("edited", "/spec/tasks/0/replicas", "2");
  EXPECT_TRUE(Becomes("edited", "Completed")) << world_->JobPhase("edited") << ", " << WordsOf("edited");
  EXPECT_EQ(CountPods("edited", "create"), 2);
  EXPECT_THAT(e2e::JudgeJob(*world_, "edited"), IsEmpty());
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

// The gateway presents a token of its account from a file.
class RevokedTokenTest : public SuiteTest {
 protected:
  void SetUp() override {
    ASSERT_NE(e2e::RealCluster(), nullptr);
    NewToken();
    WriteKubeconfig(dir_ / "kubeconfig", cluster().kube_server(),
                    fmt::format("certificate-authority: {}/pki/ca.crt", cluster().dir()),
                    fmt::format("tokenFile: {}", dir_ / "token"));
    Start({.gateway_kubeconfig = dir_ / "kubeconfig", .gateway_flags = {}});
  }
  void NewToken() {
    const std::string token = Kubectl({"create", "token", "basalt-gateway", "--namespace", "basalt-system"});
    e2e::WriteFile(dir_ / "token", token.substr(0, token.find('\n')));
  }
  // Returns true if the server accepts the token.
  bool IsAccepted() {
    e2e::WriteFile(
        dir_ / "review.json",
        fmt::format(R"({{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{}"}}}})",
                    e2e::ReadFile(dir_ / "token")));
    return Kubectl({"create", "-f", dir_ / "review.json", "-o", "jsonpath={.status.authenticated}"}) == "true";
  }
  bool Reaches(const std::string& state) {
    return e2e::Eventually(kLimit, [&] { return Target("API server").state == state; });
  }
};

TEST_F(RevokedTokenTest, ATokenThatIsRevokedWhileJobsRunLosesNothing) {
  ASSERT_THAT(Create("early", GoodSpec("35s")), IsOk());
  ASSERT_TRUE(Becomes("early", "Running"));
  Kubectl({"delete", "serviceaccount", "basalt-gateway", "--namespace", "basalt-system"});
  // The server caches the review of a token for a while. Open watches stay open: the suite observes the next job, but
  // cannot act on it.
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return !IsAccepted(); }));
  ASSERT_THAT(Create("late", GoodSpec()), IsOk());
  EXPECT_TRUE(Reaches("unauthorized")) << TextOf(Target("API server"));
  EXPECT_FALSE(Target("API server").ready);
  EXPECT_THAT(Target("API server").cure, HasSubstr("token"));
  EXPECT_THAT(Metrics(), HasSubstr(R"(gateway_target{state="unauthorized",target="API server"} 1)"));
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return PodPhases("early") == "Succeeded Succeeded"; }))
      << PodPhases("early");
  // The restart also ends the watches, and no new watch can be opened.
  ASSERT_THAT(cluster().Kill("kube-apiserver"), IsOk());
  ASSERT_THAT(cluster().Restart("kube-apiserver"), IsOk());
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
    return Metrics().find(R"(basalt_gateway_watch_errors_total{reason="unauthorized",watch="pods/job"})") !=
           std::string::npos;
  })) << Metrics();
  EXPECT_TRUE(Reaches("unauthorized")) << TextOf(Target("API server"));
  EXPECT_EQ(world_->JobPhase("early"), "Running");
  EXPECT_EQ(CountPods("late", "create"), 0);
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());

  Kubectl({"create", "serviceaccount", "basalt-gateway", "--namespace", "basalt-system"});
  NewToken();
  for (const char* job : {"early", "late"}) {
    EXPECT_TRUE(Becomes(job, "Completed")) << job << " is " << world_->JobPhase(job) << ", " << WordsOf(job);
    EXPECT_EQ(CountPods(job, "create"), 2) << job;
    EXPECT_THAT(e2e::JudgeJob(*world_, job), IsEmpty()) << job;
  }
  EXPECT_TRUE(Reaches("ready")) << TextOf(Target("API server"));
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
  Kubectl({"delete", kJobs, "--all", "--wait=false"});
}

// The owner of the namespace requires that pods give up every privilege.
class RestrictedNamespaceTest : public SuiteTest {
 protected:
  void SetUp() override {
    ASSERT_NE(e2e::RealCluster(), nullptr);
    Kubectl({"label", "namespace", "default", "pod-security.kubernetes.io/enforce=restricted"});
    Start();
  }
  void TearDown() override {
    if (e2e::RealCluster() == nullptr) return;
    Kubectl({"delete", kJobs, "--all", "--wait=false"});
    Kubectl({"label", "namespace", "default", "pod-security.kubernetes.io/enforce-"});
  }
  static std::string TemplateWith(const std::string& security) {
    return fmt::format(
        R"({{"metadata":{{"annotations":{{"kubesim.basalt.dev/duration":"1s"}}}},"spec":{{"restartPolicy":"Never",)"
        R"("containers":[{{"name":"c","image":"i","securityContext":{}}}]}}}})",
        security);
  }
  static std::string JobWith(const std::string& pod_template) {
    return Spec(fmt::format(R"([{{"name":"t","replicas":5,"template":{}}}])", pod_template));
  }
  // Returns the times at which the API server refused a pod of the job.
  std::vector<absl::Time> Refusals(const std::string& job) {
    std::vector<absl::Time> times;
    for (const e2e::Write& write : world_->Log()) {
      if (write.IsOurs() && write.resource == "pods" && write.verb == "create" && write.status == 403 &&
          write.name.starts_with(job + "-")) {
        times.push_back(write.time);
      }
    }
    return times;
  }

  const std::string allowed_ =
      TemplateWith(R"({"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]},)"
                   R"("seccompProfile":{"type":"RuntimeDefault"}})");
};

TEST_F(RestrictedNamespaceTest, ARefusedTemplateIsReportedAndRunsOnceItIsEdited) {
  ASSERT_THAT(Create("open", JobWith(TemplateWith("{}"))), IsOk());
  ASSERT_THAT(Create("modest", JobWith(allowed_)), IsOk());
  const std::string words =
      R"(is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must )"
      R"(set securityContext.allowPrivilegeEscalation=false))";
  // Five creates are under way at once, and jobsvc reports the refusal of one of them.
  EXPECT_TRUE(Says("open", words)) << WordsOf("open");
  EXPECT_THAT(WordsOf("open"), HasSubstr("FailedCreate: pod open-t-"));
  EXPECT_TRUE(Becomes("modest", "Completed")) << world_->JobPhase("modest") << ", " << WordsOf("modest");
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
    return EventsOf("open").find("Warning FailedCreate pod open-t-") != std::string::npos;
  })) << EventsOf("open");
  EXPECT_THAT(EventsOf("open"), HasSubstr(words));
  const e2e::Ran explained = world_->Ctl({"job", "explain", "open"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr(words));
  // Now and then, jobsvc tries a single pod on behalf of all.
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] {
    const std::vector<absl::Time> times = Refusals("open");
    return times.size() >= 2 && times.back() - times[times.size() - 2] >= absl::Seconds(4);
  }));
  EXPECT_LE(Refusals("open").size(), 5u + 8u);
  EXPECT_EQ(world_->JobPhase("open"), "Pending");

  const absl::Time edited = absl::Now();
  Replace("open", "/spec/tasks/0/template", allowed_);
  EXPECT_TRUE(Becomes("open", "Completed")) << world_->JobPhase("open") << ", " << WordsOf("open");
  EXPECT_EQ(CountPods("open", "create"), 5);
  EXPECT_LT(Refusals("open").back(), edited) << "the edit alone is asked about";
  EXPECT_EQ(WordsOf("open"), ": ");
  EXPECT_THAT(e2e::JudgeJob(*world_, "open"), IsEmpty());
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

}  // namespace
}  // namespace basalt::realkube
