#pragma once

// The figures of queues, each with its goal. Each bench runs the real processes; scripts/bench queues calls them.
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/frame.h"
#include "tests/bench/jobs/bed.h"

namespace basalt::bench {

struct QueueBenchOptions {
  BedOptions bed;
  int queues = 1'000;
  int groups_of_queue = 100;
  int per_second = 1'000;  // Changes of phase per second.
  int changes = 30'000;    // Changes of phase, each of another pod group.
  int small = 100;         // Pod groups of the small queue of MeasureSize.
  int large = 100'000;     // Pod groups of the large queue of MeasureSize.
  int laps = 5;
  int changes_of_lap = 20'000;
  int size_per_second = 4'000;
  int children = 10'000;  // Queues below the queue that MeasureClose closes.
};

// Measures changes of phase at a steady pace, spread over many queues: the CPU time of each, memory, status writes, and
// the time until a status counts the change.
absl::StatusOr<std::vector<Figure>> MeasureLoad(const QueueBenchOptions& options, const Progress& progress);
// Measures the writes of a restart with as many queues and pod groups, with and without disks.
absl::StatusOr<std::vector<Figure>> MeasureQueueRestart(const QueueBenchOptions& options, const Progress& progress);
// Measures, in turn, the CPU time of a change of phase in a queue with few pod groups, in a queue with many of which as
// few change, and in the same queue where all change.
absl::StatusOr<std::vector<Figure>> MeasureSize(const QueueBenchOptions& options, const Progress& progress);
// Closes a queue with many queues below it by one Command, opens it by another, and measures time, writes and CPU time.
absl::StatusOr<std::vector<Figure>> MeasureClose(const QueueBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
