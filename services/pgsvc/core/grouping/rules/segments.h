#pragma once

// Segments: parts of a role's pods that communicate among themselves (pod-grouper 6.5, 6.7). Pure.
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

// This annotation of a pod, or of a pod template, has the number of pods in each segment of the group.
inline constexpr std::string_view kSegmentSizeAnnotation = "kai.scheduler/segment-size";

// Returns the number of pods of one segment, by the annotation of the pod or else of the template; an empty annotation
// does not count. Nullopt if there are no segments. INVALID_ARGUMENT if the number is no integer above 0 (G10). `where`
// names the template.
absl::StatusOr<std::optional<int32_t>> SegmentSizeOf(ObjectView pod, const json::value* pod_template,
                                                     std::string_view where);

// Returns the topology of each segment; empty unless both the topology and a level are named.
Topology SegmentTopologyOf(ObjectView pod, const json::value* pod_template, ObjectView owner);

// Returns the label as an index; nullopt if the pod has none. INVALID_ARGUMENT if it is no integer, or negative.
absl::StatusOr<std::optional<int32_t>> IndexOf(ObjectView pod, std::string_view label);

}  // namespace basalt::pgsvc
