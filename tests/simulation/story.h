#pragma once

// The story of one run for people, in simulated time: faults, facts, decisions and writes, a line each.
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

// What was planned, then what happened since `begin`: faults of hosts and the network, what users and the cluster did,
// the decisions that jobsvc's stores tell of, and every write of the suite with its owner and outcome. Leases, nodes
// and the assignment are left out. Requires: the suite is quiet.
std::vector<std::string> StoryOf(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time begin);

}  // namespace basalt::simulation
