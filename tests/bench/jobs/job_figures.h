#pragma once

// The figures of the Job controller, each with its goal. All run the real processes; scripts/bench jobs calls them.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/parts.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct JobBenchOptions {
  BedOptions bed;
  absl::Duration runs = absl::Seconds(4);  // Each pod: longer than all of a small job take to start.
  std::vector<int> write_pods = {10, 1000, 3000};
  std::vector<int> abort_pods = {10, 1000};
  int finished_jobs = 1000;
  // The same number of pods as many small jobs and as one.
  int cost_pods = 10'000;
  int cost_laps = 3;
  int memory_jobs = 100;
  int memory_pods_of_job = 1000;
  std::vector<int> ending_rates = {100};  // Jobs that end in a second.
  absl::Duration ending_time = absl::Seconds(20);
  absl::Duration ending_warm = absl::Seconds(3);  // Of it, the first: not counted.
  int edited_jobs = 20;
  int edits = 200;  // Of all of them, one after the other.
  int edits_per_second = 2;
  // The same by a client that decides nothing: what is the server's and the machine's share.
  bool bare = false;
};

// API writes of one job from its creation to rest after Completed, without and with plugin svc; creates answered 409;
// peak memory where upstream's is known, for comparison.
absl::StatusOr<std::vector<Figure>> MeasureWrites(const JobBenchOptions& options, const Progress& progress);
// API writes of a restart of all processes when every job has finished.
absl::StatusOr<std::vector<Figure>> MeasureRestart(const JobBenchOptions& options, const Progress& progress);
// API writes that abort a running job.
absl::StatusOr<std::vector<Figure>> MeasureAbort(const JobBenchOptions& options, const Progress& progress);
// CPU of all processes per pod, in small jobs and in a large one.
absl::StatusOr<std::vector<Figure>> MeasureCost(const JobBenchOptions& options, const Progress& progress);
// Peak memory of all processes while many pods run.
absl::StatusOr<std::vector<Figure>> MeasureMemory(const JobBenchOptions& options, const Progress& progress);
// From a job's last success to Completed, both as the API server stored them.
absl::StatusOr<std::vector<Figure>> MeasureEnding(const JobBenchOptions& options, const Progress& progress);
// From an edit of a job's replicas to its first effect on an idle server.
absl::StatusOr<std::vector<Figure>> MeasureEdits(const JobBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
