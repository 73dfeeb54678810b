#pragma once

// Plans the jobs of a run in which processes are killed and stopped, with the expected end of each job.
#include <string>
#include <vector>

#include "common/base/random.h"

namespace basalt::e2e {

enum class ChaosKind {
  kPlain,      // The job ends as Completed.
  kFails,      // A task fails, and no policy handles the failure. The job ends as Failed.
  kOnFailure,  // A task fails, with the policy PodFailed -> TerminateJob. The job ends as Terminated.
  // Every pod fails, with the policy PodFailed -> RestartJob. The job ends as Failed once maxRetry is used up.
  kRestarts,
  kDeleted,  // The job runs for longer than the test; the user deletes the job.
};

struct ChaosJob {
  std::string name;
  std::string manifest;
  ChaosKind kind = ChaosKind::kPlain;
  std::vector<std::string> pods;  // Every name that the job's pods may have.
  std::string end;                // The expected last phase. Empty if the job is deleted.
};

// Plans a job with one to a hundred pods in one to three tasks. Most jobs are small.
ChaosJob PlanChaosJob(Random& random, int number);

}  // namespace basalt::e2e
