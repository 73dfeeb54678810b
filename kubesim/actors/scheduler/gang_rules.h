#pragma once

// What Volcano's scheduler decides about a PodGroup, as pure functions: task states, the phase formula, the gang's
// readiness and the words it finds. Podgroup spec 9.
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace basalt::actors {

// Allocated: a node was chosen in this cycle and taken back or not yet asked for. Binding: the request is on its way.
enum class TaskState { kPending, kAllocated, kBinding, kBound, kRunning, kReleasing, kSucceeded, kFailed, kUnknown };
inline constexpr size_t kTaskStates = 9;

std::string_view NameOf(TaskState state);
// Spec 9.1.
TaskState TaskStateOf(std::string_view pod_phase, bool deleting, bool has_node);

struct GangCounts {
  std::array<int, kTaskStates> by_state{};
  int releasing_with_node = 0;
  int best_effort_pending = 0;  // Pending tasks that ask for nothing.

  int Of(TaskState state) const { return by_state[static_cast<size_t>(state)]; }
  int& Of(TaskState state) { return by_state[static_cast<size_t>(state)]; }
  int tasks() const;
  int scheduled() const;  // S
  int completed() const;  // C
  int ready() const;
  // Tasks that still can count for the gang: all but Failed, Releasing and Unknown.
  int valid() const;
};

bool ReadyForGang(const GangCounts& counts, int min_member);

// How many tasks lack to the per-task minimums. They are not looked at where minMember is smaller than their sum, as
// upstream.
int TaskShortfall(const std::map<std::string, int>& minimums, int min_member,
                  const std::map<std::string, int>& by_task);
// The tasks without which the gang cannot start: up to minMember, but no less than the per-task minimums lack.
int TasksMissing(const GangCounts& counts, int min_member, int shortfall);

// Spec 9.3. `phase`: in memory, after the enqueue vote; `unschedulable`: this cycle set that condition.
std::string_view NextPhase(std::string_view phase, int min_member, const GangCounts& counts, bool unschedulable);

enum class GangCondition { kNone, kUnschedulable, kScheduled };
// Spec 9.5.
GangCondition ConditionOf(const GangCounts& counts, int min_member);

struct FitFacts {
  int min_member = 0;
  bool ready = false;
  int pending_schedulable = 0;  // Had a node tentatively, taken back with the gang.
  int pending_unschedulable = 0;
  int pending_undetermined = 0;  // Not tried: the gang failed before.
  std::string job_reason;        // Wins over the other; both may be empty.
  std::string task_reason;       // "<task>: <why no node>"
};
// Spec 9.5, the fit error text.
std::string FitError(const GangCounts& counts, const FitFacts& facts);

}  // namespace basalt::actors
