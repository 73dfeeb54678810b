// Tests jobs from submission to their end over the whole suite, simulated: the phases that users observe, and the
// writes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/suite/suite_fixture.h"

namespace basalt::simulation {
namespace {

constexpr char kPlugins[] = R"(,"plugins":{"env":[],"svc":[],"ssh":[]})";

std::string Job(std::string_view name, int replicas, std::string_view script, const std::string& more = "") {
  return OneTaskJob(name, replicas, script, kPlugins + more);
}

class LifeTest : public SuiteTest {
 protected:
  LifeTest() : SuiteTest(9) {}
};

TEST_F(LifeTest, AJobCostsNoMoreThanItsBudget) {
  for (const int pods : {1, 10, 100}) {
    const std::string name = fmt::format("j{}", pods);
    suite_.api().ClearLog();
    suite_.CreateObject(Job(name, pods, "sleep 1"));
    ASSERT_TRUE(Reaches(name, "Completed")) << suite_.JobPhase("default", name);
    suite_.time().Advance(absl::Seconds(30));
    EXPECT_EQ(Writes("create", "pods"), pods);
    EXPECT_LE(Writes(), pods + 2 + 2 * 4 + 5) << pods;
    for (const kubesim::LoggedRequest& request : suite_.api().log()) {
      if (!e2e::IsByOwner(request.user_agent)) continue;
      EXPECT_LT(request.status, 300) << request.verb << " " << request.resource << " " << request.name;
      if (request.resource != "podgroups") continue;
      EXPECT_EQ(e2e::WriterOf(request.user_agent)->service, "pgsvc") << request.verb << " " << request.name;
    }
  }
}

TEST_F(LifeTest, ARestartWithFinishedJobsWritesNothing) {
  for (int i = 0; i < 5; ++i) suite_.CreateObject(Job(fmt::format("j{}", i), 3, "sleep 1"));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Reaches(fmt::format("j{}", i), "Completed"));
  suite_.time().Advance(absl::Seconds(30));
  suite_.api().ClearLog();
  for (const std::string_view program : {"gateway-0", "jobsvc-0", "pgsvc-0", "queuesvc-0"}) suite_.Kill(program);
  for (const std::string_view program : {"gateway-0", "jobsvc-0", "pgsvc-0", "queuesvc-0"}) suite_.Start(program);
  suite_.time().Advance(absl::Seconds(60));
  EXPECT_EQ(Writes(), 0);
  suite_.Kill("jobsvc-0");
  suite_.LoseDisk("jobsvc-0");
  suite_.Start("jobsvc-0");
  suite_.time().Advance(absl::Seconds(60));
  EXPECT_EQ(Writes(), 0) << "also on an empty disk";
}

constexpr char kMountsData[] = R"(,"volumes":[{"mountPath":"/data","volumeClaimName":"data"}])";
constexpr char kData[] = R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",)"
                         R"("metadata":{"name":"data","namespace":"default"},)"
                         R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";

TEST_F(LifeTest, AClaimThatIsMadeWhileNobodyWatchesIsFoundAfterwards) {
  for (const std::string_view program : {"gateway-0", "jobsvc-0"}) {
    const std::string name(program.substr(0, program.find('-')));
    SCOPED_TRACE(name);
    suite_.CreateObject(Job(name, 2, "sleep 1", kMountsData));
    suite_.time().Advance(absl::Minutes(1));
    EXPECT_EQ(suite_.JobPhase("default", name), "Pending");
    suite_.Kill(program);
    suite_.CreateObject(kData);
    suite_.time().Advance(absl::Minutes(1));
    suite_.Start(program);
    EXPECT_TRUE(Reaches(name, "Completed")) << suite_.JobPhase("default", name);
    suite_.DeleteObject("/api/v1/namespaces/default/persistentvolumeclaims/data");
  }
}

TEST_F(LifeTest, AFailureWhileEverythingIsDownIsSeenAtTheNextStart) {
  suite_.CreateObject(Job("bad", 2, "sleep 20; exit 7"));
  ASSERT_TRUE(Reaches("bad", "Running"));
  for (const std::string_view program : {"gateway-0", "jobsvc-0"}) suite_.Kill(program);
  suite_.time().Advance(absl::Seconds(60));
  for (const std::string_view program : {"gateway-0", "jobsvc-0"}) suite_.Start(program);
  EXPECT_TRUE(Reaches("bad", "Failed"));
}

TEST_F(LifeTest, DependentTasksStartWhenWhatTheyNeedIsReady) {
  suite_.CreateObject(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"d","namespace":"default"},)"
      R"("spec":{"schedulerName":"volcano","queue":"default","minAvailable":1,"tasks":[)"
      R"({"name":"a","replicas":1,"template":{"spec":{"restartPolicy":"Never","containers":[)"
      R"({"name":"c","image":"busybox","command":["sleep","10"]}]}}},)"
      R"({"name":"b","replicas":2,"dependsOn":{"name":["a"]},"template":{"spec":{"restartPolicy":"Never","containers":[)"
      R"({"name":"c","image":"busybox","command":["sleep","1"]}]}}}]}})");
  ASSERT_TRUE(Reaches("d", "Completed")) << suite_.JobPhase("default", "d");
  absl::Time first_ready;
  absl::Time dependent;
  for (const kubesim::LoggedRequest& request : suite_.api().log()) {
    if (request.resource != "pods") continue;
    if (request.name == "d-a-0" && request.subresource == "status" && first_ready == absl::Time() &&
        ToText(request.body).find("\"Running\"") != std::string::npos) {
      first_ready = request.time;
    }
    if (request.verb == "create" && request.name == "d-b-0" && request.subresource.empty()) dependent = request.time;
  }
  EXPECT_NE(first_ready, absl::Time());
  EXPECT_GT(dependent, first_ready);
}

TEST_F(LifeTest, ADeletedJobTakesEverythingWithIt) {
  suite_.CreateObject(Job("gone", 3, "sleep 600"));
  ASSERT_TRUE(Reaches("gone", "Running"));
  const auto job = suite_.api().Get("jobs.batch.volcano.sh", "default", "gone");
  const std::string group = fmt::format("gone-{}", FindString(job->at("metadata"), "uid"));
  const std::pair<const char*, std::string> others[] = {{"services", "gone"},
                                                        {"configmaps", "gone-svc"},
                                                        {"secrets", "gone-ssh"},
                                                        {"networkpolicies.networking.k8s.io", "gone"},
                                                        {"podgroups.scheduling.volcano.sh", group}};
  for (const auto& [plural, name] : others) ASSERT_NE(suite_.api().Get(plural, "default", name), nullptr) << plural;
  suite_.DeleteObject("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/gone");
  suite_.time().Advance(absl::Minutes(2));
  EXPECT_EQ(suite_.JobPhase("default", "gone"), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(suite_.api().Get("pods", "default", fmt::format("gone-t-{}", i)), nullptr);
  for (const auto& [plural, name] : others) EXPECT_EQ(suite_.api().Get(plural, "default", name), nullptr) << plural;
  EXPECT_EQ(Writes("create", "pods"), 3) << "nothing is made again while the job goes";
}

}  // namespace
}  // namespace basalt::simulation
