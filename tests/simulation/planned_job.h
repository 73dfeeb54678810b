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
};

// A bus Command that a user gives, some time after the job.
struct PlannedCommand {
  std::string action;
  absl::Duration after;
  std::string uid;  // Once given.
};

// A job as it was submitted.
struct PlannedJob {
  std::string name;
  std::string uid;
  std::string manifest;
  JobKind kind = JobKind::kPlain;
  std::vector<std::string> pods;  // Every name that may ever be made.
  std::vector<std::string> plugins;
  std::vector<std::string> ends;         // Phases in which it may end.
  std::vector<PlannedCommand> commands;  // In their order.
  int first_task_replicas = 0;
  bool late_queue = false;  // Its queue does not exist at first.
  bool deleted = false;     // By the user, at some time.
};

PlannedJob PlanJob(Random& random, int number);

std::string CommandName(const PlannedJob& job, const PlannedCommand& command);
// Requires: the job has a UID.
std::string CommandManifest(const PlannedJob& job, const PlannedCommand& command);

// The queue of those with `late_queue`.
inline constexpr std::string_view kLateQueue = "late";

bool IsFinishedPhase(std::string_view phase);

}  // namespace basalt::simulation
