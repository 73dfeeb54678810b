#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace basalt::dev {

// Waits until the topology that `gateways` (written as for --gateway) return has `replicas` of the services attached.
// The error states how many replicas the last answer had attached, or the last failure. Blocks; any thread but a
// loop's.
absl::Status WaitUntilAttached(const std::string& gateways, int replicas, absl::Duration limit);

}  // namespace basalt::dev
