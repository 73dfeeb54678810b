#pragma once

// Runs the parts of a bench. A command line may select some of them.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/report.h"

namespace basalt::bench {

// Reports on standard error what the bench is doing.
using Progress = std::function<void(const std::string&)>;

struct Part {
  std::string_view name;
  std::function<absl::StatusOr<std::vector<Figure>>(const Progress&)> measure;
};

struct PartsOptions {
  std::string_view program;       // The bench's name in messages, as "jobs_bench".
  std::vector<std::string> only;  // Names of the parts to run. Empty if all parts run.
  bool json = false;              // Prints JSON instead of a table.
  bool real = false;              // The API server is a real one.
};

// Measures the parts, prints their figures and returns the exit code: 0 if everything could be measured, whether or not
// the goals are met; 1 if something could not be measured; 2 if `only` names an unknown part.
int RunParts(const PartsOptions& options, const std::vector<Part>& parts);

}  // namespace basalt::bench
