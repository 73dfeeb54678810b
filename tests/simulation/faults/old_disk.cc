// A process starts with an old disk: the disk has the record of a decision that other processes have carried out since,
// and the processes that know this cannot be reached.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/simulation/faults/fault_plan.h"

namespace basalt::simulation {
namespace {

// This is shorter than the round trip of a decision to the API server.
constexpr absl::Duration kLook = absl::Milliseconds(1);

// Returns true if the controller has recorded a command that is not carried out yet.
bool HasTakenIn(const jobsvc::JobController* jobs, const std::string& key) {
  const jobsvc::JobEntry* entry = jobs == nullptr ? nullptr : jobs->Find(key);
  return entry != nullptr &&
         std::any_of(entry->record.pending().begin(), entry->record.pending().end(),
                     [](const storage::v1::PendingAction& pending) { return !pending.command_uid().empty(); });
}

}  // namespace

// Waits until the owner has recorded the first of two commands. If `stays`, the owner gets back its disk of this moment
// later; else it is away for a while. Either happens after the second command is carried out, so that the effects of
// the first are over.
void FaultPlan::CatchDisk(const PlannedJob& job, bool stays, absl::Time until) {
  if (suite_.time().Now() >= until) return;
  const std::string key = "default/" + job.name;
  const std::string owner = job.commands.front().uid.empty() ? std::string() : suite_.OwnerOf("jobsvc", key);
  if (owner.empty() || !suite_.IsJoined(owner) || !HasTakenIn(suite_.JobsAt(owner), key)) {
    return After(kLook, [this, &job, stays, until] { CatchDisk(job, stays, until); });
  }
  const absl::Time limit = suite_.time().Now() + absl::Seconds(25);
  if (stays) {
    return AfterSecondCommand(job, limit, [this, owner, copy = suite_.CopyDisk(owner)] { ComeBackWith(owner, copy); });
  }
  KillHost(owner, absl::Seconds(30));
  if (suite_.Joined("jobsvc").size() == 1) Join("jobsvc");
  AfterSecondCommand(job, limit, [this, owner, key] { ComeBackAlone(owner, key); });
}

void FaultPlan::AfterSecondCommand(const PlannedJob& job, absl::Time until, std::function<void()> then) {
  const PlannedCommand& second = job.commands[1];
  const bool taken = !second.uid.empty() &&
                     suite_.api().Get("commands.bus.volcano.sh", "default", CommandName(job, second)) == nullptr;
  if (taken || suite_.time().Now() >= until) {
    return After(absl::Milliseconds(suite_.random().Uniform(2000)), std::move(then));
  }
  After(absl::Milliseconds(20),
        [this, &job, until, then = std::move(then)]() mutable { AfterSecondCommand(job, until, std::move(then)); });
}

// The disk lacks everything that the host itself has carried out since.
void FaultPlan::ComeBackWith(const std::string& host, std::shared_ptr<kv::MemDisk> disk) {
  if (!suite_.IsJoined(host)) return;
  probes_.Hit("kill");
  probes_.Hit("loss of power");
  suite_.Kill(host);
  suite_.LosePower(host, std::move(disk));
  StartHost(host);
}

// The host has missed everything that another one has carried out since. That one loses its disk as the host comes
// back.
void FaultPlan::ComeBackAlone(const std::string& host, const std::string& key) {
  const std::string since = suite_.OwnerOf("jobsvc", key);
  if (suite_.IsRunning(host) || !suite_.IsJoined(host)) return;
  if (!since.empty() && since != host && suite_.IsJoined(since)) LoseDiskOf(since);
  StartHost(host);
}

// Hits the probe once a slot begins without records, because the source of its hand-over was lost.
void FaultPlan::WatchForLoss(uint64_t before, absl::Time until) {
  if (suite_.SlotsWithoutRecords("jobsvc") > before) return probes_.Hit("lost the source of a hand-over");
  if (suite_.time().Now() < until) {
    After(absl::Milliseconds(500), [this, before, until] { WatchForLoss(before, until); });
  }
}

}  // namespace basalt::simulation
