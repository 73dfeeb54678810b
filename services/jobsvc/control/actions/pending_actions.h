#pragma once

// The actions that a job is to carry out: answers of policies to events, and requests of Commands. Each waits in the
// job's record until a decision takes it up (core/decide/decide.h); if the policy has a timeout, the action first waits
// among the job's deadlines. Free functions over one job; they run on the controller's loop.
#include <vector>

#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/events/events.h"

namespace basalt::jobsvc {

struct JobEntry;

// Returns the action that the matched policy answers to the event. due_ms is set if the policy has a timeout.
storage::v1::PendingAction ActionOf(const JobEvent& event, const PolicyMatch& match, const kube::v1::JobSpec& spec);

// Takes the events of one pass: queues the action of each event that a policy answers, and cancels the deadlines that
// an event makes moot. An event that no policy answers has done its work in the counters of the pods.
void QueueActions(JobEntry& entry, std::vector<JobEvent> events);

// Call when the write that carries out `done` is acknowledged. Drops what answers the eviction of a pod whose failure
// `done` answers: a removal that was observed while the write was under way is the same death, and is not answered once
// more.
void DropAnsweredEnds(const std::vector<storage::v1::PendingAction>& done, JobEntry& entry);

// Queues the next Command. Commands are taken one at a time in the order of their resourceVersion; the next one waits
// until the one before is gone.
void EnqueueNextCommand(JobEntry& entry);

}  // namespace basalt::jobsvc
