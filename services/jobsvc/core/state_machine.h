#pragma once

// The state machine of job spec 8, as data: which operation, retain set and callback each phase has for each action.
// Repairs that the specification decides (spec/README decision 1): Abort, Terminate and Complete are honoured in
// Restarting (W12); resuming consumes no retry (W14); draining and finished phases repeat no kill (job spec 15.2, C7).
// Pure.
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
// The wire string of job spec 1.9; nullopt for one that is none.
std::optional<Action> ParseAction(std::string_view name);
bool IsTargeted(Action action);

enum class Operation : uint8_t { kSyncJob, kKillJob, kKillTarget, kDrain, kNothing };
// Which finished pods a full kill keeps.
enum class Retain : uint8_t {
  kNone,
  kSucceeded,  // A resume: what failed is made anew.
  kSoft,       // Succeeded and Failed ones.
};
enum class Callback : uint8_t {
  kPend,
  kRun,
  kAfterRestart,
  kDrain,         // -> Transition::to once nothing is left alive.
  kGoTo,          // -> Transition::to at once.
  kRetryAndGoTo,  // The same, and retryCount + 1.
  kNone,
};

struct Transition {
  Operation operation = Operation::kNothing;
  Retain retain = Retain::kNone;
  Callback callback = Callback::kNone;
  kube::v1::JobPhase to = kube::v1::JOB_PHASE_UNSPECIFIED;
};

// The row and cell of 8.1.
Transition Lookup(kube::v1::JobPhase phase, Action action);

bool IsFinished(kube::v1::JobPhase phase);  // Completed, Terminated, Failed.
bool IsDraining(kube::v1::JobPhase phase);  // Aborting, Terminating, Completing.
// Phases in which pods and what they need are made.
bool MakesPods(kube::v1::JobPhase phase);  // Pending, Running, Restarting.

// "Last retry": a full kill that spends a retry keeps what has finished, as the job ends with it.
bool IsLastRetry(int32_t retry_count, int32_t max_retry);

// What the callbacks of 8.2 look at.
struct CallbackInput {
  int64_t total = 0;         // Sum of replicas.
  int64_t task_minimum = 0;  // Sum over tasks of minAvailable, else replicas; as `tasks`.
  int32_t spec_min_available = 0;
  int32_t status_min_available = 0;
  std::optional<int32_t> min_success;
  int32_t max_retry = 3;
  int32_t retry_count = 0;
  kube::v1::PodCounts counts;
  // Pods that can never be made, as what their task depends on has failed for good: as good as failed ones.
  int64_t unstartable = 0;
  // In task order: those with minAvailable set and at least one counted or unstartable pod have `judged`.
  struct Task {
    bool judged = false;
    int32_t min_available = 0;
    int32_t succeeded = 0;
  };
  // Filled only when succeeded + failed + unstartable == total: the walk costs one step per task.
  std::vector<Task> tasks;
};

// The rule of an end of a job some of whose tasks can never start begins with this.
inline constexpr std::string_view kRuleNoOtherStarts = "no other pod can start";

struct Outcome {
  kube::v1::JobPhase phase;  // The same as before: no change.
  std::string_view rule;     // Which line of 8.2 decided; empty without a change.
};

Outcome RunCallback(const Transition& transition, kube::v1::JobPhase phase, const CallbackInput& input);

}  // namespace basalt::jobsvc
