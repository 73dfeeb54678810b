#include "tests/simulation/quiet_shutdown.h"

#include <fmt/format.h>

#include "common/base/random.h"

namespace basalt::simulation {
namespace {

constexpr absl::Duration kWithoutOwner = absl::Milliseconds(100);
constexpr absl::Duration kLook = absl::Milliseconds(1);
// This is longer than a returning process needs to get its slots back, and their owner to write all that it wants to.
constexpr absl::Duration kQuietAgain = absl::Seconds(15);

// Returns the reason why the slots of `host` do not all have other owners yet. Empty if they do.
std::string WhyNotOver(SimSuite& suite, const std::string& host) {
  if (suite.IsRunning(host)) return fmt::format("{} still runs", host);
  for (const std::string& problem : suite.Problems()) {
    if (problem != fmt::format("{} does not run", host)) return problem;
  }
  const std::string service = host.substr(0, host.find('-'));
  for (const std::string& other : suite.Joined(service)) {
    if (other != host && suite.IsMemberAt(other, host)) return fmt::format("{} takes {} for an owner", other, host);
  }
  return "";
}

}  // namespace

void ShutDownInQuiet(SimSuite& suite, uint64_t seed, std::vector<std::string>& violations, Probes& probes) {
  SeededRandom random(seed);
  for (const std::string_view service : kServices) {
    const std::vector<std::string> replicas = suite.Joined(service);
    if (replicas.size() < 2) continue;
    const std::string& host = replicas[random.Uniform(replicas.size())];
    const uint64_t without_records = suite.SlotsWithoutRecords(std::string(service));
    const absl::Time end = suite.time().Now() + kWithoutOwner;
    probes.Hit("replica shut down in quiet");
    suite.ShutDown(host);
    std::string why = WhyNotOver(suite, host);
    for (; !why.empty() && suite.time().Now() < end; why = WhyNotOver(suite, host)) suite.time().Advance(kLook);
    if (!why.empty()) {
      violations.push_back(
          fmt::format("{} shut down, and after {} {}", host, absl::FormatDuration(kWithoutOwner), why));
    }
    suite.time().Advance(kQuietAgain);
    if (suite.SlotsWithoutRecords(std::string(service)) > without_records) {
      violations.push_back(fmt::format("{} shut down, and slots went on without its records", host));
    }
    suite.Start(host);
    suite.time().Advance(kQuietAgain);
  }
}

}  // namespace basalt::simulation
