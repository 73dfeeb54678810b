#pragma once

// The parts of a bench, of which a command line may name some.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/report.h"

namespace basalt::bench {

// Says on standard error how far the bench is.
using Progress = std::function<void(const std::string&)>;

struct Part {
  std::string_view name;
  std::function<absl::StatusOr<std::vector<Figure>>(const Progress&)> measure;
};

struct PartsOptions {
  std::string_view program;       // "jobs_bench": names the bench in messages.
  std::vector<std::string> only;  // Names of parts; empty: all.
  bool json = false;              // Instead of a table.
  bool real = false;              // The API server is a real one.
};

// Measures the parts and prints their figures. The exit code: 0 when everything could be measured, whether or not the
// goals are met; 1 when something could not; 2 when `only` names no part.
int RunParts(const PartsOptions& options, const std::vector<Part>& parts);

}  // namespace basalt::bench
