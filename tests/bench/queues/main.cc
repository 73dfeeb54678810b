// queues_bench measures the figures of queues. scripts/bench queues builds and calls the program.
#include "absl/flags/flag.h"
#include "common/shell/signals.h"
#include "tests/bench/frame.h"
#include "tests/bench/queues/queue_figures.h"

ABSL_FLAG(std::vector<std::string>, only, {}, "load, restart, size, close; empty: all");

namespace basalt::bench {
namespace {

Plan PlanOf(bool quick) {
  QueueBenchOptions options;
  options.bed.bin_dir = OwnDir();
  options.bed.nodes = 1;
  options.bed.places_pods = false;
  options.bed.quiet = absl::Seconds(3);  // Longer than the second between two writes of a queue's counts.
  if (quick) {
    options.queues = 100;
    options.changes = 8'000;
    options.large = 10'000;
    options.laps = 1;
    options.children = 1'000;
  }
  return {.parts = {PartOf("load", &MeasureLoad, options), PartOf("restart", &MeasureQueueRestart, options),
                    PartOf("size", &MeasureSize, options), PartOf("close", &MeasureClose, options)},
          .only = absl::GetFlag(FLAGS_only)};
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "queues_bench",
                              .about = "the figures of queues.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::shell::PrepareProcess});
}
