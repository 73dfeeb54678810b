#include "services/jobsvc/core/events/deadlines.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using storage::v1::PendingAction;

namespace {

bool IsOfTask(const PendingAction& deadline) {
  return deadline.event() == kEventTaskCompleted || deadline.event() == kEventTaskFailed;
}

auto OfTask(const PendingAction& deadline) {
  return std::tuple(deadline.event(), deadline.task(), deadline.action(), deadline.version());
}

// Returns what an action of this level is about, by 7.5. Empty if there is no such action.
std::string ScopeOf(const PendingAction& action) {
  const std::optional<Action> parsed = ParseAction(action.action());
  if (!parsed) return {};
  switch (*parsed) {
    case Action::kRestartTask:
      return fmt::format("task {}", action.task());
    case Action::kRestartPod:
      return fmt::format("pod {}", action.pod());
    case Action::kRestartPartition:
      return fmt::format("partition {} {}", action.partition(), action.task());
    default:
      return "job";
  }
}

bool CleansUp(const PendingAction& action) {
  const std::optional<Action> parsed = ParseAction(action.action());
  return parsed && *parsed != Action::kSyncJob && *parsed != Action::kEnqueueJob;
}

}  // namespace

bool IsKept(const PendingAction& deadline) {
  return deadline.due_ms() != 0 && (deadline.event() != kEventPodPending || deadline.observed());
}

bool IsStored(const PendingAction& deadline) {
  if (!IsKept(deadline) || deadline.event() == kEventPodPending) return false;
  return deadline.event() != kEventPodFailed || deadline.observed();
}

bool StillHolds(const PendingAction& deadline, const PodSet& pods) {
  const PodEntry* pod = pods.Find(deadline.pod());
  if (deadline.event() == kEventPodPending) {
    return pod != nullptr && pod->uid == deadline.pod_uid() && pod->phase == kube::v1::POD_PHASE_PENDING &&
           !pod->has(kPodTerminating) && !pods.rules().targets.contains(pod->uid);
  }
  if (deadline.event() == kEventPodFailed || deadline.event() == kEventPodEvicted) {
    const bool replaced = pod != nullptr && pod->uid != deadline.pod_uid() && !pod->has(kPodForeign);
    return !replaced || (pod->phase != kube::v1::POD_PHASE_RUNNING && pod->phase != kube::v1::POD_PHASE_SUCCEEDED);
  }
  return true;
}

bool Clears(const PendingAction& carried_out, const PendingAction& deadline) {
  return CleansUp(carried_out) && ScopeOf(carried_out) == ScopeOf(deadline);
}

bool CarriedOut::Add(const PendingAction& action) {
  return CleansUp(action) && by_scope_.emplace(ScopeOf(action), &action).second;
}

const PendingAction* CarriedOut::ThatClears(const PendingAction& deadline) const {
  const auto action = by_scope_.find(ScopeOf(deadline));
  return action == by_scope_.end() ? nullptr : action->second;
}

bool SameDeadline(const PendingAction& a, const PendingAction& b) {
  const auto facts = [](const PendingAction& it) {
    return std::tie(it.event(), it.action(), it.task(), it.pod(), it.pod_uid(), it.rule());
  };
  return facts(a) == facts(b) && a.due_ms() == b.due_ms() && a.version() == b.version();
}

void DeadlineSet::Reset() {
  for (const ByPod* part : {&stored_, &kept_}) {
    for (const auto& [pod, deadline] : *part) changed_.insert(pod);
  }
  stored_.clear();
  kept_.clear();
  derived_.clear();
  by_due_.clear();
  of_tasks_.clear();
  version_ = 0;
}

const PendingAction* DeadlineSet::Find(const std::string& pod) const {
  for (const ByPod* part : {&stored_, &kept_, &derived_}) {
    if (const auto it = part->find(pod); it != part->end()) return &it->second;
  }
  return nullptr;
}

DeadlineSet::ByPod& DeadlineSet::PartOf(const PendingAction& deadline) {
  return IsStored(deadline) ? stored_ : IsKept(deadline) ? kept_ : derived_;
}

void DeadlineSet::Insert(PendingAction deadline) {
  std::string pod = deadline.pod();
  by_due_.emplace(deadline.due_ms(), pod);
  if (IsOfTask(deadline)) of_tasks_.insert(OfTask(deadline));
  ByPod& part = PartOf(deadline);
  part.emplace(std::move(pod), std::move(deadline));
}

void DeadlineSet::Restore(PendingAction deadline) {
  if (Find(deadline.pod()) == nullptr) Insert(std::move(deadline));
}

