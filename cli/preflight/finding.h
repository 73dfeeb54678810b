#pragma once

// One line of `basaltctl preflight`: the object that was checked, its state, and the advice to the user.
#include <string>
#include <vector>

namespace basalt::cli {

enum class Result { kOk, kWarning, kProblem, kUnchecked };

struct Finding {
  std::string check;  // "definition jobs.batch.volcano.sh"
  Result result = Result::kOk;
  std::string what;
  std::string cure;  // Empty if there is nothing to do.
};

using Findings = std::vector<Finding>;

}  // namespace basalt::cli
