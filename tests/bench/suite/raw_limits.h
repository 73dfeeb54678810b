#pragma once

// What the parts can do by themselves on this machine at this moment: the figures of the suite are read beside them.
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::bench {

struct RawLimits {
  double decode = 0;      // Watch lines per second: simdjson to the projected message, one thread.
  double make = 0;        // Watch lines per second that the source of events can make, one thread (part of our load).
  double stream = 0;      // Messages per second: gRPC stream, batches of 64, both ends in this process.
  double store = 0;       // Puts per second: RocksDB, batches of 64, values of 100 bytes, WAL not synced.
  double line_bytes = 0;  // Of a watch line.
  double message_bytes = 0;
};

// Each part is measured for `time`.
absl::StatusOr<RawLimits> MeasureRawLimits(absl::Duration time, const std::string& data_dir);

}  // namespace basalt::bench
