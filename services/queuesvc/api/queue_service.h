#pragma once

// QueueService over gRPC for clients, and QueuePartService for the other replicas: only the owner of a queue's slot
// counts its pod groups, so a question about a queue goes to its owner, and a list is gathered from all of them
// (common/rpc/grpc/forward/forward.h).
#include <memory>
#include <vector>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/members.h"
#include "common/runtime/replica.h"
#include "common/watch/watch_hub.h"

namespace basalt::queuesvc {

// `replica` runs QueueControllers, which publish to `hub`; it and the loop outlive the server that the services are
// given to, the replica also the loop's last task.
std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueueServices(runtime::Replica& replica, Loop& loop,
                                                                 std::unique_ptr<rpc::Members> members,
                                                                 std::shared_ptr<watch::WatchHub> hub);

}  // namespace basalt::queuesvc
