#include "tests/simulation/faults/shutdowns.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/lead/lease.h"

namespace basalt::simulation {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(20);
// With a fast network, a replica gives its slots away, or takes slots, within about this time.
constexpr absl::Duration kGivingAway = absl::Milliseconds(60);
// A gateway drains and gives its lead back within about this time.
constexpr absl::Duration kGivingBack = absl::Milliseconds(2'300);
// This is longer than a process may take to shut down.
constexpr absl::Duration kLongest = absl::Seconds(25);

// Shutdowns have a stream of their own, apart from the suite's (of the seed itself) and that of the suite's shape.
SeededRandom StreamOf(uint64_t seed) { return SeededRandom(~(seed * 2)); }

std::string ProgramOf(const std::string& host) { return host.substr(0, host.find('-')); }

}  // namespace

bool Shutdowns::AreIn(uint64_t seed) { return StreamOf(seed).OneIn(2); }

Shutdowns::Shutdowns(uint64_t seed, SimSuite& suite, FaultPlan& faults, const std::vector<PlannedJob>& jobs,
                     Probes& probes)
    : random_(StreamOf(seed)), suite_(suite), faults_(faults), jobs_(jobs), probes_(probes) {}

void Shutdowns::Begin() {
  After(UpTo(absl::Seconds(8)), [this] { Step(); });
}

void Shutdowns::Heal() {
  healed_ = true;
  for (const std::string& host : suite_.Joined()) {
    if (suite_.IsShuttingDown(host)) faults_.StartHost(host);
  }
}

void Shutdowns::Step() {
  After(absl::Seconds(1) + UpTo(absl::Seconds(10)), [this] { Step(); });
  switch (random_.Uniform(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return ShutDownAny("jobsvc");
    case 4:
      return ShutDownAny("pgsvc");
    case 5:
      return ShutDownAny("queuesvc");
    case 6:
      return ShutDownAny(kGateway);
    case 7:
      return ShutDownWithWrites(suite_.time().Now() + absl::Seconds(5));
    case 8:
      probes_.Hit("all replicas of a service shut down");
      return ShutDownAll(kServices[random_.Uniform(std::size(kServices))]);
    default:
      probes_.Hit("whole suite shut down");
      return ShutDownAll("");
  }
}

void Shutdowns::ShutDownAny(std::string_view program) {
  const std::string host = Pick(program);
  if (host.empty()) return;
  ShutDown(host);
  if (!random_.OneIn(2)) return;
  if (program == kGateway) {
    InterruptGateway(host);
  } else {
    InterruptReplica(host);
  }
}

void Shutdowns::ShutDownWithWrites(absl::Time until) {
  const std::string leader = LeaderIn(Candidates(kGateway));
  if (suite_.time().Now() >= until) return;
  if (leader.empty() || suite_.WritesUnderWay(leader) < 1) {
    return After(absl::Milliseconds(1), [this, until] { ShutDownWithWrites(until); });
  }
  ShutDown(leader);
}

void Shutdowns::ShutDownAll(std::string_view program) {
  for (const std::string& host : Candidates(program)) ShutDown(host);
}

void Shutdowns::ShutDown(const std::string& host) {
  suite_.ShutDown(host);
  AwaitEnd(host);
}

void Shutdowns::InterruptReplica(const std::string& host) {
  const absl::Duration soon = UpTo(kGivingAway);
  const uint64_t how = random_.Uniform(7);
  if (how < 2) return After(soon, [this, host] { KillIfShuttingDown(host); });
  if (how == 2) return suite_.KillAtWrite(host, 1 + random_.Uniform(4), random_.OneIn(2));
  if (how == 3) return PauseFor(host, soon, UpTo(kLongest));
  // `other` may be the replica that gets the slots of `host`.
  const std::string other = Pick(ProgramOf(host));
  if (other.empty()) return;
  if (how == 4) {
    return After(soon, [this, other] {
      if (suite_.IsRunning(other)) faults_.KillHost(other);
    });
  }
  if (how == 5) return ShutDownSoon(other);
  PauseFor(other, soon, absl::Seconds(5) + UpTo(absl::Seconds(10)));
}

void Shutdowns::InterruptGateway(const std::string& host) {
  const absl::Duration soon = UpTo(kGivingBack);
  const uint64_t how = random_.Uniform(4);
  if (how < 2) return After(soon, [this, host] { KillIfShuttingDown(host); });
  if (how == 2) return PauseFor(host, soon, UpTo(kLongest));
  // Without the API server, the gateway cannot give the Lease back.
  probes_.Hit("gateway cut off from the API server");
  suite_.CutApi(host, true);
  After(UpTo(absl::Seconds(15)), [this, host] { suite_.CutApi(host, false); });
}

void Shutdowns::PauseFor(const std::string& host, absl::Duration soon, absl::Duration time) {
  After(soon, [this, host, time] {
    if (!suite_.IsRunning(host) || suite_.IsPaused(host)) return;
    suite_.Pause(host);
    After(time, [this, host] { suite_.Resume(host); });
  });
}

void Shutdowns::ShutDownSoon(const std::string& host) {
  After(UpTo(kGivingAway), [this, host] {
    if (IsCandidate(host)) ShutDown(host);
  });
}

void Shutdowns::KillIfShuttingDown(const std::string& host) {
  if (!suite_.IsShuttingDown(host)) return;
  probes_.Hit("kill");
  suite_.Kill(host);
}

void Shutdowns::AwaitEnd(const std::string& host) {
  if (suite_.IsShuttingDown(host)) return After(kLook, [this, host] { AwaitEnd(host); });
  const bool loses_disk = !host.starts_with(kGateway) && random_.OneIn(6);
  // Most processes come back within the grace period, some do not.
  constexpr int kMostSeconds[] = {1, 1, 8, 20};
  const absl::Duration away = UpTo(absl::Seconds(kMostSeconds[random_.Uniform(std::size(kMostSeconds))]));
  After(away, [this, host, loses_disk] { StartAgain(host, loses_disk); });
}

void Shutdowns::StartAgain(const std::string& host, bool loses_disk) {
  if (suite_.IsRunning(host) || !suite_.IsJoined(host)) return;
  if (loses_disk) {
    suite_.Kill(host);  // This removes a process that has died at a write.
    suite_.LoseDisk(host);
    probes_.Hit("lost disk");
    probes_.Hit("disk lost after a shutdown");
  }
  faults_.StartHost(host);
  if (host.starts_with(kGateway) || !random_.OneIn(3)) return;
  // The slots of `host` are on their way back to it.
  const std::string other = Pick(ProgramOf(host));
  ShutDownSoon(other.empty() || random_.OneIn(3) ? host : other);
}

bool Shutdowns::IsCandidate(const std::string& host) const {
  return suite_.IsJoined(host) && suite_.IsRunning(host) && !suite_.IsPaused(host) && !suite_.IsShuttingDown(host);
}

std::vector<std::string> Shutdowns::Candidates(std::string_view program) const {
  std::vector<std::string> hosts = suite_.Joined(program);
  std::erase_if(hosts, [this](const std::string& host) { return !IsCandidate(host); });
  return hosts;
}

std::string Shutdowns::LeaderIn(const std::vector<std::string>& hosts) const {
  const std::string leader = gateway::ParseIdentity(suite_.Leader()).value_or(gateway::Holder()).replica;
  return std::find(hosts.begin(), hosts.end(), leader) == hosts.end() ? std::string() : leader;
}

std::string Shutdowns::Pick(std::string_view program) {
  const std::vector<std::string> hosts = Candidates(program);
  if (hosts.empty()) return "";
  std::string wanted;
  if (program == kGateway) {
    wanted = LeaderIn(hosts);
  } else if (program == "jobsvc") {
    wanted = suite_.OwnerOf(program, "default/" + jobs_[random_.Uniform(jobs_.size())].name);
  }
  const bool is_there = std::find(hosts.begin(), hosts.end(), wanted) != hosts.end();
  return is_there && !random_.OneIn(3) ? wanted : hosts[random_.Uniform(hosts.size())];
}

absl::Duration Shutdowns::UpTo(absl::Duration most) {
  return absl::Milliseconds(random_.Uniform(static_cast<uint64_t>(absl::ToInt64Milliseconds(most)) + 1));
}

void Shutdowns::After(absl::Duration delay, std::function<void()> then) {
  suite_.time().RunAfter(delay, [this, then = std::move(then)] {
    if (!healed_) then();
  });
}

}  // namespace basalt::simulation
