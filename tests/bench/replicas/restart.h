#pragma once

// How long a replica of jobsvc that was killed takes until it is ready again, all pods of the cluster in its slots.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/cluster.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct RestartOptions {
  std::string bin_dir;  // Where jobsvc is.
  ClusterShape shape;
  int runs = 5;
};

absl::StatusOr<std::vector<Figure>> MeasureRestart(const RestartOptions& options, const Progress& progress);

}  // namespace basalt::bench
