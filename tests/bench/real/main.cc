// real_bench measures the cost of the suite on a real Kubernetes, beside upstream's. scripts/bench real builds and
// calls the program. The exit code is 0 if everything could be measured, whether or not the goals are met, and 1
// otherwise.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/obs/log.h"
#include "common/shell/signals.h"
#include "tests/bench/real/verdict.h"
#include "tests/bench/real/work.h"

ABSL_FLAG(bool, json, false, "print JSON instead of a table");
ABSL_FLAG(bool, quick, false, "a tenth of the work: rough figures");
ABSL_FLAG(std::vector<std::string>, only, {}, "small, thousand, large, bare; empty: all");

namespace basalt::bench {
namespace {

struct Plan {
  const char* key;
  Work work;
  Kind kind;
  Upstream upstream;
};

// Upstream's restart was measured with 203 jobs and 6 003 pods.
constexpr Upstream kUpstreamRestart = {
    .cpu_seconds = 11, .peak_mebibytes = 144, .writes = 6206, .status_updates = 6206, .conflicts = 0, .pods = 6003};

std::vector<Plan> Plans(bool quick) {
  const int part = quick ? 10 : 1;
  return {
      {"small",
       {.name = fmt::format("{} jobs of 10 pods", 200 / part),
        .jobs = 200 / part,
        .pods_per_job = 10,
        .restarts = true},
       Kind::kSmallJobs,
       {.cpu_seconds = 9.7,
        .peak_mebibytes = 83,
        .writes = 8960,
        .status_updates = 6540,
        .conflicts = 20,
        .pods = 2000}},
      {"thousand",
       {.name = fmt::format("1 job of {} pods", 1000 / part), .jobs = 1, .pods_per_job = 1000 / part},
       Kind::kOneJob,
       {.cpu_seconds = 8.6,
        .peak_mebibytes = 186,
        .writes = 3584,
        .status_updates = 496,
        .conflicts = 2065,
        .pods = 1000}},
      {"large",
       {.name = fmt::format("1 job of {} pods", 3000 / part), .jobs = 1, .pods_per_job = 3000 / part},
       Kind::kOneJob,
       {.cpu_seconds = 31,
        .peak_mebibytes = 515,
        .writes = 8562,
        .status_updates = 2687,
        .conflicts = 2875,
        .pods = 3000}},
      {"bare",
       {.name = fmt::format("{} bare pods", 2000 / part), .bare_pods = 2000 / part},
       Kind::kBarePods,
       {.cpu_seconds = 9.6, .peak_mebibytes = 99, .writes = 4000, .status_updates = 0, .conflicts = 0, .pods = 2000}},
  };
}

int Run() {
  BedOptions options;
  options.bin_dir = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  options.real = true;
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  std::vector<Row> rows;
  for (const Plan& plan : Plans(absl::GetFlag(FLAGS_quick))) {
    if (!only.empty() && std::find(only.begin(), only.end(), plan.key) == only.end()) continue;
    fmt::print(stderr, "real_bench: {}\n", plan.work.name);
    absl::StatusOr<std::vector<Measured>> measured = Measure(plan.work, options);
    if (!measured.ok()) {
      fmt::print(stderr, "real_bench: {}\n", measured.status().ToString());
      return 1;
    }
    for (size_t i = 0; i < measured->size(); ++i) {
      rows.push_back(
          {i == 0 ? plan.kind : Kind::kRestart, i == 0 ? plan.upstream : kUpstreamRestart, std::move((*measured)[i])});
    }
  }
  fmt::print("{}\n", absl::GetFlag(FLAGS_json) ? ToText(RealJson(rows)) : RealTable(rows));
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  basalt::shell::PrepareProcess();
  absl::SetProgramUsageMessage("real_bench: what the suite costs on a real Kubernetes, beside upstream.");
  if (const std::vector<char*> rest = absl::ParseCommandLine(argc, argv); rest.size() > 1) {
    fmt::print(stderr, "real_bench: unexpected argument '{}'\n", rest[1]);
    return 2;
  }
  basalt::obs::SetUpLogging("real_bench", basalt::obs::Level::kError);
  return basalt::bench::Run();
}
