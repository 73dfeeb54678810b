#pragma once

// One line of `basaltctl preflight`: what was looked at, how it is, and what to do about it.
#include <string>
#include <vector>

namespace basalt::cli {

enum class Result { kOk, kWarning, kProblem, kUnchecked };

struct Finding {
  std::string check;  // "definition jobs.batch.volcano.sh"
  Result result = Result::kOk;
  std::string what;
  std::string cure;  // Empty where there is nothing to do.
};

using Findings = std::vector<Finding>;

}  // namespace basalt::cli
