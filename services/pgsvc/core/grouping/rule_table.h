#pragma once

// The kinds that have a rule of grouping of their own, and those that are looked through to what stands below them
// (pod-grouper 4, 6). A new kind is a row. Pure.
#include <span>
#include <string_view>

#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

std::span<const Rule> AllRules();

// By group, version and kind; else the default rule, whose kind is "*".
const Rule& RuleFor(std::string_view group, std::string_view version, std::string_view kind);

// A kind of which the rule of the object below decides.
struct LookThrough {
  std::string_view group;
  std::string_view version;  // "*": every version.
  std::string_view kind;
};
std::span<const LookThrough> AllLookThrough();
bool IsLookedThrough(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace basalt::pgsvc
