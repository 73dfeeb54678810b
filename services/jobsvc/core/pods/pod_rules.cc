#include "services/jobsvc/core/pods/pod_rules.h"

#include <algorithm>

namespace basalt::jobsvc {

namespace {

enum class Class : uint8_t { kNone, kPending, kRunning, kSucceeded, kFailed, kUnknown, kTerminating };

// Pods of a version below the result are deleted. It depends on how the pod ended.
int32_t OldestKept(const PodEntry& entry, const PodRules& rules) {
  if (!entry.terminal()) return rules.version;
  const bool failed = entry.phase == kube::v1::POD_PHASE_FAILED;
  return failed ? std::max(rules.delete_terminal_below, rules.delete_failed_below) : rules.delete_terminal_below;
}

Class Classify(PodIndex place, const PodEntry& entry, const PodRules& rules) {
  if (!entry.present()) return IsDone(entry, rules) ? Class::kSucceeded : Class::kNone;
  if (entry.has(kPodForeign)) return Class::kNone;
  // A pod that a kill takes says nothing about the run that follows, whether the pod has finished or not.
  if (entry.version < OldestKept(entry, rules)) return Class::kTerminating;
  if (!rules.targets.empty() && rules.targets.contains(entry.uid)) return Class::kTerminating;
  if (entry.has(kPodTerminating) && (place.task >= 0 || rules.kill_all)) return Class::kTerminating;
  if (place.task < 0) return Class::kNone;  // The spec does not have its task: the pod counts only if a kill takes it.
  if (!place.indexed()) return Class::kNone;  // Surplus pods are not counted by phase.
  // It is about to be deleted, and the pod of its index to be made anew.
  if (entry.has(kPodFailedSurplus) && !rules.kill_all && entry.version >= rules.version) return Class::kTerminating;
  switch (entry.phase) {
    case kube::v1::POD_PHASE_PENDING:
      return Class::kPending;
    case kube::v1::POD_PHASE_RUNNING:
      return Class::kRunning;
    case kube::v1::POD_PHASE_SUCCEEDED:
      return Class::kSucceeded;
    case kube::v1::POD_PHASE_FAILED:
      return Class::kFailed;
    default:
      return Class::kUnknown;
  }
}

}  // namespace

bool IsDone(const PodEntry& entry, const PodRules& rules) {
  return entry.succeeded_gone && entry.version >= rules.delete_terminal_below;
}

bool MustMark(PodIndex place, const PodEntry& entry, const PodRules& rules) {
  if (!entry.present() || entry.has(kPodForeign) || entry.has(kPodTerminating) || entry.has(kPodOutOfSync)) {
    return false;
  }
  if (!rules.targets.empty() && rules.targets.contains(entry.uid)) return true;
  if (place.task < 0) return false;
  const bool surplus = !place.indexed() || entry.has(kPodFailedSurplus);
  return surplus && !rules.kill_all && entry.version >= rules.version;
}

bool MustDelete(const PodEntry& entry, const PodRules& rules) {
  if (!entry.present() || entry.has(kPodForeign) || entry.has(kPodTerminating)) return false;
  if (entry.has(kPodOutOfSync)) return true;
  return (rules.kill_all && !entry.terminal()) || entry.version < OldestKept(entry, rules);
}

bool CountsAsTerminating(PodIndex place, const PodEntry& entry, const PodRules& rules) {
  return Classify(place, entry, rules) == Class::kTerminating;
}

void CountPod(PodIndex place, const PodEntry& entry, const PodRules& rules, int32_t sign, kube::v1::PodCounts& counts,
              std::vector<TaskCounts>& tasks) {
  const Class cls = Classify(place, entry, rules);
  if (cls == Class::kNone) return;
  if (cls == Class::kTerminating) {
    counts.set_terminating(counts.terminating() + sign);
    return;
  }
  TaskCounts& task = tasks[place.task];
  const bool current = entry.version >= rules.version;
  switch (cls) {
    case Class::kPending:
      counts.set_pending(counts.pending() + sign);
      task.pending += sign;
      break;
    case Class::kRunning:
      counts.set_running(counts.running() + sign);
      task.running += sign;
      if (entry.has(kPodReady)) task.ready += sign;
      break;
    case Class::kSucceeded:
      counts.set_succeeded(counts.succeeded() + sign);
      task.succeeded += sign;
      task.ready += sign;
      if (current) task.succeeded_current += sign;
      break;
    case Class::kFailed:
      counts.set_failed(counts.failed() + sign);
      task.failed += sign;
      break;
    default:
      counts.set_unknown(counts.unknown() + sign);
      task.unknown += sign;
      break;
  }
  if (current && !entry.terminal() && (cls == Class::kPending || cls == Class::kRunning)) {
    task.restarts += int64_t{sign} * entry.restarts;
  }
}

}  // namespace basalt::jobsvc
