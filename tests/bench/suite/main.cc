// suite_bench measures the figures of the suite. scripts/bench builds and calls the program.
//   suite_bench [--json] [--quick] [--only=pipeline,job_size,writes]
// The exit code is 0 if everything could be measured, whether or not the goals are met, and 1 otherwise.
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"
#include "common/obs/log.h"
#include "tests/bench/suite/figures.h"
#include "tests/bench/suite/suite_run.h"

ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "fewer pods and laps: minutes become seconds, figures become rough");
ABSL_FLAG(std::vector<std::string>, only, {}, "pipeline (with memory), job_size, writes; empty: all");
ABSL_FLAG(int, pods, 0, "pods of a run; 0: 100 000, with --quick 20 000");
ABSL_FLAG(int, laps, 0, "laps of the pipeline; 0: 7, with --quick 3");
ABSL_FLAG(std::string, role, "", "jobsvc: the other process of a run; started by suite_bench itself");
ABSL_FLAG(std::string, gateway, "", "with --role: address of the gateway");
ABSL_FLAG(std::string, data_dir, "", "with --role: folder of the store");

namespace basalt::bench {
namespace {

std::string Load() {
  std::ifstream file("/proc/loadavg");
  std::string one, five, fifteen;
  file >> one >> five >> fifteen;
  return fmt::format("{} {} {}", one, five, fifteen);
}

int Measure() {
  FigureOptions options;
  options.binary = std::filesystem::read_symlink("/proc/self/exe").string();
  options.laps = 7;
  if (absl::GetFlag(FLAGS_quick)) {
    options.laps = 3;
    options.rounds = 1;
    options.pods = 20'000;
    options.raw_time = absl::Milliseconds(500);
  }
  if (absl::GetFlag(FLAGS_pods) > 0) options.pods = absl::GetFlag(FLAGS_pods);
  if (absl::GetFlag(FLAGS_laps) > 0) options.laps = absl::GetFlag(FLAGS_laps);
  FigureChoice choice;
  if (const std::vector<std::string> only = absl::GetFlag(FLAGS_only); !only.empty()) {
    const auto has = [&](std::string_view name) { return std::find(only.begin(), only.end(), name) != only.end(); };
    choice = {.pipeline = has("pipeline"), .job_size = has("job_size"), .writes = has("writes")};
  }
  const std::string load_before = Load();
  const absl::StatusOr<std::vector<Figure>> figures =
      MeasureFigures(options, choice, [](const std::string& what) { fmt::print(stderr, "suite_bench: {}\n", what); });
  if (!figures.ok()) {
    fmt::print(stderr, "suite_bench: {}\n", figures.status().ToString());
    return 1;
  }
  const unsigned cores = std::thread::hardware_concurrency();
  if (absl::GetFlag(FLAGS_json)) {
    fmt::print(
        "{}\n",
        ToText(json::object{
            {"cores", cores}, {"load_before", load_before}, {"load_after", Load()}, {"figures", ToJson(*figures)}}));
  } else {
    fmt::print("{}{} cores; load before {}, after {} (1, 5, 15 min; this program adds about 2)\n", Table(*figures),
               cores, load_before, Load());
  }
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  absl::SetProgramUsageMessage("suite_bench: measures the suite beside the raw limits of its parts.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "suite_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (absl::GetFlag(FLAGS_role) == "jobsvc") {
    return basalt::bench::RunJobsvc(absl::GetFlag(FLAGS_gateway), absl::GetFlag(FLAGS_data_dir));
  }
  basalt::obs::SetUpLogging("suite_bench", basalt::obs::Level::kError);
  return basalt::bench::Measure();
}
