#include "common/shell/process_flags.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "common/base/status.h"
#include "common/base/version.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:0", "address of the gRPC port; port 0: any free one");
ABSL_FLAG(std::string, advertise, "",
          "address at which the other processes reach the gRPC port; empty: the address at which it listens");
ABSL_FLAG(std::string, port_file, "", "the gRPC port is written to this file once it is served");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:0",
          "address of /metrics, /healthz, /readyz and /version; empty: none");
ABSL_FLAG(std::string, metrics_port_file, "", "the port of --metrics_listen is written to this file");
ABSL_FLAG(std::string, cluster, "default", "name of the cluster; peers of another one are refused");
ABSL_FLAG(std::string, replica, "",
          "stable name of this process, which no other of its kind may have: that of the pod; empty: the name in its "
          "certificate, without TLS the name of the program and -0");
ABSL_FLAG(std::string, log_level, "info", "level from which on messages are logged: debug, info, warning or error");

namespace basalt::shell {
namespace {

// The programs that have the flags of a file. Files are identified by the end of their name.
struct Home {
  std::string_view file;
  std::vector<std::string_view> programs;
};
const std::vector<Home>& Homes() {
  static const auto* const homes = new std::vector<Home>{
      {"gateway/main/program.cc", {"gateway"}},
      {"services/jobsvc/main/program.cc", {"jobsvc"}},
      {"services/pgsvc/main/program.cc", {"pgsvc"}},
      {"services/queuesvc/main/program.cc", {"queuesvc"}},
      {"common/shell/options.cc", {"jobsvc", "pgsvc", "queuesvc"}},
      {"common/shell/cluster_flags.cc", {"gateway", "jobsvc"}},
  };
  return *homes;
}

}  // namespace

bool IsFlagOf(std::string_view file, std::string_view program) {
  for (const Home& home : Homes()) {
    if (file.ends_with(home.file)) return absl::c_linear_search(home.programs, program);
  }
  return true;
}

void ParseFlags(int argc, char** argv, const std::string& program, std::string_view about) {
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [program](absl::string_view file) {
    return file.find("absl/") == absl::string_view::npos && IsFlagOf(ToStd(file), program);
  };
  config.version_string = [program] { return fmt::format("{} {}\n", program, VersionText()); };
  absl::SetFlagsUsageConfig(config);
  absl::SetProgramUsageMessage(fmt::format("{}: {}", program, about));
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (name == "--") break;
    if (!name.starts_with("-")) continue;
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    name = name.substr(0, name.find('='));
    const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(ToAbsl(name));
    if (flag == nullptr && name.starts_with("no")) flag = absl::FindCommandLineFlag(ToAbsl(name.substr(2)));
    if (flag == nullptr || IsFlagOf(flag->Filename(), program)) continue;
    fmt::print(stderr, "ERROR: Unknown command line flag '{}'\n", name);
    std::exit(1);
  }
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "{}: unexpected argument '{}'\n", program, rest[1]);
    std::exit(2);
  }
}

}  // namespace basalt::shell
