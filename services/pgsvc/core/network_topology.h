#pragma once

// The topology constraint that a pod's annotations request of Volcano (podgroup spec 6.6). Pure.
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::pgsvc {

// This annotation of a pod has the mode of its group's networkTopology, hard or soft.
inline constexpr std::string_view kTopologyModeKey = "volcano.sh/network-topology-mode";
// This annotation of a pod has the highestTierAllowed of its group's networkTopology.
inline constexpr std::string_view kTopologyTierKey = "volcano.sh/network-topology-highest-tier";

// Returns spec.networkTopology from the values of the two annotations; nullopt if the pod has neither. INVALID_ARGUMENT
// names the annotation of a negative tier, which the API server would refuse (W9).
absl::StatusOr<std::optional<json::object>> NetworkTopologyOf(std::optional<std::string_view> mode,
                                                              std::optional<std::string_view> tier);

}  // namespace basalt::pgsvc
