#pragma once

// The kinds that have a rule of grouping of their own, and those that are looked through to the object below them
// (pod-grouper 4, 6). A new kind is a new row. Pure.
#include <span>
#include <string_view>

#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

std::span<const Rule> AllRules();

// The row for a group and kind. If rows differ by version, the one of the given version is chosen, else the newest
// below that, else the oldest. Without any row it is the default rule, whose kind is "*".
struct RuleChoice {
  const Rule* rule;
  bool is_of_version = true;  // The row was written for that version, as the default rule is for all.
};
RuleChoice RuleFor(std::string_view group, std::string_view version, std::string_view kind);

// A kind that is looked through: the rule of the object below decides.
struct LookThrough {
  std::string_view group;
  std::string_view version;  // The version that the row was written for; "*" for every version.
  std::string_view kind;
};
std::span<const LookThrough> AllLookThrough();
// Finds the row in whichever version; null if the kind is not looked through.
const LookThrough* LookThroughFor(std::string_view group, std::string_view kind);

}  // namespace basalt::pgsvc
