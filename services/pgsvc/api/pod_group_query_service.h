#pragma once

// PodGroupQueryService over gRPC for clients, and PodGroupPartService for the other replicas. Calls about another
// replica's slots are passed to it (common/rpc/grpc/forward/forward.h).
#include <memory>
#include <vector>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/members.h"
#include "services/pgsvc/api/pod_group_api.h"

namespace basalt::pgsvc {

// The loop outlives the server that serves the services, whose limiter `limiter` is. Workers and members live for as
// long as anything of the services or of their loop may use them. The controllers publish to `hub`. Destroying the
// services ends their calls to other replicas.
std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueryServices(
    Loop& loop, std::shared_ptr<rpc::InflightLimiter> limiter, std::unique_ptr<Workers> workers,
    std::unique_ptr<rpc::Members> members, std::shared_ptr<watch::WatchHub> hub, RuleOptions rules);

}  // namespace basalt::pgsvc
