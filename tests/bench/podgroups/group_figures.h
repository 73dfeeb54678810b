#pragma once

// The figures of pod groups, each with its goal. Each bench runs the real processes; scripts/bench podgroups calls
// them.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/frame.h"
#include "tests/bench/jobs/bed.h"

namespace basalt::bench {

struct GroupBenchOptions {
  BedOptions bed;
  std::vector<int> bare_pods = {2'000, 20'000};
  int per_second = 500;  // Bare pods that are created per second.
  int sets = 1'000;      // ReplicaSets.
  int pods_of_set = 20;
  int gangs = 200;  // LeaderWorkerSets, each of which is one gang.
  int pods_of_gang = 8;
  int pods_of_large = 50'000;  // Pods of the large ReplicaSet.
  int others = 100'000;        // Pods of other schedulers.
  int others_per_second = 2'000;
};

// Measures pods without an owner, for either scheduler: writes, conflicts, CPU time beside a bare client that makes the
// same writes, the time from the pod to its link, memory, and the writes of a restart.
absl::StatusOr<std::vector<Figure>> MeasureBarePods(const GroupBenchOptions& options, const Progress& progress);
// Measures pods of ReplicaSets, for either scheduler: writes per pod, conflicts, CPU time, memory, and the writes of a
// restart.
absl::StatusOr<std::vector<Figure>> MeasureSets(const GroupBenchOptions& options, const Progress& progress);
// Measures the same for pods of LeaderWorkerSets, which KAI's scheduler places.
absl::StatusOr<std::vector<Figure>> MeasureGangs(const GroupBenchOptions& options, const Progress& progress);
// Measures the same for pods of one large ReplicaSet and of one with a tenth of the pods, and how the CPU time per pod
// grows.
absl::StatusOr<std::vector<Figure>> MeasureLarge(const GroupBenchOptions& options, const Progress& progress);
// Measures the cost of pods of other schedulers.
absl::StatusOr<std::vector<Figure>> MeasureOthers(const GroupBenchOptions& options, const Progress& progress);

}  // namespace basalt::bench
