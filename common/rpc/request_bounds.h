#pragma once

// What a request may have in it, whatever carries the request: one table for all messages that others send. Pure.
#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}

namespace basalt::rpc {

// INVALID_ARGUMENT names the first field that is out of its bounds, with the bound ("slots[3].slot: …").
absl::Status CheckRequest(const google::protobuf::Message& request);

}  // namespace basalt::rpc
