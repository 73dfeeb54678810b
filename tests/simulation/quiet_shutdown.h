#pragma once

// An orderly shutdown where nothing else is wrong, and what must hold of it (docs/replicas.md, "What happens when").
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

// Shuts down one replica of each service that has several, and starts it again. Its slots have other owners that have
// read all that is in them, and these have its records, before any Lease or grace period could be over. Appends a
// sentence for each shutdown of which that is not so. `suite` is quiet, and is so again.
void ShutDownInQuiet(SimSuite& suite, uint64_t seed, std::vector<std::string>& violations, Probes& probes);

}  // namespace basalt::simulation
