#include <fmt/format.h>

#include <map>
#include <utility>

#include "common/base/status_macros.h"
#include "tests/bench/queues/queue_figures.h"
#include "tests/bench/queues/queue_load.h"

namespace basalt::bench {
namespace {

constexpr double kMostGrowth = 1.2;

struct Side {
  std::string what;
  std::string queue;
  int changing = 0;  // The first so many pod groups of the queue change.
  int changed = 0;   // Changes so far.
  // CPU time per change in microseconds, one value for each lap, by program.
  std::map<std::string, std::vector<double>> cpu_us;
};

absl::StatusOr<Window> RunLap(const QueueBenchOptions& options, Bed& bed, Side& side) {
  BASALT_RETURN_IF_ERROR(bed.Begin());
  bed.SendSteadily(ChangePhases(side.queue, side.changing, side.changed, options.changes_of_lap),
                   options.size_per_second);
  BASALT_RETURN_IF_ERROR(bed.AwaitSent());
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(Window window, bed.End());
  side.changed += options.changes_of_lap;
  for (const char* const program : {"queuesvc", "gateway"}) {
    side.cpu_us[program].push_back(absl::ToDoubleMicroseconds(window.usage.at(program).cpu) / options.changes_of_lap);
  }
  return window;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureSize(const QueueBenchOptions& options, const Progress& progress) {
  progress(fmt::format("a queue of {} pod groups, and one of {}", Number(options.small), Number(options.large)));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  for (const auto& [queue, groups] : {std::pair("small", options.small), std::pair("large", options.large)}) {
    bed->Send({CreateQueue(queue, "root")});
    bed->Send(CreateGroups(queue, groups));
  }
  BASALT_RETURN_IF_ERROR(bed->AwaitSent());
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  // Memory that was not touched lately is slow in any case. Therefore the second side changes as few pod groups of the
  // large queue as the first side changes of the small one: the difference is the cost of the queue's size alone.
  std::vector<Side> sides = {
      {.what = fmt::format("queue of {}", Number(options.small)), .queue = "small", .changing = options.small},
      {.what = fmt::format("queue of {}, of them {}", Number(options.large), Number(options.small)),
       .queue = "large",
       .changing = options.small},
      {.what = fmt::format("queue of {}, all", Number(options.large)), .queue = "large", .changing = options.large}};
  std::string machine;
  for (int lap = 0; lap < options.laps; ++lap) {
    progress(fmt::format("lap {}: {} changes in each", lap + 1, Number(options.changes_of_lap)));
    for (Side& side : sides) {
      BASALT_ASSIGN_OR_RETURN(const Window window, RunLap(options, *bed, side));
      machine = window.Machine();
    }
  }
  std::vector<Figure> figures;
  for (const Side& side : sides) {
    for (const auto& [program, runs] : side.cpu_us) {
      figures.push_back(MedianOf(fmt::format("{}: CPU of {} for each change", side.what, program), runs, "us"));
    }
  }
  const std::vector<double>& small = sides.front().cpu_us["queuesvc"];
  for (size_t i = 1; i < sides.size(); ++i) {
    std::vector<double> ratios;
    for (int lap = 0; lap < options.laps; ++lap) ratios.push_back(sides[i].cpu_us["queuesvc"][lap] / small[lap]);
    figures.push_back(
        MedianOf(fmt::format("{}: CPU of queuesvc, to a queue of {}", sides[i].what, Number(options.small)),
                 std::move(ratios), ""));
  }
  Figure& growth = figures[figures.size() - 2];
  SetMost(kMostGrowth, growth);
  figures.back().notes = {std::move(machine)};
  return figures;
}

}  // namespace basalt::bench
