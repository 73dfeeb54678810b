#pragma once

// The rules of grouping, and what they make of objects that somebody asks about. Pure; from any thread.
#include "absl/status/statusor.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// Those that are configured first.
podgroup::v1::ListGroupingRulesResponse ListGroupingRules(const RuleOptions& options);

// As the proto says.
absl::StatusOr<podgroup::v1::TryGroupingResponse> TryGrouping(const podgroup::v1::TryGroupingRequest& request,
                                                              const RuleOptions& options);

}  // namespace basalt::pgsvc
