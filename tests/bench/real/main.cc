// real_bench measures the cost of the suite on a real Kubernetes, beside upstream's. scripts/bench real builds and
// calls the program.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "absl/flags/flag.h"
#include "common/base/status_macros.h"
#include "common/shell/signals.h"
#include "tests/bench/frame.h"
#include "tests/bench/real/real_figures.h"

ABSL_FLAG(std::vector<std::string>, only, {}, "small, thousand, large, bare; empty: all");

namespace basalt::bench {
namespace {

struct Task {
  const char* key;
  Work work;
  Kind kind;
  Upstream upstream;
};

// Upstream's restart was measured with 203 jobs and 6 003 pods.
constexpr Upstream kUpstreamRestart = {
    .cpu_seconds = 11, .peak_mebibytes = 144, .writes = 6206, .status_updates = 6206, .conflicts = 0, .pods = 6003};

std::vector<Task> Tasks(bool quick) {
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

Plan PlanOf(bool quick) {
  Plan plan{.parts = {}, .only = absl::GetFlag(FLAGS_only), .ignores_unknown = true};
  const auto rows = std::make_shared<std::vector<Row>>();
  for (const Task& task : Tasks(quick)) {
    const auto measure = [task, rows](const Progress& progress) -> absl::StatusOr<std::vector<Figure>> {
      progress(task.work.name);
      BASALT_ASSIGN_OR_RETURN(std::vector<Measured> measured, Measure(task.work, {.bin_dir = OwnDir(), .real = true}));
      for (size_t i = 0; i < measured.size(); ++i) {
        rows->push_back(
            {i == 0 ? task.kind : Kind::kRestart, i == 0 ? task.upstream : kUpstreamRestart, std::move(measured[i])});
      }
      return std::vector<Figure>();
    };
    plan.parts.push_back({task.key, measure});
  }
  plan.report = [rows](bool as_json) { return ReportOf(*rows, as_json); };
  return plan;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "real_bench",
                              .about = "what the suite costs on a real Kubernetes, beside upstream.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::shell::PrepareProcess});
}
