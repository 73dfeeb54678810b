#pragma once

// A group as the KAI scheduler reads it: scheduling.run.ai/v2alpha2 PodGroup (pod-grouper 7, 9.1). Pure.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

inline constexpr std::string_view kKaiApiVersion = "scheduling.run.ai/v2alpha2";

// Returns the object that creates the group. The group and each subgroup have either minMember or minSubGroup.
json::object KaiGroupOf(const Grouping& grouping);

// Returns, for an Event, the requests that the object cannot express: a level of a topology that nothing names (G55).
std::vector<std::string> KaiLossesOf(const Grouping& grouping);

// Whether a PodGroup of KAI's has subgroups.
bool HasSubGroups(ObjectView group);

}  // namespace basalt::pgsvc
