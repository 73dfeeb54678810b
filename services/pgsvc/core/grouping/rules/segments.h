#pragma once

// Segments: parts of a role's pods that communicate among themselves (pod-grouper 6.5, 6.7). Pure.
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

inline constexpr std::string_view kSegmentSizeAnnotation = "kai.scheduler/segment-size";

// Pods of one segment, by the annotation of the pod or else of the template; an empty annotation is none. nullopt: no
// segments. INVALID_ARGUMENT where it is no integer above 0 (G10). `where` names the template.
absl::StatusOr<std::optional<int32_t>> SegmentSizeOf(ObjectView pod, const json::value* pod_template,
                                                     std::string_view where);

// What holds for each segment: set only where both the topology and a level are named.
Topology SegmentTopologyOf(ObjectView pod, const json::value* pod_template, ObjectView owner);

// The label as an index; nullopt: the pod has none. INVALID_ARGUMENT where it is no integer, or negative.
absl::StatusOr<std::optional<int32_t>> IndexOf(ObjectView pod, std::string_view label);

}  // namespace basalt::pgsvc
