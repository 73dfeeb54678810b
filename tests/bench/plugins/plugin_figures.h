#pragma once

// Measures the cost of the plugins of jobs: the CPU time of making a job's pods in this process, with each plugin and
// without any. The keys of ssh are not measured, since jobsvc makes them once for a job and on a thread of their own.
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/frame.h"

namespace basalt::bench {

struct PluginBenchOptions {
  int workers = 99;  // The workers of a job, which also has one master.
  int rounds = 200;  // Jobs in one lap.
  int laps = 5;
};

// Returns a figure for each plugin and one for a job without plugins. Returns an error if a job's pods cannot be made.
absl::StatusOr<std::vector<Figure>> MeasurePlugins(const PluginBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
