#pragma once

// The figures that the suite is judged by, each measured and put beside what limits it.
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct FigureOptions {
  std::string binary;  // suite_bench, for the process of jobsvc.
  int laps = 5;
  int rounds = 3;  // Of the comparison of many small jobs with few large ones.
  int pods = 100'000;
  absl::Duration raw_time = absl::Seconds(2);
  std::vector<int> budgets = {10, 100, 1000};
};

// Which figures; all of them where nothing is named.
struct FigureChoice {
  bool pipeline = true;
  bool job_size = true;
  bool writes = true;
};

// `progress` is told what is being done.
absl::StatusOr<std::vector<Figure>> MeasureFigures(const FigureOptions& options, const FigureChoice& choice,
                                                   const std::function<void(const std::string&)>& progress);

}  // namespace basalt::bench
