#pragma once

// What a request may have in it, whatever carries the request: one table for all messages that others send. A field
// that is not in the table has the bounds of a name and of a list of slots, so that no field is without. Pure.
//
// The gRPC adapters ask before a loop sees the request: others wait for none that is too large.
#include <cstddef>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace basalt::rpc {

// Of a whole request. Kubernetes takes 3 MiB at most, and beside them there are names.
inline constexpr size_t kMostRequestBytes = 4 << 20;

// INVALID_ARGUMENT names the first field that is out of its bounds, with the bound ("slots[3].slot: …").
absl::Status CheckRequest(const google::protobuf::Message& request);

}  // namespace basalt::rpc
