#pragma once

// Which actions a job is to carry out: what policies answer to events, and what commands ask for. Each waits in the
// job's record, or, where the policy has a timeout, among its deadlines, until a decision takes it up (core/decide.h).
// Free functions over one job; on the controller's loop.
#include <vector>

#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/events.h"

namespace basalt::jobsvc {

struct JobEntry;

// What is to be done because of the event; with due_ms where the policy has a timeout.
storage::v1::PendingAction ActionOf(const JobEvent& event, const PolicyMatch& match, const kube::v1::JobSpec& spec);

// Of the events of one pass: keeps what a policy answers with an action, and cancels what an event makes moot. Events
// that no policy answers have done their work in the counters of the pods.
void QueueActions(JobEntry& entry, std::vector<JobEvent> events);

// A write has carried these out, and is acknowledged. That a pod was removed whose failure it answers, and which was
// observed while it was under way, is the same death: it is not answered, too.
void DropAnsweredEnds(const std::vector<storage::v1::PendingAction>& done, JobEntry& entry);

// Commands are taken one at a time in the order of their resourceVersion; the next waits until the one before is gone.
void EnqueueNextCommand(JobEntry& entry);

}  // namespace basalt::jobsvc
