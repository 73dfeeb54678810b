// jobs_bench measures the figures of the Job controller. scripts/bench jobs builds and calls the program.
#include "absl/flags/flag.h"
#include "common/shell/signals.h"
#include "tests/bench/frame.h"
#include "tests/bench/jobs/job_figures.h"

ABSL_FLAG(bool, real, false, "on a real API server instead of kubesim");
ABSL_FLAG(bool, tls, false, "with mutual TLS on every gRPC port");
ABSL_FLAG(std::vector<std::string>, only, {}, "writes, restart, abort, cost, memory, ending, edits; empty: all");

namespace basalt::bench {
namespace {

Plan PlanOf(bool quick) {
  JobBenchOptions options;
  options.bed.bin_dir = OwnDir();
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
  if (quick) {
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
  return {.parts = {PartOf("writes", &MeasureWrites, options), PartOf("restart", &MeasureRestart, options),
                    PartOf("abort", &MeasureAbort, options), PartOf("cost", &MeasureCost, options),
                    PartOf("memory", &MeasureMemory, options), PartOf("ending", &MeasureEnding, options),
                    PartOf("edits", &MeasureEdits, options)},
          .only = absl::GetFlag(FLAGS_only),
          .api_server = options.bed.real ? "real" : "kubesim"};
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "jobs_bench",
                              .about = "the figures of the Job controller.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::shell::PrepareProcess});
}
