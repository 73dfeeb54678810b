#pragma once

// Groups pods by a Karta (pod-grouper 6.11). Pure.
#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/karta/karta.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// Returns the errors of a RuleFunction; each names the Karta.
absl::StatusOr<Grouping> GroupByKarta(const RuleInput& input, const Karta& karta);

}  // namespace basalt::pgsvc
