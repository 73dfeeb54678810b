#pragma once

// The limits for requests, whatever carries them: one table for all messages that other processes send. A field that is
// not in the table has the limits of a name and of a list of slots, so that no field is without limits. Pure: any
// thread.
//
// The gRPC adapters check a request before a loop receives it, so that no caller waits for an oversized request.
#include <cstddef>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace basalt::rpc {

// Size of a whole request. Kubernetes takes 3 MiB at most, and names come on top.
inline constexpr size_t kMostRequestBytes = 4 << 20;

// INVALID_ARGUMENT names the first field that exceeds its limits, and the limit ("slots[3].slot: …").
absl::Status CheckRequest(const google::protobuf::Message& request);

}  // namespace basalt::rpc
