// Mistakes that the design rules against, made on purpose in sources compiled for this test alone: the simulation must
// find each of them, and nothing where there is none.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "common/base/planted.h"
#include "common/obs/log.h"
#include "tests/simulation/scenario.h"

namespace basalt::simulation {
namespace {

constexpr uint64_t kSeeds = 400;

class PlantedBugTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  ~PlantedBugTest() override { planted::Set(""); }
};

TEST_P(PlantedBugTest, IsFoundBySomeSeedAndByItAlone) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    planted::Set(GetParam());
    const Outcome planted_run = RunScenario({.seed = seed});
    if (planted_run.violations.empty()) continue;
    planted::Set("");
    const Outcome sound = RunScenario({.seed = seed});
    EXPECT_TRUE(sound.violations.empty()) << "seed " << seed << ": " << sound.violations.front();
    RecordProperty("seed", static_cast<int>(seed));
    std::printf("seed %d: %s\n", static_cast<int>(seed), planted_run.violations.front().c_str());
    return;
  }
  FAIL() << "no seed of 1.." << kSeeds << " finds it";
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBugTest,
                         ::testing::Values("absence_is_deletion", "repeated_under_another_name",
                                           "effects_before_commit", "no_fence", "lost_hand_over",
                                           "early_acknowledgement", "epoch_from_lease", "stale_disk_believed",
                                           "deadline_stays_in_status", "deadline_outlives_pending", "command_forgotten",
                                           "command_by_name", "surplus_not_marked", "events_of_older_versions",
                                           "finished_pods_collected", "made_while_collecting",
                                           "deadlines_of_the_job_before"),
                         [](const auto& bug) { return std::string(bug.param); });

}  // namespace
}  // namespace basalt::simulation

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  basalt::obs::SetLogLevel(basalt::obs::Level::kNothing);  // Faults are the rule here.
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
