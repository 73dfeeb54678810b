// Faults at the worst moments of actions: after an action is written and before its effects are complete.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/names.h"
#include "tests/simulation/faults/fault_plan.h"

namespace basalt::simulation {
namespace {

// This is shorter than the round trip of an answer to its sender.
constexpr absl::Duration kLook = absl::Milliseconds(1);

}  // namespace

void FaultPlan::BeginWithActions(const PlannedJob& job, absl::Time until) {
  Random& random = suite_.random();
  const bool acts = !job.policies.empty() && job.kind != JobKind::kOnEviction && job.kind != JobKind::kStartsInTime;
  if (acts && random.OneIn(job.kind == JobKind::kOnTaskCompleteLater ? 2 : 3))
    LoseDiskAfterAction(job, 0, nullptr, until);
  if (!job.commands.empty() && random.OneIn(3)) {
    DieBeforeDeletion(job, job.commands[random.Uniform(job.commands.size())], until);
  }
  if (job.kind == JobKind::kScaled && random.OneIn(2)) ScaleBack(job, until);
  if (job.kind == JobKind::kOnEvictionLater) EvictRunning(job, until);
}

// A user deletes pods that run. The owner that has heard of a deletion may die, and the next pod of that name comes
// late.
void FaultPlan::EvictRunning(const PlannedJob& job, absl::Time until) {
  Random& random = suite_.random();
  if (suite_.time().Now() >= until) return;
  const std::string& name = job.pods[random.Uniform(job.pods.size())];
  const auto pod = suite_.api().Get("pods", "default", name);
  if (pod == nullptr || suite_.JobOf(job.name, job.uid) == nullptr ||
      FindString(*Find(*pod, "status"), "phase") != "Running") {
    return After(absl::Milliseconds(300), [this, &job, until] { EvictRunning(job, until); });
  }
  probes_.Hit("pod deleted by a user");
  suite_.DeleteObject(fmt::format("/api/v1/namespaces/default/pods/{}", name));
  if (const std::string owner = OwnerThatRuns(job); !owner.empty() && random.OneIn(2)) {
    After(absl::Milliseconds(random.Uniform(50)), [this, owner] {
      if (suite_.IsRunning(owner)) KillHost(owner);
    });
  }
  After(absl::Milliseconds(2'000 + random.Uniform(15'000)), [this, &job, until] { EvictRunning(job, until); });
}

int64_t FaultPlan::ActionsOf(const PlannedJob& job) const {
  const auto stored = suite_.JobOf(job.name, job.uid);
  const json::value* status = stored == nullptr ? nullptr : Find(*stored, "status");
  return status == nullptr ? 0 : FindInt(*status, "version") + FindInt(*status, "retryCount");
}

std::string FaultPlan::OwnerThatRuns(const PlannedJob& job) const {
  std::string owner = suite_.OwnerOf("jobsvc", "default/" + job.name);
  const bool runs = !owner.empty() && suite_.IsJoined(owner) && suite_.IsRunning(owner);
  return runs ? owner : std::string();
}

// The owner dies while one call deletes its pods. The answer is lost, too, so that the next owner cannot learn from it.
void FaultPlan::BreakInCollection(absl::Time until) {
  Random& random = suite_.random();
  if (suite_.time().Now() >= until) return;
  if (!suite_.api().IsDeletingCollection()) {
    return After(absl::Milliseconds(5), [this, until] { BreakInCollection(until); });
  }
  probes_.Hit("owner killed while pods were deleted in one call");
  if (random.OneIn(2)) {
    for (const std::string& gateway : suite_.Joined(kGateway)) {
      suite_.CutApi(gateway, true);
      suite_.CutApi(gateway, false);
    }
  }
  const std::string owner = PickJobHost();
  suite_.Kill(owner);
  After(absl::Milliseconds(random.Uniform(1000)), [this, owner] {
    if (!suite_.IsRunning(owner) && suite_.IsJoined(owner)) StartHost(owner);
  });
}

// The owner loses its disk after an action, so that only Kubernetes knows the action, or gets back an older disk that
// contradicts Kubernetes.
void FaultPlan::LoseDiskAfterAction(const PlannedJob& job, int64_t known, std::shared_ptr<kv::MemDisk> before,
                                    absl::Time until) {
  if (suite_.time().Now() >= until) return;
  const int64_t actions = ActionsOf(job);
  const std::string owner = OwnerThatRuns(job);
  if (actions <= known || owner.empty()) {
    if (!owner.empty() && suite_.random().OneIn(20)) before = suite_.CopyDisk(owner);
    return After(absl::Milliseconds(20), [this, &job, known, before = std::move(before), until]() mutable {
      LoseDiskAfterAction(job, known, std::move(before), until);
    });
  }
  const bool comes_back = before != nullptr && suite_.random().OneIn(2);
  probes_.Hit(comes_back ? "disk of before an action came back" : "disk lost after an action");
  After(absl::Milliseconds(suite_.random().Uniform(1500)), [this, owner, comes_back, before] {
    if (comes_back) return ComeBackWith(owner, before);
    if (suite_.IsJoined(owner)) LoseDiskOf(owner);
  });
  After(absl::Seconds(4), [this, &job, actions, until] { LoseDiskAfterAction(job, actions, nullptr, until); });
}

