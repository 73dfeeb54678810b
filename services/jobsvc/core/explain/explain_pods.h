#pragma once

// The facts about the pods of a job that an explanation contains, gathered in one walk over their records. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/pods/pod_set.h"

namespace basalt::jobsvc {

// Pods that have not started, for the same reason.
struct WaitingPods {
  std::string reason;  // Kubernetes' reason. Empty if it gives none.
  bool on_node = false;
  int32_t count = 0;
  std::string example;   // Name of one of the pods.
  int64_t since_ms = 0;  // Creation of the oldest.
};

// Pods that run, with a container that has been restarted in place and is down again, for the same reason.
struct RestartingPods {
  std::string reason;
  int32_t count = 0;
  int64_t restarts = 0;
  std::string example;  // Name of one of the pods.
  std::string task;     // Task of `example`.
  bool always = false;  // The restartPolicy of the task is Always, so that none of its pods ever finishes.
};

// Failed pods of one task.
struct FailedPods {
  int32_t task = -1;  // Position in spec.tasks.
  int32_t count = 0;
  std::string first;        // Name of the pod that failed first.
  int64_t finished_ms = 0;  // When `first` finished.
  int32_t exit_code = 0;    // Exit code of `first`.
  std::string reason;       // Reason of `first`.
};

struct PodFindings {
  std::vector<WaitingPods> waiting;        // The largest group first.
  std::vector<RestartingPods> restarting;  // The largest group first.
  std::vector<FailedPods> failed;  // Only if the job is over or rests. The task of the first failure comes first.
  std::string going;               // Name of a pod that is being deleted or is to be. Empty if there is none.
};

// Looks at each pod once.
class PodSurvey {
 public:
  // The job is in `phase`. `spec` is the effective spec. `spec` and `pods` must outlive the survey.
  PodSurvey(kube::v1::JobPhase phase, const kube::v1::JobSpec& spec, const PodSet& pods);

  // Returns false if the counters show that there is nothing to find. Costs a step for each task.
  bool IsNeeded() const;
  // Call in the order of the names. Ignores the record of a pod that does not exist any more.
  void Look(std::string_view name, const storage::v1::PodRecord& record);
  PodFindings Take();

 private:
  void LookAtFailed(std::string_view name, const storage::v1::PodRecord& record);
  bool NeverFinishes(std::string_view pod) const;

  const kube::v1::JobSpec& spec_;
  const PodSet& pods_;
  const bool reports_failures_;
  std::map<std::pair<bool, std::string>, WaitingPods> waiting_;  // By whether the pods have a node, and by reason.
  std::map<std::string, RestartingPods> restarting_;
  std::map<int32_t, FailedPods> failed_;
  std::string going_;
};

// Returns the number of restarts in place of pods that have not finished. Costs a step for each task.
int64_t RestartsInPlace(const PodSet& pods);

}  // namespace basalt::jobsvc
