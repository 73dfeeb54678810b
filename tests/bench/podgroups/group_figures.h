#pragma once

// The figures of pod groups, each with its goal. All run the real processes; scripts/bench podgroups calls them.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/parts.h"
#include "tests/bench/report.h"

namespace basalt::bench {

struct GroupBenchOptions {
  BedOptions bed;
  std::vector<int> bare_pods = {2'000, 20'000};
  int per_second = 500;  // Pods that come, bare ones.
  int sets = 1'000;      // ReplicaSets,
  int pods_of_set = 20;
  int gangs = 200;  // LeaderWorkerSets, each one gang,
  int pods_of_gang = 8;
  int pods_of_large = 50'000;  // Of one ReplicaSet.
  int others = 100'000;        // Pods of other schedulers.
  int others_per_second = 2'000;
};

// Pods that nobody owns, of either scheduler: writes, conflicts, CPU beside a bare client that makes the same writes,
// the time from the pod to its link, memory, and the writes of a restart.
absl::StatusOr<std::vector<Figure>> MeasureBarePods(const GroupBenchOptions& options, const Progress& progress);
// Pods of ReplicaSets, of either scheduler: writes for each, conflicts, CPU, memory, and the writes of a restart.
absl::StatusOr<std::vector<Figure>> MeasureSets(const GroupBenchOptions& options, const Progress& progress);
// Pods of LeaderWorkerSets, which KAI's scheduler places: the same.
absl::StatusOr<std::vector<Figure>> MeasureGangs(const GroupBenchOptions& options, const Progress& progress);
// Pods of one large ReplicaSet, and of one with a tenth of them: the same, and how the CPU for each grows.
absl::StatusOr<std::vector<Figure>> MeasureLarge(const GroupBenchOptions& options, const Progress& progress);
// What pods of other schedulers cost.
absl::StatusOr<std::vector<Figure>> MeasureOthers(const GroupBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