// The owner dies after the status names the command and before the command is deleted.
void FaultPlan::DieBeforeDeletion(const PlannedJob& job, const PlannedCommand& command, absl::Time until) {
  if (suite_.time().Now() >= until) return;
  if (command.uid.empty()) {
    return After(absl::Milliseconds(50), [this, &job, &command, until] { DieBeforeDeletion(job, command, until); });
  }
  if (suite_.api().Get("commands.bus.volcano.sh", "default", CommandName(job, command)) == nullptr) return;
  const auto stored = suite_.JobOf(job.name, job.uid);
  const json::value* resources = stored == nullptr ? nullptr : FindPath(*stored, {"status", "controlledResources"});
  const std::string_view own = resources == nullptr ? "" : FindString(*resources, kube::kControlledStateKey);
  const std::string owner = OwnerThatRuns(job);
  if (own.find(command.uid) == own.npos || owner.empty()) {
    return After(kLook, [this, &job, &command, until] { DieBeforeDeletion(job, command, until); });
  }
  probes_.Hit("died between a command and its deletion");
  KillHost(owner);
}

// The owner dies while it deletes surplus pods. When it comes back, the job wants these pods again.
void FaultPlan::ScaleBack(const PlannedJob& job, absl::Time until) {
  if (suite_.time().Now() >= until) return;
  const std::string owner = OwnerThatRuns(job);
  const auto stored = suite_.JobOf(job.name, job.uid);
  const json::value* tasks = stored == nullptr ? nullptr : FindPath(*stored, {"spec", "tasks"});
  bool going = false;
  PlannedScaling back;
  for (size_t t = 0; tasks != nullptr && t < job.tasks.size(); ++t) {
    back.replicas.push_back(job.tasks[t].most);
    back.min_available += job.tasks[t].most;
    for (int i = static_cast<int>(FindInt(tasks->as_array()[t], "replicas")); i < job.tasks[t].most; ++i) {
      const std::string name = fmt::format("{}-t{}-{}", job.name, t, i);
      going = going || (surplus_.contains(name) && suite_.api().Get("pods", "default", name) == nullptr);
      if (suite_.api().Get("pods", "default", name) != nullptr) surplus_.insert(name);
    }
  }
  if (!going || owner.empty() || IsFinishedPhase(suite_.PhaseOf(job.name, job.uid))) {
    return After(absl::Milliseconds(2), [this, &job, until] { ScaleBack(job, until); });
  }
  probes_.Hit("scaled back while surplus pods went");
  KillHost(owner);
  suite_.PatchObject(fmt::format("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{}", job.name),
                     ScalingPatch(job, back));
}

void FaultPlan::OnReplaced(const PlannedJob& job) {
  Random& random = suite_.random();
  const std::string owner = OwnerThatRuns(job);
  if (healed_ || owner.empty()) return;
  const uint64_t what = random.Uniform(12);
  const auto soon = absl::Milliseconds(random.Uniform(random.OneIn(2) ? 50 : 1000));
  After(soon, [this, owner, what] {
    if (!suite_.IsJoined(owner) || !suite_.IsRunning(owner)) return;
    switch (what) {
      case 0:
      case 1:
        probes_.Hit("owner killed while a job was made anew");
        return KillHost(owner);
      case 2:
        return suite_.KillAtWrite(owner, 1 + suite_.random().Uniform(4), suite_.random().OneIn(2));
      case 3:
      case 4:
        probes_.Hit("disk lost while a job was made anew");
        return LoseDiskOf(owner);
      case 5:
        return LosePowerOf(owner);
      case 6:
      case 7:
        if (Leave("jobsvc") || !Join("jobsvc").empty()) probes_.Hit("slots moved while a job was made anew");
        return;
      case 8:
        return PauseHost(owner, absl::Milliseconds(500 + suite_.random().Uniform(10'000)));
      case 9:
        return KillHost(PickHost("gateway"));
      default:
        return;
    }
  });
}

}  // namespace basalt::simulation
