#pragma once

// The suite's kinds as definitions without rules: whatever a user writes is stored as it is. So a controller under test
// meets what the definitions of deploy/crds would have refused, as it does beside those of somebody else.
#include <vector>

#include "common/base/json.h"

namespace basalt::testing {

std::vector<json::value> OpenDefinitions();

}  // namespace basalt::testing
