#pragma once

// Explains to people, from the present state, why a pod of a namespace is in its group.
#include <cstdint>
#include <optional>
#include <string_view>

#include "services/pgsvc/control/explanation.h"
#include "services/pgsvc/control/namespaces/namespace_state.h"
#include "services/pgsvc/control/namespaces/pod_grouper.h"

namespace basalt::pgsvc {

// Returns nullopt if the namespace has no such pod.
std::optional<Explanation> ExplainPod(const PodGrouper& grouper, NamespaceState& space, std::string_view pod_name,
                                      absl::Time now);
// Counts the members of the group by phase. `least` is the number of pods that have to run for the group to run.
podgroup::v1::GroupMembers MembersOf(const GroupState& group, int64_t least);

}  // namespace basalt::pgsvc
