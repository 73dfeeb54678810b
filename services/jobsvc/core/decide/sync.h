#pragma once

// The rules of a plain sync: what the state machine concludes from the counts, and whether the job's status already
// reports the observed state, so that most passes write nothing. Pure.
#include <cstdint>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// Returns the outcome of the transition for a status with these counts and numbers.
Outcome Conclude(const DecideInput& in, const Transition& transition, const kube::v1::PodCounts& counts,
                 int32_t status_min_available, int32_t retry_count);

// Returns whether a sync moves the job on by its counts. A refused job gets no pods. If pods of it run all the same,
// another controller made them, or they are from before an edit, and the job is carried to its end.
bool IsCarried(const DecideInput& in);

// Returns whether the status reports everything that a write of mere numbers and messages would. `stopped`: no pods are
// made in the phase of the job.
bool IsReportedAlready(const DecideInput& in, bool stopped, int32_t min_available);

// Returns whether another controller finished the job and left out of its last status the pods that its kill retained.
// No pod of the job is alive, no marker names an object of it, and the difference is not worth a write.
bool WasFinishedByOther(const DecideInput& in);

// Returns whether the job makes plugin objects that its status does not name yet. They wait for the write that names
// them.
bool HasUnnamedObjects(const DecideInput& in);

// Returns a deadline of `in` that the status does not hold yet. Null if there is none.
const storage::v1::PendingAction* NewDeadline(const DecideInput& in);

}  // namespace basalt::jobsvc
