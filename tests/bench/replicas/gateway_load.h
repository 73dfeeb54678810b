#pragma once

// Sends pod events from memory through a gateway in this process, set up as its binary does, to replicas that only
// read. Measures the cost of further replicas for the gateway, and the cost of a replica that reads nothing for the
// others.
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/cluster.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct GatewayLoadOptions {
  std::string binary;  // The program that is called with --role=readers.
  ClusterShape shape;
  int laps = 5;
  std::vector<int> replicas = {1, 3, 6};
  int bursts = 3;
  int paced_events = 20'000;  // Events at a low rate, to measure an event's delay when no queue is full.
};

using Progress = std::function<void(const std::string&)>;

absl::StatusOr<std::vector<Figure>> MeasureFanOut(const GatewayLoadOptions& options, const Progress& progress);
absl::StatusOr<std::vector<Figure>> MeasureBurst(const GatewayLoadOptions& options, const Progress& progress);

}  // namespace basalt::bench
