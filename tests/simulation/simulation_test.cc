// Runs seeds of the whole suite. `simulation_test --seeds A..B` runs a range, and prints each seed that fails and the
// seeds per second. `--trace N` runs one seed (`--quiet-trace N` without faults) and prints its story. `--hash N`
// prints only the hash of its requests. With `--no-shutdowns` as the first argument, no process shuts down: a seed that
// found a violation before shutdowns were added finds it again in this way. Without arguments, the program is an
// ordinary test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/obs/log.h"
#include "tests/simulation/scenario.h"

namespace basalt::simulation {
namespace {

TEST(SimulationTest, AQuietRunBreaksNothing) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
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

// So many seeds must reach every probe.
constexpr uint64_t kSeedsForProbes = 200;

std::string HashInAnotherProcess(uint64_t seed) {
  const std::string command =
      fmt::format("'{}' --hash {}", std::filesystem::read_symlink("/proc/self/exe").string(), seed);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string out;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe.get())) != EOF && c != '\n';)
    out.push_back(static_cast<char>(c));
  return out;
}

TEST(SimulationTest, OneSeedGivesOneTraceInTwoProcesses) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const std::string first = HashInAnotherProcess(seed);
    EXPECT_EQ(first.size(), 16u);
    EXPECT_EQ(first, HashInAnotherProcess(seed)) << "seed " << seed;
  }
}

int RunSeeds(uint64_t from, uint64_t to, bool shutdowns) {
  const absl::Time begin = absl::Now();
  int failed = 0;
  Probes probes;
  for (uint64_t seed = from; seed <= to; ++seed) {
    const Outcome outcome = RunScenario({.seed = seed, .shutdowns = shutdowns});
    probes.Add(outcome.probes);
    if (outcome.violations.empty()) continue;
    ++failed;
    for (const std::string& violation : outcome.violations) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    }
    std::fflush(stdout);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const uint64_t count = to - from + 1;
  std::printf("%llu seeds, %d failed, %.1f seeds/s\n", static_cast<unsigned long long>(count), failed,
              static_cast<double>(count) / seconds);
  const bool demands_all = count >= kSeedsForProbes && shutdowns;
  bool blind = false;
  for (const std::string_view probe : kWantedProbes) {
    const uint64_t times = probes.Count(probe);
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(times), std::string(probe).c_str());
    blind = blind || (times == 0 && demands_all);
  }
  if (blind) std::printf("a probe was never reached\n");
  return failed == 0 && !blind ? 0 : 1;
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
  const bool shutdowns = argc < 2 || std::string_view(argv[1]) != "--no-shutdowns";
  if (!shutdowns) {
    ++argv;
    --argc;
  }
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
    return basalt::simulation::RunSeeds(from, to, shutdowns);
  }
  const bool quiet = argc == 3 && std::string_view(argv[1]) == "--quiet-trace";
  if (argc == 3 && (quiet || std::string_view(argv[1]) == "--trace" || std::string_view(argv[1]) == "--hash")) {
    uint64_t seed = 0;
    if (!basalt::simulation::ParseNumber(argv[2], seed)) return 2;
    const basalt::simulation::Outcome outcome =
        basalt::simulation::RunScenario({.seed = seed,
                                         .faults = !quiet,
                                         .shutdowns = shutdowns,
                                         .records_story = std::string_view(argv[1]) != "--hash"});
    for (const std::string& line : outcome.story) std::printf("%s\n", line.c_str());
    std::printf("%016llx\n", static_cast<unsigned long long>(outcome.trace));
    for (const std::string& violation : outcome.violations) std::printf("%s\n", violation.c_str());
    return outcome.violations.empty() ? 0 : 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
