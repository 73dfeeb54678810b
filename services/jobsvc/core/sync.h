#pragma once

// What a plain sync goes by: what the state machine concludes from the counts, and whether the job's status says
// already what is observed, so that most passes write nothing. Pure.
#include <cstdint>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// What follows from a status with these counts and numbers once the transition is made.
Outcome Conclude(const DecideInput& in, const Transition& transition, const kube::v1::PodCounts& counts,
                 int32_t status_min_available, int32_t retry_count);

// A refused job is made nothing for. What runs of it all the same was made by another controller or before an edit,
// and is carried to its end by its counts.
bool IsCarried(const DecideInput& in);

// The status says all that a write of nothing but numbers and words would say. `settled`: no pods are made in its
// phase.
bool IsReportedAlready(const DecideInput& in, bool settled, int32_t min_available);

// Carried to its end by another controller, whose last word leaves out what its kill retained: nothing of it is alive
// or named by a marker, and it is not worth a write.
bool WasFinishedByOther(const DecideInput& in);

// The job makes objects of plugins that its status does not name yet: they wait for the write that names them.
bool HasUnnamedObjects(const DecideInput& in);

// One that Kubernetes does not remember yet, of `in`; null: none.
const storage::v1::PendingAction* NewDeadline(const DecideInput& in);

}  // namespace basalt::jobsvc
