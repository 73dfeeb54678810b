#pragma once

// The PodGroup that a job wants (job spec 9.8). Comparison and JSON: common/kube/pod_group.h. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/resources/resources.h"

namespace basalt::jobsvc {

// `spec` is the effective spec; `min_resources` of job spec 9.10 (common/kube/min_resources.h). The queue is only used
// at creation.
kube::v1::PodGroupSpec WantedPodGroup(const kube::v1::JobSpec& spec, const kube::ResourceMap& min_resources);

}  // namespace basalt::jobsvc
