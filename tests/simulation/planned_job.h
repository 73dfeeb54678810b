#pragma once

// The random jobs of a scenario, and what has to become of each.
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/random.h"

namespace basalt::simulation {

enum class JobKind {
  kPlain,           // No policies: Completed, or Failed if a task fails.
  kOnEviction,      // PodEvicted -> TerminateJob. Terminated only if somebody deleted one of its pods.
  kOnFailure,       // PodFailed -> TerminateJob, and a task fails.
  kRestarts,        // PodFailed -> RestartJob, and everything fails: Failed once maxRetry is used up.
  kOnTaskComplete,  // The first task's TaskCompleted -> CompleteJob, while the others would run for long.
  kSuspended,       // A Command aborts it, another one resumes it: Completed all the same.
  kTerminated,      // A Command terminates it. Completed only if it was done by then.

  // With timeouts: some action is carried out at a deadline.
  kStuck,                // Its pods fit nowhere: PodPending ends it, or restarts it until maxRetry is used up.
  kStartsInTime,         // PodPending -> TerminateJob, and its pods start long before: Completed.
  kOnEvictionLater,      // PodEvicted, unless the next pod of the name runs by then.
  kOnFailureLater,       // PodFailed or an exit code, while other tasks would run for long.
  kOnTaskCompleteLater,  // TaskCompleted, while other tasks would run for long.

  kRestartsParts,     // PodFailed or an exit code -> RestartPod or RestartTask, until maxRetry is used up.
  kAbortedOnFailure,  // PodFailed -> AbortJob, and a Command resumes it: it keeps what failed.
  kCommanded,         // Commands restart it, its tasks and its pods, or name none of those: Completed.
  kScaled,            // Its replicas and minAvailable are edited, to zero and back, while some of its pods may fail.
};

struct PlannedTask {
  int replicas = 1;      // At first,
  int most = 1;          // and at any time.
  uint64_t seconds = 1;  // Its pods run for so long
  int exit_code = 0;     // and exit with that.
  bool waits = false;    // For the task before it.
  bool fits = true;      // On some node.
};

struct PlannedPolicy {
  int task = -1;      // -1: of the job.
  std::string event;  // Empty: by exit code.
  int exit_code = 0;
  std::string action;
  absl::Duration timeout;  // Zero: at once.
};

// A bus Command that a user gives, some time after the job.
struct PlannedCommand {
  std::string action;
  absl::Duration after;
  std::string task;  // Its target, in our annotation.
  std::string pod;
  bool by_uid = false;     // Of the pod that has that name then.
  bool for_older = false;  // For a job of this name that is gone: not to be carried out on this one.
  int number = 0;          // In the job's commands.
  std::string target;      // The job's UID, once given,
  bool owned = false;      // and whether it was there then.
  std::string uid;
  std::string pod_uid;
};

// An edit of the spec.
struct PlannedScaling {
  absl::Duration after;
  std::vector<int> replicas;  // Of each task.
  int min_available = 0;
};

// A job as it was submitted.
struct PlannedJob {
  std::string name;
  std::string uid;
  std::string manifest;
  JobKind kind = JobKind::kPlain;
  std::vector<PlannedTask> tasks;
  std::vector<PlannedPolicy> policies;  // Those of tasks first.
  int max_retry = 3;
  int min_available = 0;          // 0: not said.
  std::vector<std::string> pods;  // Every name that may ever be made.
  std::vector<std::string> plugins;
  std::vector<std::string> ends;                // Phases in which it may end, or stay.
  std::vector<PlannedCommand> commands;         // In their order.
  std::vector<PlannedScaling> scalings;         // In their order.
  absl::Time settled = absl::InfiniteFuture();  // Users do nothing more with it from then on.
  bool late_queue = false;                      // Its queue does not exist at first.
  bool deleted = false;                         // By the user, at some time.
  bool replaced = false;                        // The same, and another one was made under its name.
  std::string older_uid;                        // Of the one that had its name before; empty: there was none.
};

// `anew`: under the name of another one of that number.
PlannedJob PlanJob(Random& random, int number, bool anew = false);

std::string JobManifest(const PlannedJob& job);

// Where the pod of that name belongs; -1, -1: it is none of the job's.
struct PodPlace {
  int task = -1;
  int index = -1;
};
PodPlace PlaceOf(const PlannedJob& job, std::string_view pod);

std::string CommandName(const PlannedJob& job, const PlannedCommand& command);
// Requires: the command has its target.
std::string CommandManifest(const PlannedJob& job, const PlannedCommand& command);
// A JSON patch of that job and of no other.
std::string ScalingPatch(const PlannedJob& job, const PlannedScaling& scaling);

// The queue of those with `late_queue`.
inline constexpr std::string_view kLateQueue = "late";

bool IsFinishedPhase(std::string_view phase);
// In which pods are made.
bool IsLivePhase(std::string_view phase);

}  // namespace basalt::simulation
