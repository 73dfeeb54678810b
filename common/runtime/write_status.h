#pragma once

// The status for a client whose call led to a write. Pure functions, any thread.
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/runtime/write_outcome.h"

namespace basalt::runtime {

// Converts an API server's refusal, by its code. UNKNOWN if the API server failed and may have done the write.
absl::Status StatusOf(const gateway::v1::KubeError& error);
// Returns OK, the API server's refusal, UNAVAILABLE (nothing was written), or UNKNOWN (it may have been written).
absl::Status StatusOf(const WriteOutcome& outcome);

}  // namespace basalt::runtime
