// plugins_bench measures the cost of the plugins of jobs. scripts/bench plugins builds and calls the program.
#include "tests/bench/frame.h"
#include "tests/bench/plugins/plugin_figures.h"

namespace basalt::bench {
namespace {

Plan PlanOf(bool quick) {
  PluginBenchOptions options;
  if (quick) options.rounds /= 10;
  return {.parts = {PartOf("pods", &MeasurePlugins, options)}, .only = {}};
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  return basalt::bench::Main(argc, argv,
                             {.name = "plugins_bench",
                              .about = "what the plugins of jobs cost.",
                              .plan = &basalt::bench::PlanOf,
                              .prepare = &basalt::bench::PrepareBench});
}
