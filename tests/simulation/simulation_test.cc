// Seeds of the whole suite. `simulation_test --seeds A..B` runs a range and prints each seed that fails and the seeds per
// second; `--seed N` runs one (`--quiet-seed N` without faults) and prints every request; `--hash N` prints only the hash of its
// trace. Without arguments it is an ordinary test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <string>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/obs/log.h"
#include "tests/simulation/scenario.h"

namespace basalt::simulation {
namespace {

TEST(SimulationTest, AQuietRunBreaksNothing) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome outcome = RunScenario({.seed = seed, .faults = false});
    EXPECT_TRUE(outcome.violations.empty()) << "seed " << seed << ": " << outcome.violations.front();
  }
}

TEST(SimulationTest, OneSeedGivesOneTrace) {
  const Outcome first = RunScenario({.seed = 7});
  const Outcome second = RunScenario({.seed = 7});
  const Outcome other = RunScenario({.seed = 8});
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_NE(first.trace, other.trace);
}

int RunSeeds(uint64_t from, uint64_t to) {
  const absl::Time begin = absl::Now();
  int failed = 0;
  Outcome sum;
  for (uint64_t seed = from; seed <= to; ++seed) {
    const Outcome outcome = RunScenario({.seed = seed});
    sum.kills += outcome.kills;
    sum.lost_disks += outcome.lost_disks;
    sum.lost_answers += outcome.lost_answers;
    if (outcome.violations.empty()) continue;
    ++failed;
    for (const std::string& violation : outcome.violations) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    }
    std::fflush(stdout);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  std::printf("%llu seeds, %d failed, %.1f seeds/s; %d kills, %d lost disks, %d lost answers\n",
              static_cast<unsigned long long>(to - from + 1), failed, static_cast<double>(to - from + 1) / seconds,
              sum.kills, sum.lost_disks, sum.lost_answers);
  return failed == 0 ? 0 : 1;
}

bool ParseNumber(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace
}  // namespace basalt::simulation

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  basalt::obs::SetLogLevel(basalt::obs::Level::kNothing);  // Faults are the rule here.
  if (argc == 3 && std::string_view(argv[1]) == "--seeds") {
    const std::string_view range = argv[2];
    const size_t dots = range.find("..");
    uint64_t from = 0;
    uint64_t to = 0;
    if (dots == std::string_view::npos || !basalt::simulation::ParseNumber(range.substr(0, dots), from) ||
        !basalt::simulation::ParseNumber(range.substr(dots + 2), to) || from > to) {
      std::fprintf(stderr, "--seeds takes A..B\n");
      return 2;
    }
    return basalt::simulation::RunSeeds(from, to);
  }
  const bool quiet = argc == 3 && std::string_view(argv[1]) == "--quiet-seed";
  if (argc == 3 && (quiet || std::string_view(argv[1]) == "--seed" || std::string_view(argv[1]) == "--hash")) {
    uint64_t seed = 0;
    if (!basalt::simulation::ParseNumber(argv[2], seed)) return 2;
    const basalt::simulation::Outcome outcome = basalt::simulation::RunScenario(
        {.seed = seed, .faults = !quiet, .print = std::string_view(argv[1]) != "--hash"});
    std::printf("%016llx\n", static_cast<unsigned long long>(outcome.trace));
    for (const std::string& violation : outcome.violations) std::printf("%s\n", violation.c_str());
    return outcome.violations.empty() ? 0 : 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
