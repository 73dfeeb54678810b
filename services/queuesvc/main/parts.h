#pragma once

#include "common/shell/service_process.h"

namespace basalt::queuesvc {

// What makes a process the queue service. `metrics` outlives the process' replica.
shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);

}  // namespace basalt::queuesvc
