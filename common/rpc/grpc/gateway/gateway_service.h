#pragma once

// The gateway's gRPC face: brings calls and streams to a rpc::GatewayHandler on its loop.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Loop and handler outlive the server that the service is given to.
std::unique_ptr<GrpcService> MakeGatewayService(Loop& loop, GatewayHandler& handler);

}  // namespace basalt::rpc
