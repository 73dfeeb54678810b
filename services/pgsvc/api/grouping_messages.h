#pragma once

// What grouping finds, as clients are told of it. Pure.
#include "absl/status/statusor.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "services/pgsvc/core/grouping/group_pod.h"

namespace basalt::pgsvc {

// Everything but the pod's own name.
void Fill(const absl::StatusOr<PodGrouping>& found, podgroup::v1::TriedPod& pod);

// Sources and warnings.
void AddReasons(const Grouping& plan, podgroup::v1::TriedGroup& group);

}  // namespace basalt::pgsvc
