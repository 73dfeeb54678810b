#pragma once

// For how long slots of jobsvc are without an owner: replicas that leave, join and are killed, gateways that are
// killed, all as processes and while jobs are made and run.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct MoveOptions {
  std::string bin_dir;
  int jobs = 2000;      // There already.
  int per_second = 50;  // That are made meanwhile.
  int rounds = 5;       // Of leaving and joining.
  int upgrades = 2;     // Each process ends and is started again, one after the other.
  int crashes = 3;
  int take_overs = 3;
  absl::Duration grace = absl::Seconds(5);
  absl::Duration lease_duration = absl::Seconds(5);
};

absl::StatusOr<std::vector<Figure>> MeasureMoves(const MoveOptions& options, const Progress& progress);

}  // namespace basalt::bench
