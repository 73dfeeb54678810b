#pragma once

// A gateway in this process, as its binary runs it, that pod events from memory go through to replicas that only read:
// what further replicas cost it, and what one that reads nothing costs the others.
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/cluster.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct GatewayLoadOptions {
  std::string binary;  // Called with --role=readers.
  ClusterShape shape;
  int laps = 5;
  std::vector<int> replicas = {1, 3, 6};
  int bursts = 3;
  int paced_events = 20'000;  // One by one, to see what an event waits for when there is room.
};

using Progress = std::function<void(const std::string&)>;

absl::StatusOr<std::vector<Figure>> MeasureFanOut(const GatewayLoadOptions& options, const Progress& progress);
absl::StatusOr<std::vector<Figure>> MeasureBurst(const GatewayLoadOptions& options, const Progress& progress);

}  // namespace basalt::bench
