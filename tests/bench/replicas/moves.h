#pragma once

// Measures for how long slots of jobsvc are without an owner when replicas leave, join and are killed, and when
// gateways are killed. All run as processes, while jobs are made and run.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct MoveOptions {
  std::string bin_dir;
  int jobs = 2000;      // Jobs that exist at the begin.
  int per_second = 50;  // Jobs that are made per second meanwhile.
  int rounds = 5;       // Rounds of leaving and joining.
  int upgrades = 2;     // Upgrades, in which each process ends and starts again, one after the other.
  int crashes = 3;
  int take_overs = 3;
  absl::Duration grace = absl::Seconds(5);
  absl::Duration lease_duration = absl::Seconds(5);
};

absl::StatusOr<std::vector<Figure>> MeasureMoves(const MoveOptions& options, const Progress& progress);

}  // namespace basalt::bench
