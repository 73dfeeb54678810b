#pragma once

// Replicas of jobsvc that only read and acknowledge: the load of a gateway without what a replica does with it. In a
// process of their own.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::bench {

// What one process of readers has taken in since it was last asked.
struct ReaderStats {
  int64_t events = 0;  // States of pods.
  // From the making of an event to its end here, by the stamp in its resourceVersion.
  absl::Duration half, most_of, longest;  // Median, 99th percentile, maximum.
};

std::string ToLine(const ReaderStats& stats);
absl::StatusOr<ReaderStats> ReaderStatsFromLine(const std::string& line);

// The process: attaches a replica for each name, serves until its standard input ends, answers each line of it with a
// line of ReaderStats.
int RunReaders(const std::string& gateway, const std::vector<std::string>& names);

}  // namespace basalt::bench
