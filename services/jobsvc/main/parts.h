#pragma once

// jobsvc as parts of a process: for its own binary and for basalt-dev.
#include "common/shell/service_process.h"

namespace basalt::jobsvc {

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);

}  // namespace basalt::jobsvc
