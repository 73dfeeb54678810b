#include "tests/bench/suite/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "common/base/status_macros.h"
#include "common/testing/temp_dir.h"
#include "tests/bench/suite/raw_limits.h"
#include "tests/bench/suite/suite_run.h"
#include "tests/bench/suite/write_budget.h"

namespace basalt::bench {
namespace {

constexpr double kPipelineGoal = 100'000;
constexpr double kRatioGoal = 1.2;
constexpr double kMemoryGoal = 1024;

double MicrosPer(absl::Duration time, int events) { return absl::ToDoubleMicroseconds(time) / events; }

template <typename F>
std::vector<double> Each(const std::vector<Lap>& laps, F value) {
  std::vector<double> values;
  for (const Lap& lap : laps) values.push_back(value(lap));
  return values;
}

// Returns the CPU time of the loop that does jobsvc's work. The stream and jobsvc's only worker share that loop.
absl::Duration LoopTime(const ProcessStats& jobsvc) { return jobsvc.Of("jobsvc"); }

std::string ThreadsNote(std::string_view process, const std::vector<Lap>& laps, int events,
                        const ProcessStats Lap::*of) {
  std::map<std::string, double> times;
  double cpu = 0;
  for (const Lap& lap : laps) {
    for (const auto& [name, time] : (lap.*of).threads) times[name] += MicrosPer(time, events);
    cpu += MicrosPer((lap.*of).cpu, events);
  }
  const auto n = static_cast<double>(laps.size());
  std::string note = fmt::format("{}: {:.2f} us of CPU per event:", process, cpu / n);
  for (const auto& [name, time] : times) {
    if (time / n >= 0.05) note += fmt::format(" {} {:.2f}", name, time / n);
  }
  return note;
}

// Returns the rate that the same work would reach if every thread had a core whenever it can run. The limit is the
// busiest thread or all cores together.
double CpuLimit(const std::vector<Lap>& laps, int events, unsigned cores) {
  std::vector<double> rates = Each(laps, [&](const Lap& lap) {
    double busiest = 0;
    for (const ProcessStats* process : {&lap.gateway, &lap.jobsvc}) {
      for (const auto& [name, time] : process->threads) busiest = std::max(busiest, MicrosPer(time, events));
    }
    const double total = MicrosPer(lap.gateway.cpu + lap.jobsvc.cpu, events);
    return 1e6 / std::max(busiest, total / cores);
  });
  return Median(std::move(rates));
}

ClusterShape Shape(const FigureOptions& options, int pods_per_job) {
  return {std::max(1, options.pods / pods_per_job), pods_per_job};
}

absl::StatusOr<SuiteResult> Run(const FigureOptions& options, const Progress& progress, const ClusterShape& shape,
                                int laps, bool phases = true) {
  progress(fmt::format("{} jobs of {} pods", shape.jobs, shape.pods_per_job));
  const testing::TempDir dir;
  return RunSuite({.shape = shape, .laps = laps, .phases = phases, .binary = options.binary, .data_dir = dir.path()});
}

Figure Memory(std::string_view process, const ProcessStats& growth, int pods) {
  Figure figure{.name = fmt::format("memory per pod, {}", process),
                .value = static_cast<double>(growth.allocated_bytes) / pods,
                .unit = "B"};
  SetMost(kMemoryGoal, figure, Number(kMemoryGoal));
  figure.notes = {fmt::format("{} pods and their jobs, as the allocator counts; resident: {} B per pod", Number(pods),
                              Number(static_cast<double>(growth.resident_bytes) / pods))};
  return figure;
}

// Requires that each job's status agrees with its pods.
void SetAgrees(bool agrees, Figure& figure) {
  figure.met = figure.met && agrees;
  if (!agrees) figure.notes.push_back("THE STATUS OF SOME JOBS DOES NOT AGREE WITH THEIR PODS");
}

absl::Status CompareSizes(const FigureOptions& options, const Progress& progress, bool phases, int rounds,
                          std::vector<Figure>& figures) {
  const int many = std::max(10, options.pods / 10);
  std::vector<double> small, large, ratios;
  bool agree = true;
  // The two alternate, so that both run under the same load of the machine.
  for (int round = 0; round < rounds; ++round) {
    BASALT_ASSIGN_OR_RETURN(const SuiteResult of_small, Run(options, progress, Shape(options, 10), 2, phases));
    BASALT_ASSIGN_OR_RETURN(const SuiteResult of_large, Run(options, progress, Shape(options, many), 2, phases));
    const auto time = [](const SuiteResult& run) {
      return Median(Each(run.laps, [&](const Lap& lap) { return MicrosPer(LoopTime(lap.jobsvc), run.events); }));
    };
    small.push_back(time(of_small));
    large.push_back(time(of_large));
    ratios.push_back(large.back() / small.back());
    agree = agree && of_small.counts_agree && of_large.counts_agree;
  }
  const std::string what = phases ? "CPU per event and its status writes" : "CPU per pod event, jobsvc's loops";
  figures.push_back(MedianOf(fmt::format("{}, {} jobs of 10", what, options.pods / 10), small, "us"));
  figures.push_back(MedianOf(fmt::format("{}, 10 jobs of {}", what, many), large, "us"));
  Figure& ratio = figures.emplace_back(MedianOf(fmt::format("{}, large to small", what), ratios, ""));
  SetMost(kRatioGoal, ratio);
  SetAgrees(agree, ratio);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasurePipeline(const FigureOptions& options, const Progress& progress) {
  progress("raw limits");
  const testing::TempDir raw_dir;
  BASALT_ASSIGN_OR_RETURN(const RawLimits raw, MeasureRawLimits(options.raw_time, raw_dir.path()));
  const ClusterShape shape = Shape(options, 100);
  BASALT_ASSIGN_OR_RETURN(const SuiteResult run, Run(options, progress, shape, options.laps));
  const auto rate_of = [&](const Lap& lap) { return run.events / absl::ToDoubleSeconds(lap.wall); };
  const auto batch_of = [&](const Lap& lap) {
    return static_cast<double>(run.events) / static_cast<double>(std::max<int64_t>(1, lap.batches));
  };

  Figure rate = MedianOf("pipeline: pod events, 1 replica", Each(run.laps, rate_of), "events/s");
  rate.goal = ">= 100 000";
  rate.met = rate.value >= kPipelineGoal;
  rate.notes = {fmt::format("{} jobs of {} pods, one event per pod and lap; {} status writes beside them", shape.jobs,
                            shape.pods_per_job, run.status_writes),
                fmt::format("of the raw limits: {:.2f} of decode, {:.2f} of stream, {:.2f} of store",
                            rate.value / raw.decode, rate.value / raw.stream, rate.value / raw.store),
                fmt::format("list of all pods to acknowledged: {}", absl::FormatDuration(run.snapshot)),
                fmt::format("events in a batch of the stream: {:.0f}", Median(Each(run.laps, batch_of))),
                ThreadsNote("gateway with the source of events", run.laps, run.events, &Lap::gateway),
                ThreadsNote("jobsvc", run.laps, run.events, &Lap::jobsvc)};
  SetAgrees(run.counts_agree, rate);
  return std::vector<Figure>{
      std::move(rate),
      {.name = "  by CPU time alone, nothing else on the machine",
       .value = CpuLimit(run.laps, run.events, std::max(1U, std::thread::hardware_concurrency())),
       .unit = "events/s"},
      {.name = fmt::format("  raw: decode of {:.0f} B lines, 1 thread", raw.line_bytes),
       .value = raw.decode,
       .unit = "events/s"},
      {.name = fmt::format("  raw: gRPC stream of {:.0f} B, batches of 64", raw.message_bytes),
       .value = raw.stream,
       .unit = "messages/s"},
      {.name = "  raw: RocksDB puts of 100 B, batches of 64", .value = raw.store, .unit = "puts/s"},
      {.name = "  raw: the source that makes the events", .value = raw.make, .unit = "events/s"},
      Memory("gateway", run.gateway_growth, run.events),
      Memory("jobsvc", run.jobsvc_growth, run.events)};
}

absl::StatusOr<std::vector<Figure>> MeasureJobSize(const FigureOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  // The first comparison has no status writes, since their number follows the number of jobs. The second has them.
  BASALT_RETURN_IF_ERROR(CompareSizes(options, progress, false, options.rounds, figures));
  BASALT_RETURN_IF_ERROR(CompareSizes(options, progress, true, 1, figures));
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureBudgets(const FigureOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  for (const int pods : options.budgets) {
    progress(fmt::format("writes of a job of {} pods", pods));
    const WriteBudget budget = CountWrites(pods);
    Figure& figure = figures.emplace_back();
    figure.name = fmt::format("API writes of a job, N = {}, P = {}", pods, WriteBudget::kPluginObjects);
    figure.value = budget.writes();
    figure.unit = "writes";
    SetMost(budget.goal(), figure);
    figure.met = figure.met && budget.completed;
    figure.notes = {
        KindsOf(budget.tally),
        fmt::format("pods begin within {}, end within {}; refused: {}; beside it: {} Events, {} "
                    "status writes of the queue",
                    absl::FormatDuration(budget.starts.length()), absl::FormatDuration(budget.ends.length()),
                    budget.tally.refused, budget.tally.events, budget.tally.queues)};
    if (!budget.completed) figure.notes.push_back("THE JOB DID NOT COMPLETE");
  }
  return figures;
}

}  // namespace basalt::bench
