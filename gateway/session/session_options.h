#pragma once

// The limits of one stream.
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace basalt::gateway {

struct SessionOptions {
  size_t max_items = 128;
  size_t max_bytes = 256 << 10;  // A larger object goes alone.
  int64_t window = 16;
  // With this many batches unacknowledged, a batch that is not full waits for more items: until the replica
  // acknowledges, or for `gather` at most.
  int64_t eager = 2;
  absl::Duration gather = absl::Milliseconds(5);
  absl::Duration progress_interval = absl::Seconds(1);
};

}  // namespace basalt::gateway
