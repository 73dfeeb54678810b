#pragma once

// The JSON merge patch that turns one Job status into another (job spec 1.2, 1.6). Pure.
#include <cstdint>
#include <string>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

// {"status":{…}}: only what changed, explicit nulls for what is gone; a count of zero is gone. `observed` is what
// stands in Kubernetes. Empty when nothing differs. Times compare as Kubernetes keeps them, in whole seconds. Writers
// add uid and resourceVersion.
std::string JobStatusPatch(const kube::v1::JobStatus& observed, const kube::v1::JobStatus& wanted);

// At most one condition per phase, the newest last: an entry of the same phase moves to the end.
void AppendCondition(kube::v1::JobStatus& status, kube::v1::JobPhase phase, int64_t now_ms);

// status.runningDuration: the time from creation to the last transition, in Go's form.
std::string RunningDuration(int64_t creation_ms, int64_t last_transition_ms);

}  // namespace basalt::jobsvc
