#pragma once

// QueueService over gRPC for clients, and QueuePartService for the other replicas. Only the owner of a queue's slot
// counts its pod groups: a call about a queue goes to its owner, and a list is gathered from all owners
// (common/rpc/grpc/forward/forward.h).
#include <memory>
#include <vector>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/members.h"
#include "common/runtime/replica.h"
#include "common/watch/watch_hub.h"

namespace basalt::queuesvc {

// `replica` runs QueueControllers, which publish to `hub`. `limiter` is that of the server. Replica and loop outlive
// the server that serves the services; the replica outlives the loop's last task, too.
std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueueServices(runtime::Replica& replica, Loop& loop,
                                                                 std::shared_ptr<rpc::InflightLimiter> limiter,
                                                                 std::unique_ptr<rpc::Members> members,
                                                                 std::shared_ptr<watch::WatchHub> hub);

}  // namespace basalt::queuesvc
