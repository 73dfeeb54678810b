#pragma once

// Measures the figures of the suite, each beside its limit.
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct FigureOptions {
  std::string binary;  // The path of suite_bench, for the process of jobsvc.
  int laps = 5;
  int rounds = 3;  // Rounds of the comparison of many small jobs with few large ones.
  int pods = 100'000;
  absl::Duration raw_time = absl::Seconds(2);
  std::vector<int> budgets = {10, 100, 1000};
};

// Selects the figures.
struct FigureChoice {
  bool pipeline = true;
  bool job_size = true;
  bool writes = true;
};

// Calls `progress` with a text at the begin of each step.
absl::StatusOr<std::vector<Figure>> MeasureFigures(const FigureOptions& options, const FigureChoice& choice,
                                                   const std::function<void(const std::string&)>& progress);

}  // namespace basalt::bench
