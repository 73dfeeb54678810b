#pragma once

// The gRPC face of JobService for clients, and of JobPartService for the other replicas. What lies with another replica
// is asked there (common/rpc/grpc/forward/forward.h).
#include <memory>
#include <vector>

#include "common/exec/loop.h"
#include "common/kube/namespace_rules.h"
#include "common/rpc/grpc/service.h"
#include "common/rpc/members.h"
#include "services/jobsvc/api/job_api.h"

namespace basalt::jobsvc {

// Workers, members and hub, for as long as anything of the services or of their loop may use them.
struct JobServiceParts {
  std::unique_ptr<Workers> workers;
  std::unique_ptr<rpc::Members> members;
  std::shared_ptr<watch::WatchHub> hub;
  DefaultOptions defaults = {};
  kube::NamespaceRules namespaces = {};  // Into which jobs are submitted.
};

// The loop outlives the server that the services are given to. Destroying them ends what is under way at other
// replicas.
std::vector<std::unique_ptr<rpc::GrpcService>> MakeJobServices(Loop& loop, JobServiceParts parts);

}  // namespace basalt::jobsvc
