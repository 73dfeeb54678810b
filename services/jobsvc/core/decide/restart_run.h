#pragma once

// A run of like restarts of tasks, pods or partitions that wait one behind the other: one write carries them out, and
// one kill deletes the pods of all of them. The result equals that of one write for each restart without an observation
// in between (job spec 8.1, 8.2): a restart spends a retry unless the job is Restarting by then, and between two
// restarts the job may have become Pending, or Failed. Pure; the cost is linear in the restarts and the job's pods.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/decide/kill.h"

namespace basalt::jobsvc {

struct RestartRun {
  std::vector<const storage::v1::PendingAction*> restarts;  // At least one; pointers into DecideInput::pending.
  // Number of pending actions that the run consumes, those that its restarts answer as well included.
  int consumed = 0;
  Targets targets;                                             // The targets of all restarts.
  kube::v1::JobPhase phase = kube::v1::JOB_PHASE_UNSPECIFIED;  // Phase of the job after the run.
  // Retry count of the job after the run.
  int32_t retries = 0;
};

// Returns the run that begins with the restart at `first` of in.pending, whose targets are `targets`. The run is as
// long as it can be with the job ending in Restarting, so that observers see that phase; else it is that restart alone.
// `kill_targets` contains the UIDs of the pods that the kill of the first restart deletes, those of the kill before
// included; the UIDs of the other restarts are added.
RestartRun TakeTogether(const DecideInput& in, int first, Targets targets, std::set<std::string>& kill_targets);

// Describes all restarts of a run as one action, for Events and history: the first few subjects, and the number of the
// others.
storage::v1::PendingAction SummaryOf(const std::vector<const storage::v1::PendingAction*>& restarts);
// Returns a text like "kill of 12 pods for 10 events (PodEvicted 4, PodFailed 6)".
std::string OutcomeOf(const std::vector<const storage::v1::PendingAction*>& restarts, size_t pods);

}  // namespace basalt::jobsvc
