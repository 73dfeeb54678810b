#include "tests/bench/suite/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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

Figure MedianOf(std::string name, std::vector<double> runs, std::string unit) {
  Figure figure;
  figure.name = std::move(name);
  figure.value = Median(runs);
  figure.unit = std::move(unit);
  figure.runs = std::move(runs);
  return figure;
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

class Measurement {
 public:
  Measurement(const FigureOptions& options, const std::function<void(const std::string&)>& progress)
      : options_(options), progress_(progress) {}

  absl::Status Pipeline() {
    progress_("raw limits");
    const testing::TempDir raw_dir;
    BASALT_ASSIGN_OR_RETURN(const RawLimits raw, MeasureRawLimits(options_.raw_time, raw_dir.path()));
    const ClusterShape shape = Shape(100);
    BASALT_ASSIGN_OR_RETURN(const SuiteResult run, Run(shape, options_.laps));

    Figure rate = MedianOf("pipeline: pod events, 1 replica",
                           Each(run.laps, [&](const Lap& lap) { return run.events / absl::ToDoubleSeconds(lap.wall); }),
                           "events/s");
    rate.goal = ">= 100 000";
    rate.met = rate.value >= kPipelineGoal;
    rate.notes = {fmt::format("{} jobs of {} pods, one event per pod and lap; {} status writes beside them", shape.jobs,
                              shape.pods_per_job, run.status_writes),
                  fmt::format("of the raw limits: {:.2f} of decode, {:.2f} of stream, {:.2f} of store",
                              rate.value / raw.decode, rate.value / raw.stream, rate.value / raw.store),
                  fmt::format("list of all pods to acknowledged: {}", absl::FormatDuration(run.snapshot)),
                  fmt::format("events in a batch of the stream: {:.0f}",
                              Median(Each(run.laps,
                                          [&](const Lap& lap) {
                                            return static_cast<double>(run.events) /
                                                   static_cast<double>(std::max<int64_t>(1, lap.batches));
                                          }))),
                  ThreadsNote("gateway with the source of events", run.laps, run.events, &Lap::gateway),
                  ThreadsNote("jobsvc", run.laps, run.events, &Lap::jobsvc)};
    if (!run.counts_agree) rate.notes.push_back("THE STATUS OF SOME JOBS DOES NOT AGREE WITH THEIR PODS");
    rate.met = rate.met && run.counts_agree;
    figures_.push_back(std::move(rate));
    Raw("  by CPU time alone, nothing else on the machine",
        CpuLimit(run.laps, run.events, std::max(1U, std::thread::hardware_concurrency())), "events/s");
    Raw(fmt::format("  raw: decode of {:.0f} B lines, 1 thread", raw.line_bytes), raw.decode, "events/s");
    Raw(fmt::format("  raw: gRPC stream of {:.0f} B, batches of 64", raw.message_bytes), raw.stream, "messages/s");
    Raw("  raw: RocksDB puts of 100 B, batches of 64", raw.store, "puts/s");
    Raw("  raw: the source that makes the events", raw.make, "events/s");

    Memory("memory per pod, gateway", run.gateway_growth, run.events);
    Memory("memory per pod, jobsvc", run.jobsvc_growth, run.events);
    return absl::OkStatus();
  }

  absl::Status JobSize() {
    // The first comparison has no status writes, since their number follows the number of jobs. The second has them.
    BASALT_RETURN_IF_ERROR(CompareSizes(false, options_.rounds));
    return CompareSizes(true, 1);
  }

  void Writes() {
    for (const int pods : options_.budgets) {
      progress_(fmt::format("writes of a job of {} pods", pods));
      const WriteBudget budget = CountWrites(pods);
      Figure figure;
      figure.name = fmt::format("API writes of a job, N = {}, P = {}", pods, budget.plugin_objects);
      figure.value = budget.writes;
      figure.unit = "writes";
      figure.goal = fmt::format("<= {}", budget.goal());
      figure.met = budget.completed && budget.writes <= budget.goal();
      std::string kinds;
      for (const auto& [kind, count] : budget.by_kind) {
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
      }
      figure.notes = {kinds,
                      fmt::format("pods begin within {}, end within {}; refused: {}; beside it: {} Events, {} "
                                  "status writes of the queue",
                                  absl::FormatDuration(budget.start_spread), absl::FormatDuration(budget.end_spread),
                                  budget.refused, budget.events, budget.queues)};
      if (!budget.completed) figure.notes.push_back("THE JOB DID NOT COMPLETE");
      figures_.push_back(std::move(figure));
    }
  }

  std::vector<Figure> Take() { return std::move(figures_); }

 private:
  absl::Status CompareSizes(bool phases, int rounds) {
    const int many = std::max(10, options_.pods / 10);
    std::vector<double> small;
    std::vector<double> large;
    std::vector<double> ratios;
    bool agree = true;
    // The two alternate, so that both run under the same load of the machine.
    for (int round = 0; round < rounds; ++round) {
      BASALT_ASSIGN_OR_RETURN(const SuiteResult of_small, Run(Shape(10), 2, phases));
      BASALT_ASSIGN_OR_RETURN(const SuiteResult of_large, Run(Shape(many), 2, phases));
      const auto time = [](const SuiteResult& run) {
        return Median(Each(run.laps, [&](const Lap& lap) { return MicrosPer(LoopTime(lap.jobsvc), run.events); }));
      };
      small.push_back(time(of_small));
      large.push_back(time(of_large));
      ratios.push_back(large.back() / small.back());
      agree = agree && of_small.counts_agree && of_large.counts_agree;
    }
    const std::string what = phases ? "CPU per event and its status writes" : "CPU per pod event, jobsvc's loops";
    figures_.push_back(MedianOf(fmt::format("{}, {} jobs of 10", what, options_.pods / 10), small, "us"));
    figures_.push_back(MedianOf(fmt::format("{}, 10 jobs of {}", what, many), large, "us"));
    Figure ratio = MedianOf(fmt::format("{}, large to small", what), ratios, "");
    ratio.goal = "<= 1.2";
    ratio.met = ratio.value <= kRatioGoal && agree;
    if (!agree) ratio.notes.push_back("THE STATUS OF SOME JOBS DOES NOT AGREE WITH THEIR PODS");
    figures_.push_back(std::move(ratio));
    return absl::OkStatus();
  }

  ClusterShape Shape(int pods_per_job) const { return {std::max(1, options_.pods / pods_per_job), pods_per_job}; }

  absl::StatusOr<SuiteResult> Run(const ClusterShape& shape, int laps, bool phases = true) {
    progress_(fmt::format("{} jobs of {} pods", shape.jobs, shape.pods_per_job));
    const testing::TempDir dir;
    SuiteRunOptions run;
    run.shape = shape;
    run.laps = laps;
    run.phases = phases;
    run.binary = options_.binary;
    run.data_dir = dir.path();
    return RunSuite(run);
  }

  void Raw(std::string name, double value, std::string unit) {
    Figure figure;
    figure.name = std::move(name);
    figure.value = value;
    figure.unit = std::move(unit);
    figures_.push_back(std::move(figure));
  }

  void Memory(std::string name, const ProcessStats& growth, int pods) {
    Figure figure;
    figure.name = std::move(name);
    figure.value = static_cast<double>(growth.allocated_bytes) / pods;
    figure.unit = "B";
    figure.goal = "<= 1 024";
    figure.met = figure.value <= kMemoryGoal;
    figure.notes = {fmt::format("{} pods and their jobs, as the allocator counts; resident: {} B per pod", Number(pods),
                                Number(static_cast<double>(growth.resident_bytes) / pods))};
    figures_.push_back(std::move(figure));
  }

  const FigureOptions options_;
  const std::function<void(const std::string&)>& progress_;
  std::vector<Figure> figures_;
};

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureFigures(const FigureOptions& options, const FigureChoice& choice,
                                                   const std::function<void(const std::string&)>& progress) {
  Measurement measurement(options, progress);
  if (choice.pipeline) BASALT_RETURN_IF_ERROR(measurement.Pipeline());
  if (choice.job_size) BASALT_RETURN_IF_ERROR(measurement.JobSize());
  if (choice.writes) measurement.Writes();
  return measurement.Take();
}

}  // namespace basalt::bench
