#pragma once

// What is told of a watch that fails and is tried again, where readiness has no target of its own for it.
#include <string>

#include "absl/status/status.h"
#include "common/obs/metrics.h"

namespace basalt::gateway {

// `watch`: the label of the metric, "persistentvolumeclaims"; `reason`: Problem::state.
void CountWatchError(obs::Metrics& metrics, const std::string& watch, const std::string& reason);
// Counts it, and logs what is no problem of the connection: of that the gateway's own watches tell, once for all.
void ReportWatchError(obs::Metrics& metrics, const std::string& watch, const absl::Status& status);

}  // namespace basalt::gateway
