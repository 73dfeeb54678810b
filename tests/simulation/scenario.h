#pragma once

// Runs one seed: a random set of jobs, a random schedule of faults, then a quiet time, then the checks. The checks of
// invariants use the embedded API server's log of requests and the stored objects, not the suite's own reports.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/planned_job.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

struct ScenarioOptions {
  uint64_t seed = 1;
  bool faults = true;
  bool shutdowns = true;  // In the seeds that have shutdowns, processes shut down. Only with `faults`.
  int max_jobs = 4;
  bool records_story = false;
};

struct Outcome {
  std::vector<std::string> violations;
  uint64_t trace = 0;
  absl::Duration simulated;
  uint64_t steps = 0;
  size_t requests = 0;
  Probes probes;
  std::vector<std::string> story;  // The result of StoryOf() if `records_story`. Otherwise empty.
};

Outcome RunScenario(const ScenarioOptions& options);

}  // namespace basalt::simulation
