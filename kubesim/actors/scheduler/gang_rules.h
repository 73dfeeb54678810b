#pragma once

// The decisions of Volcano's scheduler about a PodGroup, as pure functions: task states, the phase formula, the gang's
// readiness and the messages. Podgroup spec 9.
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace basalt::actors {

// Allocated: this cycle chose a node, and has taken it back or not yet sent the binding. Binding: the request is in
// flight.
enum class TaskState { kPending, kAllocated, kBinding, kBound, kRunning, kReleasing, kSucceeded, kFailed, kUnknown };
inline constexpr size_t kTaskStates = 9;

std::string_view NameOf(TaskState state);
// Returns the state of a pod's task (spec 9.1).
TaskState TaskStateOf(std::string_view pod_phase, bool deleting, bool has_node);

struct GangCounts {
  std::array<int, kTaskStates> by_state{};
  int releasing_with_node = 0;
  int best_effort_pending = 0;  // Pending tasks that request no resources.

  int Of(TaskState state) const { return by_state[static_cast<size_t>(state)]; }
  int& Of(TaskState state) { return by_state[static_cast<size_t>(state)]; }
  int tasks() const;
  int scheduled() const;  // S
  int completed() const;  // C
  int ready() const;
  // Returns the number of tasks that can still count for the gang: all but Failed, Releasing and Unknown.
  int valid() const;
};

bool ReadyForGang(const GangCounts& counts, int min_member);

// Returns how many tasks are missing to the per-task minimums. As upstream, the minimums are ignored if minMember is
// smaller than their sum.
int TaskShortfall(const std::map<std::string, int>& minimums, int min_member,
                  const std::map<std::string, int>& by_task);
// Returns how many tasks the gang lacks to start: the tasks missing to minMember, and no less than `shortfall`.
int TasksMissing(const GangCounts& counts, int min_member, int shortfall);

// Returns the phase after a cycle (spec 9.3). `phase` is the phase in memory after the enqueue vote. `unschedulable` is
// true if this cycle set the condition Unschedulable.
std::string_view NextPhase(std::string_view phase, int min_member, const GangCounts& counts, bool unschedulable);

enum class GangCondition { kNone, kUnschedulable, kScheduled };
// Returns the condition after a cycle (spec 9.5).
GangCondition ConditionOf(const GangCounts& counts, int min_member);

struct FitFacts {
  int min_member = 0;
  bool ready = false;
  int pending_schedulable = 0;  // Pending tasks whose node was taken back with the gang.
  int pending_unschedulable = 0;
  int pending_undetermined = 0;  // Pending tasks that were not tried, since the gang had failed before.
  std::string job_reason;        // Replaces `task_reason` in the text. May be empty.
  std::string task_reason;       // "<task>: <why no node>". May be empty.
};
// Returns the text of the fit error (spec 9.5).
std::string FitError(const GangCounts& counts, const FitFacts& facts);

}  // namespace basalt::actors
