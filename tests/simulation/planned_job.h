#pragma once

// The random jobs of a scenario, and the phases in which each may end.
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/random.h"

namespace basalt::simulation {

enum class JobKind {
  kPlain,  // The job has no policies, and completes, or fails if a task fails.
  // PodEvicted -> TerminateJob. The job is terminated only if one of its pods was deleted by a user or evicted.
  kOnEviction,
  kOnFailure,       // PodFailed -> TerminateJob. A task fails.
  kRestarts,        // PodFailed -> RestartJob. All pods fail: the job fails once maxRetry is used up.
  kOnTaskComplete,  // TaskCompleted of the first task -> CompleteJob. The other tasks would run for long.
  kSuspended,       // A Command aborts the job, another one resumes it. The job completes all the same.
  kTerminated,      // A Command terminates the job, which completes only if its pods were done by then.

  // ---- with timeouts: an action is carried out at a deadline ----
  kStuck,         // The job's pods fit on no node. PodPending ends the job, or restarts it until maxRetry is used up.
  kStartsInTime,  // PodPending -> TerminateJob. The pods start long before the deadline: the job completes.
  kOnEvictionLater,      // PodEvicted has an action, unless the next pod of the name runs by then.
  kOnFailureLater,       // PodFailed or an exit code has an action. Other tasks would run for long.
  kOnTaskCompleteLater,  // TaskCompleted has an action. Other tasks would run for long.

  kRestartsParts,     // PodFailed or an exit code -> RestartPod or RestartTask, until maxRetry is used up.
  kAbortedOnFailure,  // PodFailed -> AbortJob, and a Command resumes the job, which keeps failed pods.
  kCommanded,         // Commands restart the job, its tasks and its pods, or name none of those. The job completes.
  kScaled,            // Replicas and minAvailable are edited, to zero and back, while some pods may fail.
};

struct PlannedTask {
  int replicas = 1;      // Replicas at first.
  int most = 1;          // The most replicas at any time.
  uint64_t seconds = 1;  // How long each pod runs.
  int exit_code = 0;     // The exit code of each pod.
  bool waits = false;    // The task depends on the task before it.
  bool fits = true;      // Some node can run the pods.
};

struct PlannedPolicy {
  int task = -1;      // -1 for a policy of the job.
  std::string event;  // Empty if the policy has an exit code instead.
  int exit_code = 0;
  std::string action;
  absl::Duration timeout;  // Zero for an action without delay.
};

// A bus Command that a user creates, some time after the job.
struct PlannedCommand {
  std::string action;
  absl::Duration after;
  std::string task;  // The task in our annotation of the target. Empty if none.
  // The pod in our annotation of the target. Empty if none.
  std::string pod;
  bool by_uid = false;     // The target has the UID of the pod that has the name at that time.
  bool for_older = false;  // The command is for an older job of the name and must not be carried out on this one.
  int number = 0;          // The number of the command among the job's commands.
  std::string target;      // The UID of the target, once the command is created.
  bool owned = false;      // The job owns the command, because the job existed at that time.
  std::string uid;
  std::string pod_uid;
};

// An edit of the spec by a user.
struct PlannedScaling {
  absl::Duration after;
  std::vector<int> replicas;  // Replicas of each task.
  int min_available = 0;
};

// A job as it was submitted.
struct PlannedJob {
  std::string name;
  std::string uid;
  std::string manifest;
  JobKind kind = JobKind::kPlain;
  std::vector<PlannedTask> tasks;
  std::vector<PlannedPolicy> policies;  // Policies of tasks come first.
  int max_retry = 3;
  int min_available = 0;          // 0 if the manifest has no minimum.
  std::vector<std::string> pods;  // Every name that the job's pods may have.
  std::vector<std::string> plugins;
  std::vector<std::string> ends;                     // Phases in which the job may end, or stay.
  std::vector<PlannedCommand> commands;              // In order of time.
  std::vector<PlannedScaling> scalings;              // In order of time.
  absl::Time last_request = absl::InfiniteFuture();  // The time of the last planned request of users about the job.
  bool late_queue = false;                           // The job's queue does not exist at first.
  bool deleted = false;                              // A user deletes the job at some time.
  bool replaced = false;                             // A user deletes the job and creates another one of the same name.
  std::string older_uid;  // UID of the job that had the name before. Empty if there was none.
};

// Plans a job. `anew` means that the job replaces another one of that number.
PlannedJob PlanJob(Random& random, int number, bool anew = false);

std::string JobManifest(const PlannedJob& job);

// The task and index of a pod. Both are -1 if the pod is not one of the job's.
struct PodPlace {
  int task = -1;
  int index = -1;
};
PodPlace PlaceOf(const PlannedJob& job, std::string_view pod);

std::string CommandName(const PlannedJob& job, const PlannedCommand& command);
// Requires: command.target is set.
std::string CommandManifest(const PlannedJob& job, const PlannedCommand& command);
// Returns a JSON patch that changes only the job of that UID.
std::string ScalingPatch(const PlannedJob& job, const PlannedScaling& scaling);

// The queue of the jobs with `late_queue`.
inline constexpr std::string_view kLateQueue = "late";

bool IsFinishedPhase(std::string_view phase);
// Returns true if pods are created in that phase.
bool IsLivePhase(std::string_view phase);

}  // namespace basalt::simulation
