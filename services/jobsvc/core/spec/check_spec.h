#pragma once

// Why a stored job cannot be carried out, as text for status.state. Applies the rules of job spec 2 in memory, for jobs
// that came past every webhook. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/decide/decide.h"

namespace basalt::jobsvc {

struct SpecCheck {
  StatusMessage refusal;  // Empty if nothing is wrong.
  StatusMessage warning;  // About input that is accepted but is hardly intended. Empty if there is no such input.
};

// `spec` is the effective spec of `job`.
SpecCheck CheckSpec(const kube::v1::Job& job, const kube::v1::JobSpec& spec);

// Returns whether every status so far was written for specs that were refused, and the job has begun nothing.
bool WasNeverAccepted(const kube::v1::JobStatus& status);

}  // namespace basalt::jobsvc
