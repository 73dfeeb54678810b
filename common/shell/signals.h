#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace basalt::shell {

// First in every main: before any thread starts, so that all of them leave SIGTERM and SIGINT to WaitForEnd. What the
// process writes is its user's alone from then on, and its memory is dumped nowhere.
void PrepareProcess();

// Waits up to `at_most` for SIGTERM or SIGINT; true when one came.
bool WaitForEnd(absl::Duration at_most);
void WaitForEnd();  // For as long as it takes.

// Whole or not at all, so that whoever waits for the file never reads half of it.
absl::Status WriteFileWhole(const std::string& path, const std::string& text);

}  // namespace basalt::shell
