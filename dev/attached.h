#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace basalt::dev {

// Waits until the topology of the gateway at `address` shows all three services attached. The error tells what it
// showed last. Blocks; any thread but a loop's.
absl::Status WaitUntilAttached(const std::string& address, absl::Duration limit);

}  // namespace basalt::dev
