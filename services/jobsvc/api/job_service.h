#pragma once

// The gRPC face of JobService for clients, and of JobPartService for the other replicas. A call about a job of another
// replica is forwarded to that replica (common/rpc/grpc/forward/forward.h).
#include <memory>
#include <vector>

#include "common/exec/loop.h"
#include "common/kube/namespace_rules.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/inflight_limiter.h"
#include "common/rpc/members.h"
#include "services/jobsvc/api/job_api.h"

namespace basalt::jobsvc {

// Workers, members and hub live for as long as any service, or any task on the services' loop, may use them.
struct JobServiceParts {
  std::unique_ptr<Workers> workers;
  std::unique_ptr<rpc::Members> members;
  std::shared_ptr<watch::WatchHub> hub;
  DefaultOptions defaults = {};
  kube::NamespaceRules namespaces = {};  // The namespaces into which jobs may be submitted.
};

// The loop outlives the server that the services are given to, whose limiter `limiter` is. Destroying the services ends
// their calls at other replicas.
std::vector<std::unique_ptr<rpc::GrpcService>> MakeJobServices(Loop& loop,
                                                               std::shared_ptr<rpc::InflightLimiter> limiter,
                                                               JobServiceParts parts);

}  // namespace basalt::jobsvc
