#pragma once

// The flags that every server of the suite has, and how a program reads its command line. One thread, before any other
// begins.
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

// Reads the command line. The process ends with exit code 1 where the program has no such flag (also where another
// program of the same binary has it), and with 2 where a word is no flag; both are told on standard error. --help
// prints the flags of the program, and --version its release. `program` is "gateway", "jobsvc", "pgsvc" or "queuesvc".
void ParseFlags(int argc, char** argv, const std::string& program, std::string_view about);

}  // namespace basalt::shell
