#pragma once

// What an explanation tells of the pods of a job, gathered in one walk over their records. Pure.
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
  std::string reason;  // Kubernetes' word; empty: it gives none.
  bool on_node = false;
  int32_t count = 0;
  std::string example;   // The name of one of them.
  int64_t since_ms = 0;  // Creation of the oldest.
};

// Pods that run, with a container that has been restarted in place and is down again, for the same reason.
struct RestartingPods {
  std::string reason;
  int32_t count = 0;
  int64_t restarts = 0;
  std::string example;  // The name of one of them,
  std::string task;     // and its task,
  bool always = false;  // of which no pod ever finishes: its restartPolicy is Always.
};

// Of one task.
struct FailedPods {
  int32_t task = -1;  // Position in spec.tasks.
  int32_t count = 0;
  std::string first;  // The name of the one that failed first, and of it:
  int64_t finished_ms = 0;
  int32_t exit_code = 0;
  std::string reason;
};

struct PodFindings {
  std::vector<WaitingPods> waiting;        // The most first,
  std::vector<RestartingPods> restarting;  // and of these.
  std::vector<FailedPods> failed;          // Of a job that is over, or rests; the task of the first failure first.
  std::string going;                       // One that is being deleted, or is to be; empty: none.
};

// Looks at each pod once.
class PodSurvey {
 public:
  // Of a job in that phase. `spec`, which is effective, and `pods` outlive it.
  PodSurvey(kube::v1::JobPhase phase, const kube::v1::JobSpec& spec, const PodSet& pods);

  // False: their counters say that there is nothing to be found, and nobody need look. Costs a step for each task.
  bool IsNeeded() const;
  // In the order of the names. What is recorded of a pod that is not there any more is passed over.
  void Look(std::string_view name, const storage::v1::PodRecord& record);
  PodFindings Take();

 private:
  void LookAtFailed(std::string_view name, const storage::v1::PodRecord& record);
  bool NeverFinishes(std::string_view pod) const;

  const kube::v1::JobSpec& spec_;
  const PodSet& pods_;
  const bool tells_failures_;
  std::map<std::pair<bool, std::string>, WaitingPods> waiting_;  // By whether they have a node, and why.
  std::map<std::string, RestartingPods> restarting_;
  std::map<int32_t, FailedPods> failed_;
  std::string going_;
};

// In place, of pods that have not finished. A step for each task.
int64_t RestartsInPlace(const PodSet& pods);

}  // namespace basalt::jobsvc
