#pragma once

// One seed: a random set of jobs, a random schedule of faults, then quiet, then judgement. Every invariant is judged on
// the embedded API server's log of requests and on what is stored, not on what the suite says of itself.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

struct ScenarioOptions {
  uint64_t seed = 1;
  bool faults = true;
  int max_jobs = 4;
  bool print = false;  // Every request to the API server, to standard output.
};

struct Outcome {
  std::vector<std::string> violations;
  uint64_t trace = 0;
  absl::Duration simulated;
  uint64_t steps = 0;
  size_t requests = 0;
  int kills = 0;
  int lost_disks = 0;
  int lost_answers = 0;
};

Outcome RunScenario(const ScenarioOptions& options);

// A job of the scenario, as it was submitted.
struct PlannedJob {
  std::string name;
  std::string uid;
  std::string manifest;
  std::vector<std::string> pods;      // Every name that may ever be made.
  std::vector<std::string> plugins;
  bool succeeds = true;
  bool deleted = false;               // By the user, at some time.
};

// Appends a sentence for each invariant that does not hold. `suite` is quiet.
void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations);

}  // namespace basalt::simulation
