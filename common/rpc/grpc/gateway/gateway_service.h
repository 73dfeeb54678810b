#pragma once

// The gateway's gRPC face: brings calls and streams to a rpc::GatewayHandler on its loop.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class CallGuard;

// What the server of a gateway has to take as one message: members' writes that travel together.
inline constexpr int kMostWriteBatchBytes = 64 << 20;

// Loop and handler outlive the server that the service is given to. `guard` is that of the server: with TLS a
// replica attaches by the name in its certificate alone. Null: without TLS.
std::unique_ptr<GrpcService> MakeGatewayService(Loop& loop, GatewayHandler& handler,
                                                std::shared_ptr<const CallGuard> guard = nullptr);

}  // namespace basalt::rpc
