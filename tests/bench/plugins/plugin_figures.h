#pragma once

// What the plugins of jobs cost: the CPU of making a job's pods, with each plugin and without any. In this process
// alone; keys of ssh are not made here, since jobsvc makes them once for a job and on a thread of their own.
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/parts.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct PluginBenchOptions {
  int workers = 99;  // Beside one master.
  int rounds = 200;  // Jobs in one lap.
  int laps = 5;
};

// A figure for each plugin, and one for a job without plugins. An error where a job cannot be made.
absl::StatusOr<std::vector<Figure>> MeasurePlugins(const PluginBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
