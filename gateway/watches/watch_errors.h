#pragma once

// Reports watches that fail and are tried again, if readiness has no target of its own for them.
#include <string>

#include "absl/status/status.h"
#include "common/obs/metrics.h"

namespace basalt::gateway {

// `watch` is the label of the metric, such as "persistentvolumeclaims". `reason` is Problem::state.
void CountWatchError(obs::Metrics& metrics, const std::string& watch, const std::string& reason);
// Counts the failure, and logs it unless it is one of the connection: the gateway's own watches report that, once for
// all.
void ReportWatchError(obs::Metrics& metrics, const std::string& watch, const absl::Status& status);

}  // namespace basalt::gateway
