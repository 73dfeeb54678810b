#pragma once

// Declares the flags that every server of the suite has, and reads the command line of a program. One thread, before
// any other begins.
#include <string>
#include <string_view>

#include "absl/flags/declare.h"

ABSL_DECLARE_FLAG(std::string, listen);
ABSL_DECLARE_FLAG(std::string, advertise);
ABSL_DECLARE_FLAG(std::string, port_file);
ABSL_DECLARE_FLAG(std::string, metrics_listen);
ABSL_DECLARE_FLAG(std::string, metrics_port_file);
ABSL_DECLARE_FLAG(std::string, cluster);
ABSL_DECLARE_FLAG(std::string, replica);
ABSL_DECLARE_FLAG(std::string, log_level);

namespace basalt::shell {

// Reads the command line. `program` is "gateway", "jobsvc", "pgsvc" or "queuesvc". The process ends with exit code 1 if
// an argument names no flag, or a flag of another program of the same binary, and with 2 if an argument is no flag. In
// both cases standard error names the argument. A value that stands apart from its flag (--context NAME) must not begin
// with a dash. --help prints the flags of the program, and --version its release.
void ParseFlags(int argc, char** argv, const std::string& program, std::string_view about);

// Returns whether the program has the flags that the file defines. For ParseFlags and its test.
bool IsFlagOf(std::string_view file, std::string_view program);

}  // namespace basalt::shell
