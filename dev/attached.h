#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace basalt::dev {

// Waits until the topology that `gateways` (as --gateway says it) show has `replicas` of the services attached. The
// error tells what it showed last. Blocks; any thread but a loop's.
absl::Status WaitUntilAttached(const std::string& gateways, int replicas, absl::Duration limit);

}  // namespace basalt::dev
