#pragma once

// Kubernetes evicts and preempts pods of jobs, and sets the condition DisruptionTarget before they end. Some nodes have
// clocks that are hours off.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

class Evictions {
 public:
  // The arguments outlive this object, which outlives every task in the suite's time.
  Evictions(uint64_t seed, SimSuite& suite, const std::vector<PlannedJob>& jobs, Probes& probes);

  // Returns true if the seed has evictions. They do not change the runs of the other seeds.
  static bool AreIn(uint64_t seed);
  // Returns by how much the clocks of nodes are ahead in that seed. Empty if all clocks are right.
  static std::map<std::string, absl::Duration> ClocksIn(uint64_t seed);
  // Adds the ends that evictions may cause to the job. Also adds a policy that acts if the job's controller takes an
  // eviction for a failure.
  static void Expect(uint64_t seed, PlannedJob& job);

  // Schedules the evictions. All begin before the end of the faults.
  void Begin();

 private:
  void Evict(const PlannedJob& job);
  void After(absl::Duration least, absl::Duration most, std::function<void()> then);

  SeededRandom random_;
  SimSuite& suite_;
  const std::vector<PlannedJob>& jobs_;
  Probes& probes_;
};

}  // namespace basalt::simulation
