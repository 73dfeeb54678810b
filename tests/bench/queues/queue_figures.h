#pragma once

// The figures of queues, each with its goal. All run the real processes; scripts/bench queues calls them.
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/parts.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct QueueBenchOptions {
  BedOptions bed;
  int queues = 1'000;
  int groups_of_queue = 100;
  int per_second = 1'000;  // Changes of phase.
  int changes = 30'000;    // Each of another pod group.
  // Pod groups of one queue, and of another.
  int small = 100;
  int large = 100'000;
  int laps = 5;
  int changes_of_lap = 20'000;
  int size_per_second = 4'000;
  int children = 10'000;  // Queues below the one that is closed.
};

// Changes of phase that come steadily, spread over many queues: CPU for each, memory, status writes, and the time until
// a status counts the change.
absl::StatusOr<std::vector<Figure>> MeasureLoad(const QueueBenchOptions& options, const Progress& progress);
// Writes of a restart beside as many queues and pod groups, with and without disks.
absl::StatusOr<std::vector<Figure>> MeasureQueueRestart(const QueueBenchOptions& options, const Progress& progress);
// CPU of a change of phase in a queue with few pod groups, and in one with many of which as few change, or all: in
// turns.
absl::StatusOr<std::vector<Figure>> MeasureSize(const QueueBenchOptions& options, const Progress& progress);
// A queue with many below it is closed by one Command, and opened by another: time, writes, CPU.
absl::StatusOr<std::vector<Figure>> MeasureClose(const QueueBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
