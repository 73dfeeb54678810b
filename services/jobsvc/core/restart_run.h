#pragma once

// Restarts of tasks, pods or partitions that wait one behind the other and are alike: one write carries them out, and
// one kill takes the pods of all of them. What that leads to is what a write for each would lead to if nothing were
// seen in between (job spec 8.1, 8.2): a restart spends a retry unless the job is Restarting by then, and between two
// of them the job may have become Pending, or Failed. Pure; the cost is linear in the restarts and the job's pods.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/kill.h"

namespace basalt::jobsvc {

struct RestartRun {
  std::vector<const storage::v1::PendingAction*> restarts;  // At least one; views into what waits.
  int settled = 0;  // So many of the waiting ones: those that the restarts answer as well are among them.
  Targets targets;  // Of all restarts.
  kube::v1::JobPhase phase = kube::v1::JOB_PHASE_UNSPECIFIED;  // Of the job then, as is `retries`.
  int32_t retries = 0;
};

// The restart at `first` of in.pending, which has these targets, and those behind it that go with it: as many as lead
// to Restarting, so that everybody sees that phase; else it alone. `kill_targets`: UIDs of the pods that its kill
// takes, those of the kill before among them; gets those of the others.
RestartRun TakeTogether(const DecideInput& in, int first, Targets targets, std::set<std::string>& kill_targets);

// What people are told of all restarts of a run, as of one action: the first few, and how many more there are.
storage::v1::PendingAction SummaryOf(const std::vector<const storage::v1::PendingAction*>& restarts);
// "kill of 12 pods for 10 events (PodEvicted 4, PodFailed 6)".
std::string OutcomeOf(const std::vector<const storage::v1::PendingAction*>& restarts, size_t pods);

}  // namespace basalt::jobsvc
