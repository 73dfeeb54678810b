// Tests jobs as large as the API server accepts, over the whole suite, simulated: each job runs or reports why it does
// not, and delays no other job.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/suite/suite_fixture.h"

namespace basalt::simulation {
namespace {

constexpr int kMostTasks = 4000;        // The limit of our definition.
constexpr size_t kMostBytes = 3 << 19;  // The limit of an object in etcd.

// Returns a job whose templates are padded by `padding` bytes.
std::string Job(std::string_view name, int tasks, size_t padding) {
  std::string list;
  for (int i = 0; i < tasks; ++i) {
    const size_t share = padding / tasks + (i == 0 ? padding % tasks : 0);
    list += fmt::format(
        R"({}{{"name":"t{}","replicas":1,"template":{{"metadata":{{"annotations":{{"x":"{}"}}}},"spec":{{)"
        R"("restartPolicy":"Never","containers":[{{"name":"c","image":"i","command":["sleep","1"]}}]}}}}}})",
        i == 0 ? "" : ",", i, std::string(share, 'x'));
  }
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"default","minAvailable":1,"tasks":[{}]}}}})",
      name, list);
}

class LargeJobsTest : public SuiteTest {
 protected:
  LargeJobsTest() : SuiteTest(5) {}
  void ExpectAllRun() {
    for (const std::string_view program : {"gateway-0", "jobsvc-0", "pgsvc-0", "queuesvc-0"}) {
      EXPECT_TRUE(suite_.IsRunning(program)) << program;
    }
  }
};

TEST_F(LargeJobsTest, AsManyTasksAsThereMayBeAreCarriedOut) {
  ASSERT_NE(suite_.CreateObject(Job("large", kMostTasks, 0)), "");
  ASSERT_NE(suite_.CreateObject(Job("small", 1, 0)), "");
  EXPECT_TRUE(Reaches("small", "Completed", absl::Minutes(1)));
  EXPECT_TRUE(Reaches("large", "Running", absl::Minutes(2))) << suite_.JobPhase("default", "large");
  ExpectAllRun();
}

// The job's status would not fit into the object. Therefore no pod is made, since no status could count it.
TEST_F(LargeJobsTest, OneThatLeavesNoRoomForItsStatusSaysSoAndStallsNobody) {
  const std::string small = Job("small", 1, 0);
  ASSERT_NE(suite_.CreateObject(small), "");
  const size_t added = ToText(*suite_.api().Get("jobs.batch.volcano.sh", "default", "small")).size() - small.size();
  const size_t bare = Job("large", kMostTasks, 0).size() + added;
  ASSERT_NE(suite_.CreateObject(Job("large", kMostTasks, kMostBytes - bare - 100)), "");
  suite_.api().ClearLog();
  EXPECT_TRUE(Reaches("small", "Completed", absl::Minutes(1)));
  suite_.time().Advance(absl::Minutes(10));
  EXPECT_EQ(suite_.JobPhase("default", "large"), "-");
  int statuses = 0, events = 0;
  for (const kubesim::LoggedRequest& request : suite_.api().log()) {
    if (!e2e::IsByOwner(request.user_agent)) continue;
    EXPECT_FALSE(request.resource == "pods" && request.verb == "create" && request.name.starts_with("large-"));
    if (request.resource == "events" && ToText(request.body).find("request is too large") != std::string::npos) {
      ++events;
    }
    if (request.subresource == "status" && request.name == "large") {
      EXPECT_GE(request.status, 400);
      ++statuses;
    }
  }
  EXPECT_GT(events, 0);
  EXPECT_GT(statuses, 1);
  EXPECT_LT(statuses, 60) << "it backs off";
  ExpectAllRun();
}

}  // namespace
}  // namespace basalt::simulation
