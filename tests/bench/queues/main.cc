// queues_bench measures the figures of queues. scripts/bench queues builds and calls the program.
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
#include "tests/bench/queues/queue_figures.h"

ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work, less patience: rough figures");
ABSL_FLAG(std::vector<std::string>, only, {}, "load, restart, size, close; empty: all");

namespace basalt::bench {
namespace {

QueueBenchOptions Options() {
  QueueBenchOptions options;
  options.bed.bin_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  options.bed.nodes = 1;
  options.bed.places_pods = false;
  options.bed.quiet = absl::Seconds(3);  // Longer than the second between two writes of a queue's counts.
  if (absl::GetFlag(FLAGS_quick)) {
    options.queues = 100;
    options.changes = 8'000;
    options.large = 10'000;
    options.laps = 1;
    options.children = 1'000;
  }
  return options;
}

std::vector<Part> Parts(const QueueBenchOptions& options) {
  const auto part = [&options](std::string_view name, auto* measure) {
    return Part{name, [&options, measure](const Progress& progress) { return measure(options, progress); }};
  };
  return {part("load", &MeasureLoad), part("restart", &MeasureQueueRestart), part("size", &MeasureSize),
          part("close", &MeasureClose)};
}

int Run() {
  const QueueBenchOptions options = Options();
  return RunParts({.program = "queues_bench", .only = absl::GetFlag(FLAGS_only), .json = absl::GetFlag(FLAGS_json)},
                  Parts(options));
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  absl::SetProgramUsageMessage("queues_bench: the figures of queues.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "queues_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("queues_bench", basalt::obs::Level::kError);
  return basalt::bench::Run();
}
