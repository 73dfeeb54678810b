// podgroups_bench measures the figures of pod groups. scripts/bench podgroups builds and calls the program.
// The exit code is 0 if everything could be measured, whether or not the goals are met, and 1 otherwise.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/obs/log.h"
#include "common/shell/signals.h"
#include "tests/bench/parts.h"
#include "tests/bench/podgroups/group_figures.h"

ABSL_FLAG(bool, real, false, "on a real API server instead of kubesim");
ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work, less patience: rough figures");
ABSL_FLAG(std::vector<std::string>, only, {}, "bare, sets, gangs, large, others; empty: all");

namespace basalt::bench {
namespace {

GroupBenchOptions Options() {
  GroupBenchOptions options;
  options.bed.bin_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  options.bed.real = absl::GetFlag(FLAGS_real);
  if (options.bed.real) {
    // A real server bears these rates beside everything else on two cores.
    options.bare_pods = {2'000};
    options.per_second = 100;
    options.sets = 100;
    options.pods_of_large = 2'000;
    options.others = 5'000;
    options.others_per_second = 200;
  }
  if (absl::GetFlag(FLAGS_quick)) {
    options.bed.quiet = absl::Seconds(3);
    options.bare_pods = {1'000};
    options.sets = 50;
    options.gangs = 20;
    options.pods_of_large = 5'000;
    options.others = 3'000;
  }
  return options;
}

std::vector<Part> Parts(const GroupBenchOptions& options) {
  const auto part = [&options](std::string_view name, auto* measure) {
    return Part{name, [&options, measure](const Progress& progress) { return measure(options, progress); }};
  };
  return {part("bare", &MeasureBarePods), part("sets", &MeasureSets), part("gangs", &MeasureGangs),
          part("large", &MeasureLarge), part("others", &MeasureOthers)};
}

int Run() {
  const GroupBenchOptions options = Options();
  return RunParts({.program = "podgroups_bench",
                   .only = absl::GetFlag(FLAGS_only),
                   .json = absl::GetFlag(FLAGS_json),
                   .real = options.bed.real},
                  Parts(options));
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  absl::SetProgramUsageMessage("podgroups_bench: the figures of pod groups.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "podgroups_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("podgroups_bench", basalt::obs::Level::kError);
  return basalt::bench::Run();
}
