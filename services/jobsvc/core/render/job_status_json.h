#pragma once

// The JSON merge patch that turns one Job status into another (job spec 1.2, 1.6). Pure.
#include <cstdint>
#include <string>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc {

// Returns {"status":{…}} with the changed members alone. A null removes a member, and a count of zero is removed.
// `observed` is the status in Kubernetes. Empty if nothing differs. Times are compared as Kubernetes keeps them, in
// whole seconds. The writer adds uid and resourceVersion.
std::string JobStatusPatch(const kube::v1::JobStatus& observed, const kube::v1::JobStatus& wanted);

// Keeps one condition per phase at most, the newest last: an entry of the same phase moves to the end.
void AppendCondition(kube::v1::JobStatus& status, kube::v1::JobPhase phase, int64_t now_ms);

// status.runningDuration: the time from creation to the last transition, in Go's form.
std::string RunningDuration(int64_t creation_ms, int64_t last_transition_ms);

}  // namespace basalt::jobsvc
