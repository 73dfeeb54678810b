#pragma once

// The state machine of job spec 8, as data: which operation, retain set and callback each phase has for each action. It
// contains the repairs that the specification decides (spec/README decision 1): Abort, Terminate and Complete are
// honoured in Restarting (W12); resuming consumes no retry (W14); draining and finished phases repeat no kill (job spec
// 15.2, C7). Pure.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

enum class Action : uint8_t {
  kSyncJob,
  kAbortJob,
  kRestartJob,
  kRestartTask,
  kRestartPod,
  kRestartPartition,
  kTerminateJob,
  kCompleteJob,
  kResumeJob,
  kEnqueueJob,
};
inline constexpr int kActionCount = 10;

std::string_view ActionName(Action action);
// Parses the wire string of job spec 1.9. Nullopt if there is no such action.
std::optional<Action> ParseAction(std::string_view name);
bool IsTargeted(Action action);

enum class Operation : uint8_t { kSyncJob, kKillJob, kKillTarget, kDrain, kNothing };
// Which finished pods a full kill keeps.
enum class Retain : uint8_t {
  kNone,
  kSucceeded,  // A resume: failed pods are made anew.
  kSoft,       // Succeeded and Failed pods.
};
enum class Callback : uint8_t {
  kPend,
  kRun,
  kAfterRestart,
  kDrain,         // -> Transition::to once no pod is left alive.
  kGoTo,          // -> Transition::to at once.
  kRetryAndGoTo,  // Like kGoTo, with retryCount + 1.
  kNone,
};

struct Transition {
  Operation operation = Operation::kNothing;
  Retain retain = Retain::kNone;
  Callback callback = Callback::kNone;
  kube::v1::JobPhase to = kube::v1::JOB_PHASE_UNSPECIFIED;
};

// Returns the cell of the table in 8.1.
Transition Lookup(kube::v1::JobPhase phase, Action action);

bool IsFinished(kube::v1::JobPhase phase);  // Completed, Terminated, Failed.
bool IsDraining(kube::v1::JobPhase phase);  // Aborting, Terminating, Completing.
// The phases in which pods and the objects that they need are made.
bool MakesPods(kube::v1::JobPhase phase);  // Pending, Running, Restarting.

// Returns whether a full kill that spends a retry spends the last one. Such a kill keeps finished pods, since the job
// ends with it.
bool IsLastRetry(int32_t retry_count, int32_t max_retry);

// The facts that the callbacks of 8.2 use.
struct CallbackInput {
  int64_t total = 0;  // Sum of replicas.
  // Sum over tasks of minAvailable, or of replicas where it is unset. Set together with `tasks`.
  int64_t task_minimum = 0;
  int32_t spec_min_available = 0;
  int32_t status_min_available = 0;
  std::optional<int32_t> min_success;
  int32_t max_retry = 3;
  int32_t retry_count = 0;
  kube::v1::PodCounts counts;
  // Pods that can never be made, since a task on which theirs depends has failed for good. They count like failed pods.
  int64_t unstartable = 0;
  // In task order. `checks_minimum` is set for tasks that set minAvailable and have at least one counted or unstartable
  // pod.
  struct Task {
    bool checks_minimum = false;
    int32_t min_available = 0;
    int32_t succeeded = 0;
  };
  // Filled only when succeeded + failed + unstartable == total: the walk costs one step per task.
  std::vector<Task> tasks;
};

// Beginning of the rules by which a job ends some of whose tasks can never start.
inline constexpr std::string_view kRuleNoOtherStarts = "no other pod can start";

struct Outcome {
  kube::v1::JobPhase phase;  // Equal to the phase before if nothing changes.
  std::string_view rule;     // The line of 8.2 that decided. Empty if nothing changes.
};

Outcome RunCallback(const Transition& transition, kube::v1::JobPhase phase, const CallbackInput& input);

}  // namespace basalt::jobsvc
