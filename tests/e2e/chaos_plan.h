#pragma once

// The jobs of a run in which processes are killed and stopped, and what has to become of each.
#include <string>
#include <vector>

#include "common/base/random.h"

namespace basalt::e2e {

enum class ChaosKind {
  kPlain,      // Completed.
  kFails,      // A task fails and no policy helps: Failed.
  kOnFailure,  // PodFailed -> TerminateJob, and a task fails: Terminated.
  kRestarts,   // PodFailed -> RestartJob, and everything fails: Failed once maxRetry is used up.
  kDeleted,    // Runs for longer than the test; the user deletes it.
};

struct ChaosJob {
  std::string name;
  std::string manifest;
  ChaosKind kind = ChaosKind::kPlain;
  std::vector<std::string> pods;  // Every name that may ever be made.
  std::string end;                // The phase in which it ends; empty: it is deleted.
};

// One to a hundred pods in one to three tasks, most of them small.
ChaosJob PlanChaosJob(Random& random, int number);

}  // namespace basalt::e2e
