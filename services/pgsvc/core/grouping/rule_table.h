#pragma once

// The kinds that have a rule of grouping of their own, and those that are looked through to what stands below them
// (pod-grouper 4, 6). A new kind is a row. Pure.
#include <span>
#include <string_view>

#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

std::span<const Rule> AllRules();

// By group and kind: of rows that differ by version the one of that version, else of the newest below it, else the
// oldest. Where there is no row it is the default rule, whose kind is "*".
struct RuleChoice {
  const Rule* rule;
  bool is_of_version = true;  // The row was written for that version, as the default rule is for all.
};
RuleChoice RuleFor(std::string_view group, std::string_view version, std::string_view kind);

// A kind of which the rule of the object below decides.
struct LookThrough {
  std::string_view group;
  std::string_view version;  // That the row was written for; "*": every version.
  std::string_view kind;
};
std::span<const LookThrough> AllLookThrough();
// Whatever the version; null: the kind is not looked through.
const LookThrough* LookThroughFor(std::string_view group, std::string_view kind);

}  // namespace basalt::pgsvc
