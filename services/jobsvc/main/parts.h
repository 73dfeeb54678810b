#pragma once

// jobsvc as parts of a process: for its own binary and for basalt-dev.
#include "common/shell/service_process.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);
shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const JobControllerOptions& options, bool per_job_metrics);

}  // namespace basalt::jobsvc
