#include "services/jobsvc/core/deadlines.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

namespace {

using storage::v1::PendingAction;

// Keeps the order of the others.
template <typename Predicate>
bool EraseIf(PendingActions& deadlines, Predicate predicate) {
  const auto end = std::remove_if(deadlines.begin(), deadlines.end(), predicate);
  if (end == deadlines.end()) return false;
  deadlines.DeleteSubrange(static_cast<int>(end - deadlines.begin()), static_cast<int>(deadlines.end() - end));
  return true;
}

}  // namespace

bool IsKept(const PendingAction& deadline) {
  const std::string& event = deadline.event();
  return deadline.due_ms() != 0 && (event == kEventPodEvicted || event == kEventUnknown ||
                                    event == kEventTaskCompleted || event == kEventTaskFailed);
}

bool AddDeadline(PendingAction deadline, PendingActions& deadlines) {
  const auto same_pod = [&](const PendingAction& other) { return other.pod() == deadline.pod(); };
  const auto known = std::find_if(deadlines.begin(), deadlines.end(), same_pod);
  if (known != deadlines.end()) {
    if (known->action() == deadline.action() && known->version() == deadline.version()) return false;
    deadlines.erase(known);
  }
  *deadlines.Add() = std::move(deadline);
  return true;
}

bool CancelDeadlines(const JobEvent& event, std::string_view task, PendingActions& deadlines) {
  const bool running = event.kind == kEventPodRunning;
  if (!running && event.kind != kEventPodFailed && event.kind != kEventPodEvicted) return false;
  return EraseIf(deadlines, [&](const PendingAction& deadline) {
    if (deadline.pod() != event.pod || deadline.task() != task) return false;
    if (deadline.event() == kEventPodPending) return deadline.pod_uid() == event.pod_uid;
    const bool ended = deadline.event() == kEventPodFailed || deadline.event() == kEventPodEvicted;
    return ended && running && deadline.pod_uid() != event.pod_uid;
  });
}

bool ClearDeadlines(const PendingAction& carried_out, PendingActions& deadlines) {
  const std::optional<Action> action = ParseAction(carried_out.action());
  if (!action || *action == Action::kSyncJob || *action == Action::kEnqueueJob) return false;
  return EraseIf(deadlines, [&](const PendingAction& deadline) {
    const std::optional<Action> other = ParseAction(deadline.action());
    if (!IsTargeted(*action)) return other && !IsTargeted(*other);
    if (other != action) return false;
    switch (*action) {
      case Action::kRestartTask:
        return deadline.task() == carried_out.task();
      case Action::kRestartPod:
        return deadline.pod() == carried_out.pod();
      default:
        return deadline.task() == carried_out.task() && deadline.partition() == carried_out.partition();
    }
  });
}

bool DropStaleDeadlines(int32_t version, PendingActions& deadlines) {
  return EraseIf(deadlines, [version](const PendingAction& deadline) {
    return deadline.version() >= 0 && deadline.version() < version;
  });
}

bool StillHolds(const PendingAction& deadline, const PodSet& pods) {
  const PodEntry* pod = pods.Find(deadline.pod());
  if (deadline.event() == kEventPodPending) {
    return pod != nullptr && pod->uid == deadline.pod_uid() && pod->phase == kube::v1::POD_PHASE_PENDING &&
           !pod->has(kPodTerminating);
  }
  if (deadline.event() == kEventPodFailed || deadline.event() == kEventPodEvicted) {
    const bool replaced = pod != nullptr && pod->uid != deadline.pod_uid() && !pod->has(kPodForeign);
    return !replaced || (pod->phase != kube::v1::POD_PHASE_RUNNING && pod->phase != kube::v1::POD_PHASE_SUCCEEDED);
  }
  return true;
}

std::vector<PendingAction> TakeDue(int64_t now_ms, const PodSet& pods, PendingActions& deadlines) {
  std::vector<PendingAction> due;
  for (const PendingAction& deadline : deadlines) {
    if (deadline.due_ms() <= now_ms && StillHolds(deadline, pods)) due.push_back(deadline);
  }
  EraseIf(deadlines, [now_ms](const PendingAction& deadline) { return deadline.due_ms() <= now_ms; });
  std::stable_sort(due.begin(), due.end(),
                   [](const PendingAction& a, const PendingAction& b) { return a.due_ms() < b.due_ms(); });
  return due;
}

std::optional<int64_t> NextDue(const PendingActions& deadlines) {
  std::optional<int64_t> next;
  for (const PendingAction& deadline : deadlines) next = std::min(next.value_or(deadline.due_ms()), deadline.due_ms());
  return next;
}

bool AreStored(const PendingActions& deadlines, const std::vector<PendingAction>& stored) {
  size_t found = 0;
  for (const PendingAction& deadline : deadlines) {
    if (!IsKept(deadline)) continue;
    if (found == stored.size() || !SameDeadline(deadline, stored[found])) return false;
    ++found;
  }
  return found == stored.size();
}

bool SameDeadline(const PendingAction& a, const PendingAction& b) {
  const auto facts = [](const PendingAction& it) {
    return std::tie(it.event(), it.action(), it.task(), it.pod(), it.pod_uid(), it.rule());
  };
  return facts(a) == facts(b) && a.due_ms() == b.due_ms() && a.version() == b.version();
}

}  // namespace basalt::jobsvc
