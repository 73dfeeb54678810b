#pragma once

// Measures the limits of the parts by themselves, on this machine at this moment. People read the figures of the suite
// beside these limits.
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::bench {

struct RawLimits {
  double decode = 0;      // Watch lines per second that one thread decodes with simdjson to the projected message.
  double make = 0;        // Watch lines per second that one thread of the source of events, part of our load, makes.
  double stream = 0;      // Messages per second of a gRPC stream in batches of 64, with both ends in this process.
  double store = 0;       // Puts per second to RocksDB in batches of 64 with values of 100 bytes, WAL not synced.
  double line_bytes = 0;  // Size of a watch line.
  double message_bytes = 0;
};

// Measures each part for `time`.
absl::StatusOr<RawLimits> MeasureRawLimits(absl::Duration time, const std::string& data_dir);

}  // namespace basalt::bench
