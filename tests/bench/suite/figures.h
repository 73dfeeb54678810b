#pragma once

// Measures the figures of the suite, each beside its limit.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/frame.h"

namespace basalt::bench {

struct FigureOptions {
  std::string binary;  // The path of suite_bench, for the process of jobsvc.
  int laps = 5;
  int rounds = 3;  // Rounds of the comparison of many small jobs with few large ones.
  int pods = 100'000;
  absl::Duration raw_time = absl::Seconds(2);
  std::vector<int> budgets = {10, 100, 1000};
};

// Measures the whole path of pod events beside the raw limits of its parts, and the memory per pod.
absl::StatusOr<std::vector<Figure>> MeasurePipeline(const FigureOptions& options, const Progress& progress);
// Measures CPU time by the size of jobs.
absl::StatusOr<std::vector<Figure>> MeasureJobSize(const FigureOptions& options, const Progress& progress);
// Counts the API writes of a job.
absl::StatusOr<std::vector<Figure>> MeasureBudgets(const FigureOptions& options, const Progress& progress);

}  // namespace basalt::bench
