// Faults of membership and ownership: hosts join, leave, pause, and lose the connection to others.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gateway/lead/lease.h"
#include "tests/simulation/faults/fault_plan.h"

namespace basalt::simulation {
namespace {

// A keepalive gives up a connection to a process that does not answer after this time (common/rpc).
constexpr absl::Duration kKeepalive = absl::Seconds(15);

}  // namespace

void FaultPlan::Move(uint64_t what) {
  Random& random = suite_.random();
  switch (what) {
    case 0:
    case 1:
      Join(PickService());
      return;
    case 2:
    case 3:
      Leave(PickService());
      return;
    case 4:
      return PauseHost(PickHost(PickService()), absl::Milliseconds(500 + random.Uniform(25'000)));
    case 5:
      return PauseHost(PickHost("gateway"), absl::Milliseconds(500 + random.Uniform(30'000)));
    case 6:
      return PauseAcrossMove();
    case 7:
      return LoseDiskInMove();
    case 8:
      return CutOffApi();
    default:
      return CutOff();
  }
}

// Returns the host that joins. Empty if enough hosts have joined.
std::string FaultPlan::Join(std::string_view service) {
  std::string host = suite_.NextToJoin(service);
  if (host.empty()) return host;
  probes_.Hit("replica joined");
  StartHost(host);
  return host;
}

bool FaultPlan::Leave(std::string_view service) {
  const std::string host = PickHost(service);
  // The last replica stays, and so does one without another replica that works.
  const std::vector<std::string> joined = suite_.Joined(service);
  const bool other = std::any_of(joined.begin(), joined.end(), [&](const std::string& name) {
    return name != host && suite_.IsRunning(name) && !suite_.IsPaused(name) && !suite_.IsShuttingDown(name);
  });
  if (!other || !suite_.IsRunning(host) || suite_.IsPaused(host) || suite_.IsShuttingDown(host)) return false;
  probes_.Hit("replica left");
  suite_.Leave(host);
  return true;
}

// The pause closes no connection: each remains open until a keepalive gives it up.
void FaultPlan::PauseHost(const std::string& victim, absl::Duration time) {
  if (!suite_.IsRunning(victim) || suite_.IsPaused(victim)) return;
  probes_.Hit(victim.starts_with(kGateway) ? "gateway paused" : "replica paused");
  suite_.Pause(victim);
  const std::string lead = suite_.Leader();
  const bool leads = gateway::ParseIdentity(lead).value_or(gateway::Holder()).replica == victim;
  After(kKeepalive * suite_.random().Unit(), [this, victim] {
    if (!suite_.IsPaused(victim)) return;
    for (const std::string& other : suite_.Joined()) suite_.network().BreakStreams(victim, other);
  });
  After(time, [this, victim, lead, leads] {
    if (!suite_.IsPaused(victim)) return;
    if (leads && suite_.Leader() != lead) probes_.Hit("leader paused over its Lease");
    if (lost_while_paused_.erase(victim) > 0) probes_.Hit("paused owner continued after its slots moved");
    suite_.Resume(victim);
  });
}

// The replica stops in the middle of its work, and its slots may move to another one meanwhile.
void FaultPlan::PauseAcrossMove() {
  const std::string victim = PickJobHost();
  PauseHost(victim, absl::Milliseconds(8'000 + suite_.random().Uniform(15'000)));
  for (const std::string& gateway : suite_.Joined("gateway")) suite_.network().BreakStreams(victim, gateway);
  if (suite_.Joined("jobsvc").size() == 1 || suite_.random().OneIn(3)) Join("jobsvc");
}

// The replica loses its disk while its slots move to another one, which does not have the records yet.
void FaultPlan::LoseDiskInMove() {
  const std::string victim = PickJobHost();
  if (Join("jobsvc").empty()) return;
  After(absl::Milliseconds(suite_.random().Uniform(700)), [this, victim] {
    if (!suite_.IsJoined(victim)) return;
    probes_.Hit("disk lost while its slots move");
    LoseDiskOf(victim);
  });
}

// Two processes cannot reach each other, but other processes reach both.
void FaultPlan::CutOff() {
  Random& random = suite_.random();
  const std::string victim = PickHost(PickService());
  std::string other = PickHost("gateway");
  if (random.OneIn(3)) {
    other = PickHost(victim.starts_with("jobsvc") && random.OneIn(2) ? "pgsvc" : victim.substr(0, victim.find('-')));
    if (other == victim) other = PickHost("gateway");
  }
  probes_.Hit("partition");
  if (!other.starts_with(kGateway)) probes_.Hit("partition between replicas");
  CutTwo(victim, other, absl::Milliseconds(500 + random.Uniform(15'000)));
}

void FaultPlan::CutTwo(const std::string& a, const std::string& b, absl::Duration time) {
  suite_.Note(fmt::format("{} and {} lose each other", a, b));
  suite_.network().Partition(a, b);
  After(time, [this, a, b] {
    suite_.Note(fmt::format("{} and {} reach each other", a, b));
    suite_.network().Heal(a, b);
  });
}

void FaultPlan::CutOffApi() {
  const std::string victim = PickHost("gateway");
  probes_.Hit("gateway cut off from the API server");
  suite_.CutApi(victim, true);
  After(absl::Milliseconds(500 + suite_.random().Uniform(15'000)), [this, victim] { suite_.CutApi(victim, false); });
}

// ---- owners of slots ----

void FaultPlan::FollowOwners() {
  for (const PlannedJob& job : jobs_) {
    std::string& known = owners_[job.name];
    std::string owner = suite_.OwnerOf("jobsvc", "default/" + job.name);
    if (owner.empty() || owner == known) continue;
    if (!known.empty()) OnMoved(known, owner);
    known = std::move(owner);
  }
}

void FaultPlan::OnMoved(const std::string& from, const std::string& to) {
  suite_.Note(fmt::format("slots move from {} to {}", from, to));
  if (!suite_.IsJoined(from)) return probes_.Hit("slot moved by leave");
  if (suite_.WasShutDown(from)) return probes_.Hit("slot moved by shutdown");
  if (suite_.IsPaused(from)) {
    lost_while_paused_.insert(from);
    return probes_.Hit("slot moved from a paused owner");
  }
  if (!suite_.IsRunning(from)) {
    lost_while_down_.insert(from);
    return probes_.Hit("slot moved by crash");
  }
  // This also covers a replica that comes back and takes the slots that it had before.
  probes_.Hit("slot moved by join");
  lost_while_down_.erase(to);
}

std::string FaultPlan::PickService() {
  constexpr std::string_view kOften[] = {"jobsvc", "jobsvc", "pgsvc", "queuesvc"};
  return std::string(kOften[suite_.random().Uniform(std::size(kOften))]);
}

std::string FaultPlan::PickHost(std::string_view program) {
  if (program == "jobsvc" && !jobs_.empty() && suite_.random().OneIn(2)) {
    const PlannedJob& job = jobs_[suite_.random().Uniform(jobs_.size())];
    const std::string owner = suite_.OwnerOf(program, "default/" + job.name);
    if (!owner.empty() && suite_.IsJoined(owner)) return owner;
  }
  const std::vector<std::string> joined = suite_.Joined(program);
  return joined[suite_.random().Uniform(joined.size())];
}

void FaultPlan::StartHost(const std::string& host) {
  if (lost_while_down_.erase(host) > 0) probes_.Hit("disk came back after its slots had moved");
  suite_.Start(host);
  if (die_at_record_.erase(host) > 0) suite_.KillAtRecord(host);
}

void FaultPlan::StartLater(const std::string& host, absl::Duration least) {
  // Most processes come back within the grace period, some do not.
  const absl::Duration away =
      least + absl::Milliseconds(suite_.random().Uniform(suite_.random().OneIn(4) ? 20'000 : 8'000));
  After(away, [this, host] {
    if (suite_.IsRunning(host) || !suite_.IsJoined(host)) return;
    suite_.Bury();
    StartHost(host);
  });
}

void FaultPlan::After(absl::Duration delay, std::function<void()> then) {
  suite_.time().RunAfter(delay, [this, then = std::move(then)] {
    if (!healed_) then();
  });
}

}  // namespace basalt::simulation
