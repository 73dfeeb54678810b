#pragma once

// A replica's gRPC adapter for the other replicas of its service.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

class CallGuard;

// Calls the handler on `loop`. Loop and handler outlive the server that the service is given to. `limiter` and `guard`
// are those of the server: with TLS a caller gets records only for itself and of its own service. Null without TLS.
std::unique_ptr<GrpcService> MakeReplicaService(Loop& loop, ReplicaHandler& handler,
                                                std::shared_ptr<InflightLimiter> limiter,
                                                std::shared_ptr<const CallGuard> guard = nullptr);

}  // namespace basalt::rpc
