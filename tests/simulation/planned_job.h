#pragma once

// The random jobs of a scenario, and what has to become of each.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"

namespace basalt::simulation {

enum class JobKind {
  kPlain,           // No policies: Completed, or Failed if a task fails.
  kOnEviction,      // PodEvicted -> TerminateJob. Terminated only if somebody deleted one of its pods.
  kOnFailure,       // PodFailed -> TerminateJob, and a task fails.
  kRestarts,        // PodFailed -> RestartJob, and everything fails: Failed once maxRetry is used up.
  kOnTaskComplete,  // The first task's TaskCompleted -> CompleteJob, while the others would run for long.
};

// A job as it was submitted.
struct PlannedJob {
  std::string name;
  std::string uid;
  std::string manifest;
  JobKind kind = JobKind::kPlain;
  std::vector<std::string> pods;  // Every name that may ever be made.
  std::vector<std::string> plugins;
  std::vector<std::string> ends;  // Phases in which it may end.
  int first_task_replicas = 0;
  bool late_queue = false;  // Its queue does not exist at first.
  bool deleted = false;     // By the user, at some time.
};

PlannedJob PlanJob(Random& random, int number);

// The queue of those with `late_queue`.
inline constexpr std::string_view kLateQueue = "late";

bool IsFinishedPhase(std::string_view phase);

}  // namespace basalt::simulation
