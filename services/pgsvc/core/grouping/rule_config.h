#pragma once

// Parses an administrator's configuration of grouping, a file of YAML or JSON (docs/pod-groups.md). Pure.
#include <string_view>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// An empty text configures nothing. INVALID_ARGUMENT names the field and the rule: a field that does not exist, is
// missing or has another type, a value that is no preemptibility, or a kind with two rules.
absl::StatusOr<RuleOptions> ParseRuleConfig(std::string_view text);

}  // namespace basalt::pgsvc
