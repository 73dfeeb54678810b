#pragma once

// What Kubernetes does to pods of jobs: it preempts them and evicts them, by the condition DisruptionTarget before they
// end; and nodes whose clocks are off by hours.
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
  // All outlive it, and it outlives every task in the suite's time.
  Evictions(uint64_t seed, SimSuite& suite, const std::vector<PlannedJob>& jobs, Probes& probes);

  // Whether the seed has any. What a run without them does is the same whether or not others have them.
  static bool AreIn(uint64_t seed);
  // How far the clocks of nodes are ahead there; none: all are right.
  static std::map<std::string, absl::Duration> ClocksIn(uint64_t seed);
  // What may become of the job there, and a policy that takes an eviction for a failure if its controller does.
  static void Expect(uint64_t seed, PlannedJob& job);

  // What is done, in times from now that lie before the end of the faults.
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
