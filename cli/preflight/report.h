#pragma once

// How the findings are shown. Pure.
#include <string>
#include <string_view>

#include "cli/preflight/finding.h"

namespace basalt::cli {

// 0: nothing is in the way. 1: a problem. 2: no problem was seen, but something could not be checked.
int ExitCodeOf(const Findings& findings);

// One line for each, its cure below it, and a last line that sums up. `format`: "json", "yaml", or empty for a table.
std::string FormatFindings(const Findings& findings, std::string_view format);

}  // namespace basalt::cli
