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

// The object that creates the group. Of the group and of each subgroup either minMember or minSubGroup is set.
json::object KaiGroupOf(const Grouping& grouping);

// What is asked for and the object cannot say, for an Event: a level of a topology that nobody names (G55).
std::vector<std::string> KaiLossesOf(const Grouping& grouping);

// Whether that PodGroup of KAI's has subgroups.
bool HasSubGroups(ObjectView group);

}  // namespace basalt::pgsvc
