// Jobs as large as the API server takes them, over the whole suite, simulated: they are carried out, or say why not,
// and stall nobody.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {
namespace {

constexpr int kMostTasks = 4000;  // Of our definition.

// So many bytes larger than it has to be, in its templates.
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

class LargeJobsTest : public ::testing::Test {
 protected:
  LargeJobsTest() : suite_({.seed = 5}) {
    for (const std::string_view program : {"gateway-0", "jobsvc-0", "pgsvc-0", "queuesvc-0"}) suite_.Start(program);
    suite_.time().Advance(absl::Seconds(5));
  }
  bool Reaches(std::string_view name, std::string_view phase, absl::Duration limit) {
    return suite_.time().AdvanceUntil([&] { return suite_.JobPhase("default", name) == phase; }, limit);
  }
  void ExpectAllRun() {
    for (const std::string_view program : {"gateway-0", "jobsvc-0", "pgsvc-0", "queuesvc-0"}) {
      EXPECT_TRUE(suite_.IsRunning(program)) << program;
    }
  }

  SimSuite suite_;
};

TEST_F(LargeJobsTest, AsManyTasksAsThereMayBeAreCarriedOut) {
  ASSERT_NE(suite_.CreateObject(Job("large", kMostTasks, 0)), "");
  ASSERT_NE(suite_.CreateObject(Job("small", 1, 0)), "");
  EXPECT_TRUE(Reaches("small", "Completed", absl::Minutes(1)));
  EXPECT_TRUE(Reaches("large", "Running", absl::Minutes(2))) << suite_.JobPhase("default", "large");
  ExpectAllRun();
}

}  // namespace
}  // namespace basalt::simulation
