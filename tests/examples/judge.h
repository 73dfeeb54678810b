#pragma once

// Whether a job has become what its file promises, as far as its own status tells. Pure.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "tests/examples/promise.h"

namespace basalt::examples {

// Everything in which it has not, one sentence each. `job` as Kubernetes holds it, or held it last.
std::vector<std::string> JudgeStatus(const Promise& promise, const json::value& job);

}  // namespace basalt::examples
