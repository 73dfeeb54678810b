#pragma once

// Measures how evenly several replicas share the same load, and how many slots move when one joins.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct ShareOptions {
  std::string bin_dir;
  int jobs = 10'000;
  int queues = 400;
  std::vector<int> replicas = {1, 2, 3, 4};  // The others are compared with the first.
  // The suite is at rest after so long. Longer than every delay of a write.
  absl::Duration rest = absl::Seconds(4);
};

absl::StatusOr<std::vector<Figure>> MeasureShare(const ShareOptions& options, const Progress& progress);

}  // namespace basalt::bench
