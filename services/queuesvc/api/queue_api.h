#pragma once

// QueueService over gRPC: answers from the workers' controllers, merged and sorted.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc_service.h"
#include "common/runtime/replica.h"

namespace basalt::queuesvc {

// `replica` runs QueueControllers; it and the loop outlive the server that the service is given to. UNAVAILABLE until
// the replica has an assignment, and for a queue that belongs to another replica (the message names it).
std::unique_ptr<rpc::GrpcService> MakeQueueService(runtime::Replica& replica, Loop& loop);

}  // namespace basalt::queuesvc
