#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "common/base/status.h"
#include "common/rpc/members.h"

namespace basalt::pgsvc {

// Checks that a call about the group is for `self`. UNAVAILABLE if the group belongs to another replica now, which the
// message names. OK if no owner is known: the worker that gets the call knows whether its slot is ready.
inline absl::Status CheckGroupOwner(std::string_view group, const std::optional<gateway::v1::Member>& owner,
                                    const gateway::v1::Member& self) {
  if (!owner.has_value() || rpc::IsSame(*owner, self)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("pod group {} belongs to {} at {}, not to {}", group,
                                                                owner->replica(), owner->address(), self.replica()));
}

}  // namespace basalt::pgsvc
