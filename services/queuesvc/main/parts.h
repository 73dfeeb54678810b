#pragma once

#include <cstddef>

#include "common/shell/service_process.h"
#include "common/watch/watch_hub.h"

namespace basalt::queuesvc {

// What makes a process the queue service. `metrics` outlives the process' replica.
shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);
shell::ServiceParts MakePartsWith(obs::Metrics& metrics, size_t max_watches);

}  // namespace basalt::queuesvc
