#pragma once

// Replicas of jobsvc that only read and acknowledge, so that a gateway has its load but the replicas do no work. They
// run in a process of their own.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::bench {

// The events that one process of readers has received since its last stats.
struct ReaderStats {
  int64_t events = 0;  // States of pods.
  // Median, 99th percentile and maximum of the delays. A delay is the time from the making of an event, by the stamp in
  // its resourceVersion, to its arrival here.
  absl::Duration half, most_of, longest;
};

std::string ToLine(const ReaderStats& stats);
absl::StatusOr<ReaderStats> ReaderStatsFromLine(const std::string& line);

// The main function of the process. Attaches a replica for each name and serves until the standard input ends. Answers
// each line of the standard input with a line of ReaderStats.
int RunReaders(const std::string& gateway, const std::vector<std::string>& names);

}  // namespace basalt::bench
