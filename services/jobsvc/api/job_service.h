#pragma once

// The gRPC face of JobService.
#include <memory>

#include "common/exec/loop.h"
#include "common/rpc/grpc_service.h"
#include "services/jobsvc/api/job_api.h"

namespace basalt::jobsvc {

// Loop and API outlive the server that the service is given to.
std::unique_ptr<rpc::GrpcService> MakeJobService(Loop& loop, JobApi& api);

}  // namespace basalt::jobsvc
