#include "kubesim/actors/scheduler/gang_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace basalt::actors {
namespace {

std::string Histogram(std::vector<std::string> entries) {
  std::sort(entries.begin(), entries.end());
  return fmt::format("{}", fmt::join(entries, ", "));
}

}  // namespace

std::string_view NameOf(TaskState state) {
  switch (state) {
    case TaskState::kPending:
      return "Pending";
    case TaskState::kAllocated:
      return "Allocated";
    case TaskState::kBinding:
      return "Binding";
    case TaskState::kBound:
      return "Bound";
    case TaskState::kRunning:
      return "Running";
    case TaskState::kReleasing:
      return "Releasing";
    case TaskState::kSucceeded:
      return "Succeeded";
    case TaskState::kFailed:
      return "Failed";
    case TaskState::kUnknown:
      return "Unknown";
  }
  return "Unknown";
}

TaskState TaskStateOf(std::string_view pod_phase, bool deleting, bool has_node) {
  if (pod_phase == "Running") return deleting ? TaskState::kReleasing : TaskState::kRunning;
  if (pod_phase == "Pending") {
    if (deleting) return TaskState::kReleasing;
    return has_node ? TaskState::kBound : TaskState::kPending;
  }
  if (pod_phase == "Succeeded") return TaskState::kSucceeded;
  if (pod_phase == "Failed") return TaskState::kFailed;
  return TaskState::kUnknown;
}

int GangCounts::tasks() const {
  int sum = 0;
  for (const int n : by_state) sum += n;
  return sum;
}

int GangCounts::scheduled() const {
  return Of(TaskState::kRunning) + Of(TaskState::kBound) + completed() + releasing_with_node;
}

int GangCounts::completed() const { return Of(TaskState::kSucceeded) + Of(TaskState::kFailed); }

int GangCounts::ready() const {
  return Of(TaskState::kBound) + Of(TaskState::kBinding) + Of(TaskState::kRunning) + Of(TaskState::kAllocated) +
         Of(TaskState::kSucceeded);
}

int GangCounts::valid() const { return ready() + Of(TaskState::kPending); }

bool ReadyForGang(const GangCounts& counts, int min_member) {
  return counts.ready() + counts.best_effort_pending >= min_member;
}

int TaskShortfall(const std::map<std::string, int>& minimums, int min_member,
                  const std::map<std::string, int>& by_task) {
  int sum = 0;
  int lacking = 0;
  for (const auto& [task, minimum] : minimums) {
    const auto found = by_task.find(task);
    sum += minimum;
    lacking += std::max(0, minimum - (found == by_task.end() ? 0 : found->second));
  }
  return min_member < sum ? 0 : lacking;
}

int TasksMissing(const GangCounts& counts, int min_member, int shortfall) {
  return std::max(min_member - counts.ready(), shortfall);
}

std::string_view NextPhase(std::string_view phase, int min_member, const GangCounts& counts, bool unschedulable) {
  if (counts.Of(TaskState::kRunning) > 0 && unschedulable) return "Unknown";
  if (counts.scheduled() >= min_member) return counts.scheduled() == counts.completed() ? "Completed" : "Running";
  return phase == "Inqueue" ? "Inqueue" : "Pending";
}

GangCondition ConditionOf(const GangCounts& counts, int min_member) {
  if (counts.tasks() == 0) return GangCondition::kNone;
  if (ReadyForGang(counts, min_member)) return GangCondition::kScheduled;
  const bool only_releasing =
      counts.releasing_with_node > 0 && counts.Of(TaskState::kPending) == 0 && counts.scheduled() >= min_member;
  return only_releasing ? GangCondition::kNone : GangCondition::kUnschedulable;
}

std::string FitError(const GangCounts& counts, const FitFacts& facts) {
  std::vector<std::string> entries{fmt::format("{} minAvailable", facts.min_member)};
  for (size_t i = 0; i < kTaskStates; ++i) {
    if (counts.by_state[i] > 0) {
      entries.push_back(fmt::format("{} {}", counts.by_state[i], NameOf(static_cast<TaskState>(i))));
    }
  }
  std::string text =
      fmt::format("{}, {}", facts.ready ? "pod group is ready" : "pod group is not ready", Histogram(entries));
  if (counts.Of(TaskState::kPending) > 0) {
    std::vector<std::string> reasons;
    if (facts.pending_schedulable > 0) reasons.push_back(fmt::format("{} Schedulable", facts.pending_schedulable));
    if (facts.pending_unschedulable > 0) {
      reasons.push_back(fmt::format("{} Unschedulable", facts.pending_unschedulable));
    }
    if (facts.pending_undetermined > 0) reasons.push_back(fmt::format("{} Undetermined", facts.pending_undetermined));
    if (!reasons.empty()) text += "; Pending: " + Histogram(reasons);
  }
  if (!facts.job_reason.empty()) {
    text += ". Origin reason is: " + facts.job_reason;
  } else if (!facts.task_reason.empty()) {
    text += ". Origin reason is " + facts.task_reason;
  }
  return text;
}

}  // namespace basalt::actors
