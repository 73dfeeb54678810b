#pragma once

// What a client is answered whose call led to a write. Pure functions, safe from any thread.
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/runtime/write_outcome.h"

namespace basalt::runtime {

// What the API server refused, by its code; UNKNOWN where it failed and may have done it.
absl::Status StatusOf(const gateway::v1::KubeError& error);
// OK, what the API server refused, UNAVAILABLE (nothing was written), or UNKNOWN (it may have been).
absl::Status StatusOf(const WriteOutcome& outcome);

}  // namespace basalt::runtime
