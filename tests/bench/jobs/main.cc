// jobs_bench measures the figures of the Job controller. scripts/bench jobs builds and calls the program.
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
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/parts.h"

ABSL_FLAG(bool, real, false, "on a real API server instead of kubesim");
ABSL_FLAG(bool, tls, false, "with mutual TLS on every gRPC port");
ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work, less patience: rough figures");
ABSL_FLAG(std::vector<std::string>, only, {}, "writes, restart, abort, cost, memory, ending, edits; empty: all");

namespace basalt::bench {
namespace {

JobBenchOptions Options() {
  JobBenchOptions options;
  options.bed.bin_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  options.bed.real = absl::GetFlag(FLAGS_real);
  options.bed.tls = absl::GetFlag(FLAGS_tls);
  if (options.bed.real) {
    // A real cluster runs some hundred pods a second.
    options.cost_pods = 3000;
    options.cost_laps = 1;
    options.memory_jobs = 10;
    // The goal's rate, and a rate that the server bears beside everything else on two cores.
    options.ending_rates = {100, 35};
    options.ending_time = absl::Seconds(10);
    options.bare = true;
  }
  if (absl::GetFlag(FLAGS_quick)) {
    options.bed.quiet = absl::Seconds(4);
    options.write_pods = {300};
    options.abort_pods = {100};
    options.finished_jobs = 100;
    options.cost_pods = 1000;
    options.cost_laps = 1;
    options.memory_jobs = 10;
    options.memory_pods_of_job = 100;
    options.ending_time = absl::Seconds(4);
    options.ending_warm = absl::Seconds(1);
    options.edits = 40;
  }
  return options;
}

std::vector<Part> Parts(const JobBenchOptions& options) {
  const auto part = [&options](std::string_view name, auto* measure) {
    return Part{name, [&options, measure](const Progress& progress) { return measure(options, progress); }};
  };
  return {part("writes", &MeasureWrites), part("restart", &MeasureRestart), part("abort", &MeasureAbort),
          part("cost", &MeasureCost),     part("memory", &MeasureMemory),   part("ending", &MeasureEnding),
          part("edits", &MeasureEdits)};
}

int Run() {
  const JobBenchOptions options = Options();
  return RunParts({.program = "jobs_bench",
                   .only = absl::GetFlag(FLAGS_only),
                   .json = absl::GetFlag(FLAGS_json),
                   .real = options.bed.real},
                  Parts(options));
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  absl::SetProgramUsageMessage("jobs_bench: the figures of the Job controller.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "jobs_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("jobs_bench", basalt::obs::Level::kError);
  return basalt::bench::Run();
}
