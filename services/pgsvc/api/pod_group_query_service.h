#pragma once

// The gRPC face of PodGroupQueryService for clients, and of PodGroupPartService for the other replicas. What lies with
// another replica is asked there (common/rpc/grpc/forward/forward.h).
#include <memory>
#include <vector>

#include "common/exec/loop.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/members.h"
#include "services/pgsvc/api/pod_group_api.h"

namespace basalt::pgsvc {

// The loop outlives the server that the services are given to. Workers and members live for as long as anything of the
// services or of their loop may use them; `hub` is what the controllers publish to. Destroying the services ends what
// is under way at other replicas.
std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueryServices(Loop& loop, std::unique_ptr<Workers> workers,
                                                                 std::unique_ptr<rpc::Members> members,
                                                                 std::shared_ptr<watch::WatchHub> hub,
                                                                 RuleOptions rules);

}  // namespace basalt::pgsvc
