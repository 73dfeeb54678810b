#pragma once

// The gateway's gRPC adapter: brings calls and streams to an rpc::GatewayHandler on its loop.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class CallGuard;

// The largest message that the server of a gateway has to take: members' writes that travel together.
inline constexpr int kMostWriteBatchBytes = 64 << 20;

// Loop and handler outlive the server that the service is given to. `limiter` and `guard` are those of the server: with
// TLS a replica attaches only by the name in its certificate. Null without TLS.
std::unique_ptr<GrpcService> MakeGatewayService(Loop& loop, GatewayHandler& handler,
                                                std::shared_ptr<InflightLimiter> limiter,
                                                std::shared_ptr<const CallGuard> guard = nullptr);

}  // namespace basalt::rpc
