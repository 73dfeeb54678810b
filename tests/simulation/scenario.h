#pragma once

// One seed: a random set of jobs, a random schedule of faults, then quiet, then judgement. Every invariant is judged on
// the embedded API server's log of requests and on what is stored, not on what the suite says of itself.
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
  bool shutdowns = true;  // Of processes, with faults: in the seeds that have any.
  int max_jobs = 4;
  bool tells_story = false;
};

struct Outcome {
  std::vector<std::string> violations;
  uint64_t trace = 0;
  absl::Duration simulated;
  uint64_t steps = 0;
  size_t requests = 0;
  Probes probes;
  std::vector<std::string> story;  // As story.h has it, with `tells_story`.
};

Outcome RunScenario(const ScenarioOptions& options);

}  // namespace basalt::simulation
