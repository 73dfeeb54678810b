#pragma once

// jobsvc as parts of a process: for its own binary and for basalt-dev.
#include <cstddef>

#include "common/kube/namespace_rules.h"
#include "common/shell/service_process.h"
#include "common/watch/watch_hub.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);
shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const JobControllerOptions& options, bool per_job_metrics,
                                  size_t max_watches = watch::WatchHub::kMaxWatches,
                                  const kube::NamespaceRules& namespaces = {});

}  // namespace basalt::jobsvc
