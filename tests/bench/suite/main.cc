// suite_bench measures the figures of the suite. scripts/bench builds and calls the program.
#include "absl/flags/flag.h"
#include "tests/bench/frame.h"
#include "tests/bench/suite/figures.h"
#include "tests/bench/suite/suite_run.h"

ABSL_FLAG(std::vector<std::string>, only, {}, "pipeline (with memory), job_size, writes; empty: all");
ABSL_FLAG(int, pods, 0, "pods of a run; 0: 100 000, with --quick 20 000");
ABSL_FLAG(int, laps, 0, "laps of the pipeline; 0: 7, with --quick 3");
ABSL_FLAG(std::string, role, "", "jobsvc: the other process of a run; started by suite_bench itself");
ABSL_FLAG(std::string, gateway, "", "with --role: address of the gateway");
ABSL_FLAG(std::string, data_dir, "", "with --role: folder of the store");

namespace basalt::bench {
namespace {

Plan PlanOf(bool quick) {
  FigureOptions options;
  options.binary = OwnPath();
  options.laps = 7;
  if (quick) {
    options.laps = 3;
    options.rounds = 1;
    options.pods = 20'000;
    options.raw_time = absl::Milliseconds(500);
  }
  if (absl::GetFlag(FLAGS_pods) > 0) options.pods = absl::GetFlag(FLAGS_pods);
  if (absl::GetFlag(FLAGS_laps) > 0) options.laps = absl::GetFlag(FLAGS_laps);
  return {.parts = {PartOf("pipeline", &MeasurePipeline, options), PartOf("job_size", &MeasureJobSize, options),
                    PartOf("writes", &MeasureBudgets, options)},
          .only = absl::GetFlag(FLAGS_only),
          .ignores_unknown = true,
          .api_server = "",
          .shows_load = true};
}

std::optional<int> Role() {
  if (absl::GetFlag(FLAGS_role) != "jobsvc") return std::nullopt;
  return RunJobsvc(absl::GetFlag(FLAGS_gateway), absl::GetFlag(FLAGS_data_dir));
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "suite_bench",
                              .about = "measures the suite beside the raw limits of its parts.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::bench::PrepareBench,
                              .role = &basalt::bench::Role});
}
