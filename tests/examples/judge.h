#pragma once

// Compares a job's status with the promise of its file. Pure.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "tests/examples/promise.h"

namespace basalt::examples {

// Returns one sentence for each broken promise. `job` is the job as Kubernetes holds it, or held it last.
std::vector<std::string> JudgeStatus(const Promise& promise, const json::value& job);

}  // namespace basalt::examples
