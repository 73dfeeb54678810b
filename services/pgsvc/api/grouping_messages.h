#pragma once

// Puts the results of grouping into messages for clients. Pure.
#include "absl/status/statusor.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

// Sets everything but the pod's own name.
void Fill(const absl::StatusOr<PodGrouping>& found, podgroup::v1::TriedPod& pod);

// Adds sources and warnings.
void AddReasons(const Grouping& plan, podgroup::v1::TriedGroup& group);

}  // namespace basalt::pgsvc
