#pragma once

// Checks an orderly shutdown without any fault (docs/replicas.md, "What happens when").
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

// Shuts down one replica of each service that has several, and starts it again. Before any Lease or grace period could
// end, its slots must have other owners that have read all objects of the slots and have the replica's records. Appends
// a sentence for each shutdown that fails this. Requires: `suite` is quiet; `suite` is quiet again afterwards.
void ShutDownInQuiet(SimSuite& suite, uint64_t seed, std::vector<std::string>& violations, Probes& probes);

}  // namespace basalt::simulation
