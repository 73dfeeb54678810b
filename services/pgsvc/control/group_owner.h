#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "common/base/status.h"
#include "common/rpc/members.h"

namespace basalt::pgsvc {

// Whether a call about the group is for `self`. UNAVAILABLE: it is another replica's by now, which the message names.
// Where nobody is known to own it, the worker that is asked says what is so.
inline absl::Status CheckGroupOwner(std::string_view group, const std::optional<gateway::v1::Member>& owner,
                                    const gateway::v1::Member& self) {
  if (!owner.has_value() || rpc::IsSame(*owner, self)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("pod group {} belongs to {} at {}, not to {}", group,
                                                                owner->replica(), owner->address(), self.replica()));
}

}  // namespace basalt::pgsvc
