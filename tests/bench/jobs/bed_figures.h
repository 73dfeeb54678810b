#pragma once

// Figures that several benches take of a bed.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/report.h"

namespace basalt::bench {

// That part of the times, in milliseconds: "<what>: p99". Requires: there are some.
Figure PercentileOf(const std::string& what, const std::vector<absl::Duration>& times, double part);
// The figure has a goal: the part of the times is at most that.
void JudgeTime(const std::vector<absl::Duration>& times, double part, absl::Duration most, Figure& figure);

// What a restart of all of ours writes once the bed has come to rest; the goal is nothing. `what` stands in front of
// the figure's name.
absl::StatusOr<Figure> WritesOfRestart(Bed& bed, const std::string& what, bool with_disks);

}  // namespace basalt::bench
