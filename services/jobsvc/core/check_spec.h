#pragma once

// What keeps a stored job from being carried out, in words for status.state: the rules of job spec 2 in memory, for
// jobs that came past every webhook. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/decide.h"

namespace basalt::jobsvc {

struct SpecCheck {
  StatusMessage refusal;  // Empty: nothing is wrong.
  StatusMessage warning;  // Of what is accepted and is hardly what was meant; empty: there is none.
};

// `spec` is the effective spec of `job`.
SpecCheck CheckSpec(const kube::v1::Job& job, const kube::v1::JobSpec& spec);

// What stands in the status was made of specs that were refused, and nothing has begun with it.
bool WasNeverAccepted(const kube::v1::JobStatus& status);

}  // namespace basalt::jobsvc
