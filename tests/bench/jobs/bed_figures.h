#pragma once

// Figures that several benches measure on a bed.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/report.h"

namespace basalt::bench {

// Returns the percentile `part` of the times in milliseconds, named "<what>: p99". The goal is that it is at most
// `most`, if that is finite. Requires: `times` is not empty.
Figure PercentileOf(std::string_view what, const std::vector<absl::Duration>& times, double part,
                    absl::Duration most = absl::InfiniteDuration());

// Counts the writes of a restart of all our processes, after the bed has come to rest. The goal is none. The figure's
// name begins with `what`.
absl::StatusOr<Figure> WritesOfRestart(Bed& bed, const std::string& what, bool with_disks);

}  // namespace basalt::bench
