// Measures CPU time and memory.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr std::string_view kJobs = "work";
constexpr int kPodsOfSmall = 10;
constexpr double kMostMilliseconds = 0.5;
constexpr double kMostRatio = 1.2;
constexpr double kMebibyte = 1 << 20;
constexpr absl::Duration kPatience = absl::Minutes(15);
constexpr int kPodsOfNode = 500;
constexpr double kPart = 5;  // The goal is a fifth of upstream's peak.
// The peaks of upstream's controller manager, in MiB, were measured for one job of 1000 and of 3000 pods. Other peaks
// are taken from the line through these two.
constexpr double kFewer = 1000, kPeakOfFewer = 186, kMore = 3000, kPeakOfMore = 515;

struct Laps {
  std::vector<double> milliseconds, bare;  // CPU time per pod.
  std::vector<std::string> notes, bare_notes;
};

// Makes as many pods at the same pace with a client that decides nothing. The client knows the nodes and binds the pods
// itself.
absl::StatusOr<Window> RunBare(Bed& bed, const JobBenchOptions& options, int pods, absl::Duration wall) {
  BASALT_RETURN_IF_ERROR(bed.ReplaceOurs(CompleteJobOf));
  const std::string job = JobName(kJobs, 0);
  const std::string uid = bed.UidOf(&View::jobs, job);
  std::vector<actors::ApiRequest> made;
  for (int i = 0; i < pods; ++i) {
    made.push_back(CreateBoundPod({.name = fmt::format("bare-{}", i),
                                   .node = fmt::format("node-{}", i % options.bed.nodes),
                                   .job = job,
                                   .job_uid = uid,
                                   .runs = options.runs}));
  }
  const int all = 2 * pods;  // The pods of our own run still exist.
  BASALT_RETURN_IF_ERROR(bed.Begin());
  bed.SendSteadily(std::move(made), std::max(1, static_cast<int>(pods / absl::ToDoubleSeconds(wall))));
  BASALT_RETURN_IF_ERROR(bed.Await("Succeeded", [&](const View& view) { return view.pods.In("Succeeded") == all; }));
  return bed.End();
}

// Measures processes that have done nothing before. The cost of their start does not count, but their growth does.
absl::Status Run(const JobBenchOptions& options, int jobs, Laps& laps) {
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  const int pods = options.cost_pods / jobs;
  BASALT_RETURN_IF_ERROR(bed->Begin());
  const absl::Time begin = absl::Now();
  bed->Send(CreateJobs(kJobs, jobs, {.pods = pods, .runs = options.runs}));
  BASALT_RETURN_IF_ERROR(bed->Await("Completed", [&](const View& view) { return view.jobs.In("Completed") == jobs; }));
  const absl::Duration wall = absl::Now() - begin;
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
  laps.milliseconds.push_back(absl::ToDoubleMilliseconds(window.cpu) / (jobs * pods));
  laps.notes.push_back(fmt::format("{:.0f} s; {}; {} MiB in all; {} writes per job; {}", absl::ToDoubleSeconds(wall),
                                   window.Processes(), window.peak_bytes / (1 << 20),
                                   Number(static_cast<double>(Count(window.writes).writes) / jobs), window.Machine()));
  if (!options.bare) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const Window bare, RunBare(*bed, options, jobs * pods, wall));
  laps.bare.push_back(absl::ToDoubleMilliseconds(bare.bench_cpu) / (jobs * pods));
  laps.bare_notes.push_back(bare.Machine());
  return absl::OkStatus();
}

Figure FigureAtMost(std::string name, std::vector<double> runs, std::string unit, double most) {
  Figure figure = MedianOf(std::move(name), std::move(runs), std::move(unit));
  SetMost(most, figure, Number(most));
  return figure;
}

double Upstream(double pods) {
  return kPeakOfFewer + (pods - kFewer) * (kPeakOfMore - kPeakOfFewer) / (kMore - kFewer);
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureCost(const JobBenchOptions& options, const Progress& progress) {
  const int many = options.cost_pods / kPodsOfSmall;
  Laps small, large;
  for (int lap = 0; lap < options.cost_laps; ++lap) {
    progress(fmt::format("CPU, lap {}: {} jobs of {} pods", lap + 1, Number(many), kPodsOfSmall));
    BASALT_RETURN_IF_ERROR(Run(options, many, small));
    progress(fmt::format("CPU, lap {}: 1 job of {} pods", lap + 1, Number(options.cost_pods)));
    BASALT_RETURN_IF_ERROR(Run(options, 1, large));
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < small.milliseconds.size(); ++i) {
    ratios.push_back(large.milliseconds[i] / small.milliseconds[i]);
  }
  std::vector<Figure> figures = {
      FigureAtMost(fmt::format("CPU of all processes, {} jobs of {} pods", Number(many), kPodsOfSmall),
                   std::move(small.milliseconds), "ms per pod", kMostMilliseconds),
      FigureAtMost(fmt::format("CPU of all processes, 1 job of {} pods", Number(options.cost_pods)),
                   std::move(large.milliseconds), "ms per pod", kMostMilliseconds),
      FigureAtMost("CPU of a pod in the large job, to that in small ones", std::move(ratios), "", kMostRatio)};
  small.notes.emplace_back("each lap on processes that have just been started, without warming up");
  figures[0].notes = std::move(small.notes);
  figures[1].notes = std::move(large.notes);
  if (!options.bare) return figures;
  for (Laps* const laps : {&small, &large}) {
    Figure& figure =
        figures.emplace_back(MedianOf(fmt::format("CPU of a bare client that makes and watches pods, at the pace of {}",
                                                  laps == &small ? "the small jobs" : "the large one"),
                                      std::move(laps->bare), "ms per pod"));
    figure.notes = std::move(laps->bare_notes);
  }
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureMemory(const JobBenchOptions& options, const Progress& progress) {
  const int pods = options.memory_jobs * options.memory_pods_of_job;
  progress(fmt::format("memory: {} jobs of {} pods", Number(options.memory_jobs), Number(options.memory_pods_of_job)));
  BedOptions roomy = options.bed;
  roomy.nodes = std::max(roomy.nodes, pods / kPodsOfNode);
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(roomy));
  BASALT_RETURN_IF_ERROR(bed->Begin());
  bed->Send(CreateJobs("held", options.memory_jobs, {.pods = options.memory_pods_of_job, .runs = kUntilStopped}));
  BASALT_RETURN_IF_ERROR(bed->Await(
      "Running",
      [&](const View& view) {
        return view.jobs.In("Running") == options.memory_jobs && view.pods.In("Running") == pods;
      },
      kPatience));
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
  const double most = Upstream(pods) / kPart;
  Figure figure{.name = fmt::format("peak memory of all processes, {} running pods", Number(pods)),
                .value = static_cast<double>(window.peak_bytes) / kMebibyte,
                .unit = "MiB"};
  SetMost(most, figure, fmt::format("{:.0f}", most));
  figure.notes = {
      window.Processes(),
      fmt::format("the goal is a fifth of {:.0f} MiB: upstream's for one job of 1 000 and of 3 000 pods, in "
                  "a line",
                  Upstream(pods))};
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace basalt::bench
