#pragma once

// Figures that several benches measure on a bed.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/report.h"

namespace basalt::bench {

// Returns the percentile `part` of the times in milliseconds, named "<what>: p99". Requires: `times` is not empty.
Figure PercentileOf(const std::string& what, const std::vector<absl::Duration>& times, double part);
// Sets the figure's goal, that the percentile `part` of the times is at most `most`, and whether the goal is met.
void SetTimeGoal(const std::vector<absl::Duration>& times, double part, absl::Duration most, Figure& figure);

// Counts the writes of a restart of all our processes, after the bed has come to rest. The goal is none. The figure's
// name begins with `what`.
absl::StatusOr<Figure> WritesOfRestart(Bed& bed, const std::string& what, bool with_disks);

}  // namespace basalt::bench
