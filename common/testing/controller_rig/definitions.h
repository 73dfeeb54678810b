#pragma once

// Returns the suite's kinds as definitions without rules: the server stores every object as a user writes it. So a
// controller under test meets objects that the definitions of deploy/crds would have refused, as it would in a cluster
// with other definitions.
#include <vector>

#include "common/base/json.h"

namespace basalt::testing {

std::vector<json::value> OpenDefinitions();

}  // namespace basalt::testing
