#pragma once

#include <cstddef>

#include "common/shell/service_process.h"
#include "common/watch/watch_hub.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

// Returns the parts that make a process the queue service. `metrics` outlives the process' replica.
shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);
shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const QueueControllerOptions& options, size_t max_watches);

}  // namespace basalt::queuesvc
