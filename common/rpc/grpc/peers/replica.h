#pragma once

// A replica's gRPC face for the other replicas of its service.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Loop and handler outlive the server that the service is given to.
std::unique_ptr<GrpcService> MakeReplicaService(Loop& loop, ReplicaHandler& handler);

}  // namespace basalt::rpc
