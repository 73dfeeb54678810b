#pragma once

// The rules of grouping, and their results for objects that a client sends. Pure; callable from any thread.
#include "absl/status/statusor.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// Lists the configured rules first.
podgroup::v1::ListGroupingRulesResponse ListGroupingRules(const RuleOptions& options);

// See the proto for the answer and its errors.
absl::StatusOr<podgroup::v1::TryGroupingResponse> TryGrouping(const podgroup::v1::TryGroupingRequest& request,
                                                              const RuleOptions& options);

}  // namespace basalt::pgsvc
