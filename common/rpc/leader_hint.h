#pragma once

// The leader's address in a refusal. A standby puts it into the status with which it refuses a stream; the gRPC server
// sends it as trailing metadata, and the client's next attempt goes there. Any thread.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "common/base/status.h"

namespace basalt::rpc {

inline constexpr char kLeaderKey[] = "basalt-leader";  // In the trailing metadata: host:port.

// Requires: the status is not OK.
inline absl::Status WithLeader(absl::Status status, std::string_view address) {
  status.SetPayload(kLeaderKey, absl::Cord(ToAbsl(address)));
  return status;
}

// Returns the leader's address. Empty if the status does not state one.
inline std::string LeaderOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kLeaderKey);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace basalt::rpc
