#pragma once

// How large messages of GatewayService.Write are.
#include <cstddef>

namespace basalt::rpc {

// Of one write: below what a server takes as a message (GrpcServerOptions).
inline constexpr size_t kMaxWriteBytes = 60 << 20;
// Several that are together larger go in several messages.
inline constexpr size_t kMaxBatchBytes = 4 << 20;

}  // namespace basalt::rpc
