#pragma once

// The figures of the Job controller, each with its goal. Each bench runs the real processes; scripts/bench jobs calls
// them.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/frame.h"
#include "tests/bench/jobs/bed.h"

namespace basalt::bench {

struct JobBenchOptions {
  BedOptions bed;
  // How long each pod runs. Longer than the time in which all pods of a small job start.
  absl::Duration runs = absl::Seconds(4);
  std::vector<int> write_pods = {10, 1000, 3000};
  std::vector<int> abort_pods = {10, 1000};
  int finished_jobs = 1000;
  // Runs once in many small jobs and once in one job.
  int cost_pods = 10'000;
  int cost_laps = 3;
  int memory_jobs = 100;
  int memory_pods_of_job = 1000;
  std::vector<int> ending_rates = {100};  // Jobs that end per second.
  absl::Duration ending_time = absl::Seconds(20);
  absl::Duration ending_warm = absl::Seconds(3);  // The first part of `ending_time`, which does not count.
  int edited_jobs = 20;
  int edits = 200;  // Edits of all jobs together, in turn.
  int edits_per_second = 2;
  // Also measures a client that decides nothing, to see the share of the server and the machine.
  bool bare = false;
};

// Measures the API writes of one job from its creation to rest after Completed, without and with plugin svc; the
// creates answered 409; and the peak memory where upstream's is known, for comparison.
absl::StatusOr<std::vector<Figure>> MeasureWrites(const JobBenchOptions& options, const Progress& progress);
// Measures the API writes of a restart of all processes when every job has finished.
absl::StatusOr<std::vector<Figure>> MeasureRestart(const JobBenchOptions& options, const Progress& progress);
// Measures the API writes that abort a running job.
absl::StatusOr<std::vector<Figure>> MeasureAbort(const JobBenchOptions& options, const Progress& progress);
// Measures the CPU time of all processes per pod, in small jobs and in a large one.
absl::StatusOr<std::vector<Figure>> MeasureCost(const JobBenchOptions& options, const Progress& progress);
// Measures the peak memory of all processes while many pods run.
absl::StatusOr<std::vector<Figure>> MeasureMemory(const JobBenchOptions& options, const Progress& progress);
// Measures the time from a job's last success to Completed, both as the API server stored them.
absl::StatusOr<std::vector<Figure>> MeasureEnding(const JobBenchOptions& options, const Progress& progress);
// Measures the time from an edit of a job's replicas to the edit's first effect on an idle server.
absl::StatusOr<std::vector<Figure>> MeasureEdits(const JobBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