void DeadlineSet::Erase(const std::string& pod) {
  const PendingAction* deadline = Find(pod);
  if (deadline == nullptr) return;
  by_due_.erase({deadline->due_ms(), pod});
  if (IsOfTask(*deadline)) of_tasks_.erase(OfTask(*deadline));
  if (IsKept(*deadline)) changed_.insert(pod);
  PartOf(*deadline).erase(pod);
}

template <typename Predicate>
void DeadlineSet::EraseIf(Predicate predicate) {
  std::vector<std::string> pods;
  for (const ByPod* part : {&stored_, &kept_, &derived_}) {
    for (const auto& [pod, deadline] : *part) {
      if (predicate(deadline)) pods.push_back(pod);
    }
  }
  for (const std::string& pod : pods) Erase(pod);
}

bool DeadlineSet::Add(PendingAction deadline) {
  const std::string pod = deadline.pod();
  const PendingAction* known = Find(pod);
  // Either it is of another pod of the name, or this pod has succeeded since.
  const bool is_over = known != nullptr && known->event() == kEventPodPending &&
                       (known->pod_uid() != deadline.pod_uid() || deadline.event() == kEventTaskCompleted);
  if (known != nullptr && !is_over && known->action() == deadline.action() && known->version() == deadline.version()) {
    return false;
  }
  if (IsOfTask(deadline) && of_tasks_.contains(OfTask(deadline))) return false;
  Erase(pod);
  if (IsKept(deadline)) changed_.insert(pod);
  Insert(std::move(deadline));
  return true;
}

void DeadlineSet::Cancel(const JobEvent& event, std::string_view task) {
  const bool running = event.kind == kEventPodRunning;
  const bool ended = event.kind == kEventPodFailed || event.kind == kEventPodEvicted;
  if (!running && !ended && event.kind != kEventTaskCompleted) return;
  const PendingAction* deadline = Find(event.pod);
  if (deadline == nullptr || deadline->task() != task) return;
  const bool of_an_end = deadline->event() == kEventPodFailed || deadline->event() == kEventPodEvicted;
  const bool same_pod = deadline->pod_uid() == event.pod_uid;
  if (deadline->event() == kEventPodPending ? same_pod : of_an_end && running && !same_pod) Erase(event.pod);
}

void DeadlineSet::Clear(const PendingAction& carried_out) {
  if (empty()) return;
  if (carried_out.action() != ActionName(Action::kRestartPod)) {
    return EraseIf([&](const PendingAction& deadline) { return Clears(carried_out, deadline); });
  }
  const PendingAction* deadline = Find(carried_out.pod());
  if (deadline != nullptr && Clears(carried_out, *deadline)) Erase(carried_out.pod());
}

void DeadlineSet::DropEvictions(const std::set<std::string_view>& pods) {
  EraseIf([&pods](const PendingAction& deadline) {
    return deadline.event() == kEventPodEvicted && pods.contains(deadline.pod_uid());
  });
}

void DeadlineSet::SetVersion(int32_t version) {
  if (version <= version_) return;
  version_ = version;
  EraseIf([version](const PendingAction& deadline) { return deadline.version() >= 0 && deadline.version() < version; });
}

std::vector<PendingAction> DeadlineSet::TakeDue(int64_t now_ms, const PodSet& pods) {
  std::vector<PendingAction> due;
  while (!by_due_.empty() && by_due_.begin()->first <= now_ms) {
    const std::string pod = by_due_.begin()->second;
    const PendingAction* deadline = Find(pod);
    if (StillHolds(*deadline, pods)) due.push_back(*deadline);
    Erase(pod);
  }
  return due;
}

std::optional<int64_t> DeadlineSet::NextDue() const {
  return by_due_.empty() ? std::nullopt : std::optional<int64_t>(by_due_.begin()->first);
}

std::vector<const PendingAction*> DeadlineSet::Earliest(size_t most) const {
  std::vector<const PendingAction*> earliest;
  for (auto it = by_due_.begin(); it != by_due_.end() && earliest.size() < most; ++it) {
    earliest.push_back(Find(it->second));
  }
  return earliest;
}

bool DeadlineSet::AreStored(const std::vector<PendingAction>& stored) const {
  if (stored.size() != std::min(stored_.size(), kMostStoredDeadlines)) return false;
  return std::equal(stored.begin(), stored.end(), stored_.begin(),
                    [](const PendingAction& a, const auto& entry) { return SameDeadline(a, entry.second); });
}

bool HasTimeouts(const kube::v1::JobSpec& spec) {
  const auto delays = [](const kube::v1::LifecyclePolicy& policy) { return policy.timeout_ms() > 0; };
  return std::any_of(spec.policies().begin(), spec.policies().end(), delays) ||
         std::any_of(spec.tasks().begin(), spec.tasks().end(), [&](const kube::v1::TaskSpec& task) {
           return std::any_of(task.policies().begin(), task.policies().end(), delays);
         });
}

}  // namespace basalt::jobsvc
