#pragma once

// The output of the findings. Pure.
#include <string>
#include <string_view>

#include "cli/preflight/finding.h"

namespace basalt::cli {

// Returns 1 if there is a problem, else 2 if something could not be checked, else 0.
int ExitCodeOf(const Findings& findings);

// Returns one line for each finding with its cure below it, and a last line that sums up. `format` is "json", "yaml",
// or empty for a table.
std::string FormatFindings(const Findings& findings, std::string_view format);

}  // namespace basalt::cli
