#pragma once

// pgsvc's gRPC adapter for jobsvc.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Calls the handler on `loop`. Loop and handler outlive the server that the service is given to. `limiter` is that of
// the server.
std::unique_ptr<GrpcService> MakePodGroupService(Loop& loop, PodGroupHandler& handler,
                                                 std::shared_ptr<InflightLimiter> limiter);

}  // namespace basalt::rpc
