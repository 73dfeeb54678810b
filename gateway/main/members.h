#pragma once

// The value of --members: how many replicas of each service share its slots from the beginning. Pure.
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::gateway {

// A service that is not named is not in the map: no number of its replicas is waited for.
using MemberCounts = std::map<v1::ServiceKind, int>;

// Each of `values` is SERVICE=COUNT: jobsvc, pgsvc or queuesvc, once each, with 1 to 1024 replicas (more than there are
// slots would have nothing to do). INVALID_ARGUMENT names flag, value and rule.
absl::StatusOr<MemberCounts> ParseMembers(const std::vector<std::string>& values);

}  // namespace basalt::gateway
