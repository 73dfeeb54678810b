// plugins_bench measures the cost of the plugins of jobs. scripts/bench plugins builds and calls the program.
// The exit code is 0 if everything could be measured, whether or not the goals are met, and 1 otherwise.
#include <fmt/format.h>

#include <cstdio>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "tests/bench/parts.h"
#include "tests/bench/plugins/plugin_figures.h"

ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work: rough figures");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("plugins_bench: what the plugins of jobs cost.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "plugins_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::bench::PluginBenchOptions options;
  if (absl::GetFlag(FLAGS_quick)) options.rounds /= 10;
  const auto measure = [&options](const basalt::bench::Progress& progress) {
    return basalt::bench::MeasurePlugins(options, progress);
  };
  return basalt::bench::RunParts({.program = "plugins_bench", .only = {}, .json = absl::GetFlag(FLAGS_json)},
                                 {{"pods", measure}});
}
