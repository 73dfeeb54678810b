#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace basalt::shell {

// Blocks SIGTERM and SIGINT for all threads but WaitForEnd. Every main calls this first, before any thread starts. From
// then on only the user of the process may access the files that the process makes, and no core dump has its memory.
void PrepareProcess();

// Waits up to `at_most` for SIGTERM or SIGINT. Returns true if a signal came.
bool WaitForEnd(absl::Duration at_most);
void WaitForEnd();  // Waits without a limit.

// Writes the file whole or not at all, so that a program that waits for the file never reads half of it.
absl::Status WriteFileWhole(const std::string& path, const std::string& text);

}  // namespace basalt::shell
