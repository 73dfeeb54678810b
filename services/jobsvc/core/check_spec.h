#pragma once

// What keeps a stored job from being carried out, in words for status.state: the rules of job spec 2 in memory, for
// jobs that came past every webhook. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc {

// Empty: nothing is wrong. `spec` is the effective spec of `job`.
Words CheckSpec(const kube::v1::Job& job, const kube::v1::JobSpec& spec);

// Fields that this version does not carry out although the rest of the job runs.
Words UnsupportedFields(const kube::v1::JobSpec& spec);

}  // namespace basalt::jobsvc
