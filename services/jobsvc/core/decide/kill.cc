#include "services/jobsvc/core/decide/kill.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "services/jobsvc/core/events/events.h"
#include "services/jobsvc/core/render/pod.h"

namespace basalt::jobsvc {

namespace {

std::set<std::string> PodTarget(const storage::v1::PendingAction& pending, const PodSet& pods) {
  const PodEntry* pod = pods.Find(pending.pod());
  if (pod == nullptr || pod->has(kPodForeign)) return {};
  // A deadline that counts since the end of a pod is about its successor, which has not come up.
  const bool of_successor =
      pending.due_ms() != 0 && (pending.event() == kEventPodFailed || pending.event() == kEventPodEvicted);
  if (!pending.pod_uid().empty() && pod->uid != pending.pod_uid() && !of_successor) return {};
  return {pod->uid};
}

std::set<std::string> PodsOf(Action action, const storage::v1::PendingAction& pending, const PodSet& pods) {
  if (action == Action::kRestartPod) return PodTarget(pending, pods);
  if (!NamesTarget(action, pending, pods)) return {};
  const int32_t task = pods.shape().TaskOf(pending.task());
  if (action == Action::kRestartTask) return pods.Uids(task, -1);
  return pods.Uids(task, pending.partition());
}

std::vector<PodIndex> DoneOf(Action action, const storage::v1::PendingAction& pending, const PodSet& pods) {
  std::vector<PodIndex> places;
  if (action == Action::kRestartPod) {
    const PodIndex place = pods.shape().PlaceOf(pending.pod());
    const bool is_done = place.indexed() && pods.done().by_task()[place.task].contains(place.index);
    if (is_done && pending.pod_uid().empty()) places.push_back(place);
    return places;
  }
  const int32_t task = pods.shape().TaskOf(pending.task());
  if (task < 0) return places;
  const std::set<int32_t>& done = pods.done().by_task()[task];
  if (action == Action::kRestartTask) {
    for (const int32_t index : done) places.push_back({task, index});
    return places;
  }
  const int64_t size = pods.shape().tasks()[task].partition_size;
  const int64_t first = size * pending.partition();
  if (size <= 0 || first < 0 || first > std::numeric_limits<int32_t>::max()) return places;
  for (auto it = done.lower_bound(static_cast<int32_t>(first)); it != done.end() && *it < first + size; ++it) {
    places.push_back({task, *it});
  }
  return places;
}

}  // namespace

Targets TargetsOf(Action action, const storage::v1::PendingAction& pending, const PodSet& pods) {
  return {PodsOf(action, pending, pods), DoneOf(action, pending, pods)};
}

bool NamesTarget(Action action, const storage::v1::PendingAction& pending, const PodSet& pods) {
  if (action == Action::kRestartPod) return true;
  const int32_t task = pods.shape().TaskOf(pending.task());
  if (task < 0 || action == Action::kRestartTask) return task >= 0;
  return pods.shape().tasks()[task].partition_size > 0 && pending.partition() >= 0;
}

Kill KillOf(const storage::v1::PendingAction& pending, int32_t version) {
  Kill kill;
  kill.cause = fmt::format("{} {}", pending.event(), pending.subject());
  kill.action = pending.action();
  kill.version = version;
  return kill;
}

bool TakeOver(const Kill& before, const PodSet& pods, Kill& kill) {
  kill.group_uid = before.group_uid;
  kill.targets.insert(before.targets.begin(), before.targets.end());
  if (kill.targets.size() > kMostTargets) {
    const std::set<std::string> there = pods.Uids(-1, -1);
    std::erase_if(kill.targets, [&](const std::string& uid) { return !there.contains(uid); });
  }
  return kill.targets.size() <= kMostTargets;
}

bool Takes(const std::set<std::string>& targets, const std::set<std::string>& pods) {
  return !pods.empty() && std::all_of(pods.begin(), pods.end(), [&](const auto& uid) { return targets.contains(uid); });
}

std::string AskedBy(const storage::v1::PendingAction& pending) {
  const std::optional<Action> action = ParseAction(pending.action());
  if (action == Action::kRestartTask) return fmt::format("task {}", pending.task());
  if (action == Action::kRestartPartition) return fmt::format("partition {} {}", pending.partition(), pending.task());
  return {};
}

void AddAnswered(const std::string& uid, std::vector<std::string>& answered) {
  if (uid.empty() || std::find(answered.begin(), answered.end(), uid) != answered.end()) return;
  answered.push_back(uid);
  if (answered.size() > kMostAnswered) answered.erase(answered.begin());
}

void Redo(const std::vector<PodIndex>& places, kube::v1::PodCounts& counts, std::vector<TaskCounts>& tasks) {
  for (const PodIndex& place : places) {
    TaskCounts& task = tasks[static_cast<size_t>(place.task)];
    counts.set_succeeded(counts.succeeded() - 1);
    --task.succeeded;
    --task.ready;
    task.succeeded_current = std::max(0, task.succeeded_current - 1);
  }
}

PodRules RulesOf(const kube::v1::JobStatus& status, const ControlledState& persisted) {
  PodRules rules;
  rules.version = status.version();
  rules.delete_terminal_below = persisted.delete_terminal_below;
  rules.delete_failed_below = persisted.delete_failed_below;
  rules.kill_all =
      IsFinished(status.phase()) || IsDraining(status.phase()) || status.phase() == kube::v1::JOB_PHASE_ABORTED;
  if (persisted.kill) rules.targets = persisted.kill->targets;
  return rules;
}

bool IsOver(const Kill& kill, const PodSet& pods, std::string_view group_uid) {
  if (!kill.group_uid.empty() && kill.group_uid == group_uid) return false;
  return !pods.removals().HasTargetsLeft() && pods.removals().empty();
}

}  // namespace basalt::jobsvc
