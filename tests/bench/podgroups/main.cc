// podgroups_bench measures the figures of pod groups. scripts/bench podgroups builds and calls the program.
#include "absl/flags/flag.h"
#include "common/shell/signals.h"
#include "tests/bench/frame.h"
#include "tests/bench/podgroups/group_figures.h"

ABSL_FLAG(bool, real, false, "on a real API server instead of kubesim");
ABSL_FLAG(std::vector<std::string>, only, {}, "bare, sets, gangs, large, others; empty: all");

namespace basalt::bench {
namespace {

Plan PlanOf(bool quick) {
  GroupBenchOptions options;
  options.bed.bin_dir = OwnDir();
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
  if (quick) {
    options.bed.quiet = absl::Seconds(3);
    options.bare_pods = {1'000};
    options.sets = 50;
    options.gangs = 20;
    options.pods_of_large = 5'000;
    options.others = 3'000;
  }
  return {.parts = {PartOf("bare", &MeasureBarePods, options), PartOf("sets", &MeasureSets, options),
                    PartOf("gangs", &MeasureGangs, options), PartOf("large", &MeasureLarge, options),
                    PartOf("others", &MeasureOthers, options)},
          .only = absl::GetFlag(FLAGS_only),
          .api_server = options.bed.real ? "real" : "kubesim"};
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "podgroups_bench",
                              .about = "the figures of pod groups.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::shell::PrepareProcess});
}
