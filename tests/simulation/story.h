#pragma once

// The story of one run for people, in simulated time. Faults, facts, decisions and writes have a line each.
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

// Returns the plan, and then the events since `begin`: faults of hosts and the network, acts of users and of the
// cluster, the decisions in jobsvc's stores, and every write of the suite with its owner and outcome. Leases, nodes and
// the assignment are left out. Requires: the suite is quiet.
std::vector<std::string> StoryOf(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time begin);

}  // namespace basalt::simulation
