#pragma once

// The rules by which lists of the core kinds merge in strategic patches and in server-side applies. Constant tables,
// any thread.
#include <string>
#include <string_view>
#include <vector>

#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

struct MergeRule {
  ListType type = ListType::kAtomic;
  std::vector<std::string> keys;  // With kMap: the members that identify an item.
};

// Returns the rule of a strategic patch for the list `field` below a member named `parent` of an object of `kind`.
// Lists of pod templates follow the pod's rules. A strategic patch identifies items by one key only.
MergeRule StrategicRule(std::string_view kind, std::string_view parent, std::string_view field);

// Returns the rule of a server-side apply. It differs from the rule of a strategic patch: ports are identified by
// number and protocol, and some lists are atomic or sets.
MergeRule ApplyRule(std::string_view kind, std::string_view parent, std::string_view field);

}  // namespace basalt::kubesim
