#pragma once

// Measures the time until a killed replica of jobsvc is ready again, with all pods of the cluster in its slots.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/cluster.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct RestartOptions {
  std::string bin_dir;  // The directory of jobsvc.
  ClusterShape shape;
  int runs = 5;
};

absl::StatusOr<std::vector<Figure>> MeasureRestart(const RestartOptions& options, const Progress& progress);

}  // namespace basalt::bench
