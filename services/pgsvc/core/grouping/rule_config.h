#pragma once

// What an administrator configures of grouping, as a file of YAML or JSON (docs/pod-groups.md). Pure.
#include <string_view>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// An empty text configures nothing. INVALID_ARGUMENT names the field and the rule: a field that does not exist, one
// that is missing or of another type, a preemptibility that is none, a kind that has two rules.
absl::StatusOr<RuleOptions> ParseRuleConfig(std::string_view text);

}  // namespace basalt::pgsvc
