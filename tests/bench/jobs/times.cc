// Measures the times from an edit of a job to its effects, and from a last success to Completed.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed_figures.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kMostToEffect = absl::Milliseconds(50);
constexpr absl::Duration kMostToPluginMedian = absl::Milliseconds(5);
constexpr absl::Duration kMostToPlugin = absl::Milliseconds(15);
constexpr int kPodsOfEdited = 2;  // Pods of each job. An edit adds one, and the next edit of the job removes it.
constexpr std::string_view kPrefix = "edited";

constexpr absl::Duration kMostToCompleted = absl::Milliseconds(100);

struct Run {
  std::string what;
  std::string prefix;  // The jobs' names begin with it.
  int per_second = 0;
  int jobs = 0;
  int warm = 0;
  int completed = 0;           // Jobs of this and the earlier runs, all of which are then Completed.
  std::string_view completes;  // The client that completes the jobs. Empty if our processes do.
};

Run MakeRun(const JobBenchOptions& options, int rate, bool bare) {
  const auto in = [rate](absl::Duration time) { return static_cast<int>(rate * absl::ToDoubleSeconds(time)); };
  Run run;
  run.what = bare ? "the same by a bare client" : "last success to Completed";
  run.prefix = fmt::format("{}-{}", bare ? "bare" : "ends", rate);
  run.per_second = rate;
  run.jobs = in(options.ending_time);
  run.warm = in(options.ending_warm);
  if (bare) run.completes = kBareAgent;
  return run;
}

// Makes jobs that run until EndAll ends them. `others` jobs run already.
absl::Status MakeJobs(Bed& bed, const Run& run, int others) {
  bed.Send(CreateJobs(run.prefix, run.jobs, {.runs = kUntilStopped}));
  BASALT_RETURN_IF_ERROR(
      bed.Await("Running", [&](const View& view) { return view.jobs.In("Running") == others + run.jobs; }));
  return bed.AwaitQuiet();
}

absl::Status EndAll(Bed& bed, const Run& run, std::vector<Figure>& figures) {
  std::vector<actors::ApiRequest> ends;
  for (int i = 0; i < run.jobs; ++i) ends.push_back(EndPod(JobName(run.prefix, i)));
  BASALT_RETURN_IF_ERROR(bed.Begin());
  bed.SendSteadily(std::move(ends), run.per_second);
  BASALT_RETURN_IF_ERROR(
      bed.Await("Completed", [&](const View& view) { return view.jobs.In("Completed") == run.completed; }));
  BASALT_ASSIGN_OR_RETURN(const Window window, bed.End());
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  std::vector<absl::Duration> times = TimesToCompleted(window.writes, kBenchAgent, run.completes);
  if (times.size() != static_cast<size_t>(run.jobs)) {
    return MakeStatus(absl::StatusCode::kInternal,
                      fmt::format("{} pods of {} ended in the log", times.size(), run.jobs));
  }
  times.erase(times.begin(), times.begin() + std::min(run.warm, run.jobs - 1));
  const std::string what = fmt::format("{}, {} jobs a second", run.what, run.per_second);
  figures.push_back(PercentileOf(what, times, 0.5));
  const bool is_ours = run.completes.empty();
  Figure& most =
      figures.emplace_back(PercentileOf(what, times, 0.99, is_ours ? kMostToCompleted : absl::InfiniteDuration()));
  most.notes = {fmt::format("longest {:.1f} ms; the first {} jobs not counted",
                            absl::ToDoubleMilliseconds(Percentile(times, 1)), run.jobs - times.size()),
                window.Machine()};
  if (!is_ours) return absl::OkStatus();
  most.notes.push_back(window.Processes());
  most.notes.push_back(KindsOf(Count(window.writes), run.jobs));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureEdits(const JobBenchOptions& options, const Progress& progress) {
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  const int jobs = options.edited_jobs;
  progress(fmt::format("{} edits of {} jobs with plugin svc, {} in a second", options.edits, jobs,
                       options.edits_per_second));
  bed->Send(CreateJobs(kPrefix, jobs, {.pods = kPodsOfEdited, .svc = true, .runs = kUntilStopped}));
  BASALT_RETURN_IF_ERROR(bed->Await("Running", [&](const View& view) {
    return view.jobs.In("Running") == jobs && view.pods.In("Running") == jobs * kPodsOfEdited;
  }));
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  std::vector<actors::ApiRequest> edits;
  for (int i = 0; i < options.edits; ++i) {
    edits.push_back(ScaleJob(JobName(kPrefix, i % jobs), kPodsOfEdited + (i / jobs % 2 == 0 ? 1 : 0)));
  }
  BASALT_RETURN_IF_ERROR(bed->Begin());
  bed->SendSteadily(std::move(edits), options.edits_per_second);
  BASALT_RETURN_IF_ERROR(bed->AwaitSent());
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
  const TimesToEffect times = TimesFromEdits(window.writes, kBenchAgent);
  if (times.any.size() != static_cast<size_t>(options.edits)) {
    return MakeStatus(absl::StatusCode::kInternal,
                      fmt::format("{} edits of {} are in the log", times.any.size(), options.edits));
  }
  constexpr std::string_view kFirst = "edit of a job to its first effect";
  constexpr std::string_view kPlugins = "edit of a job to its plugins' objects";
  std::vector<Figure> figures = {PercentileOf(kFirst, times.any, 0.5),
                                 PercentileOf(kFirst, times.any, 0.99, kMostToEffect),
                                 PercentileOf(kPlugins, times.plugin, 0.5, kMostToPluginMedian),
                                 PercentileOf(kPlugins, times.plugin, 0.99, kMostToPlugin),
                                 PercentileOf("edit of a job to the first pod made or deleted", times.pod, 0.99)};
  figures[1].notes = {fmt::format("longest {:.1f} ms", absl::ToDoubleMilliseconds(Percentile(times.any, 1))),
                      window.Machine(), KindsOf(Count(window.writes), options.edits)};
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureEnding(const JobBenchOptions& options, const Progress& progress) {
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  std::vector<Figure> figures;
  int completed = 0;
  const auto end_all = [&](Run& run) {
    progress(
        fmt::format("{}: {} jobs of 1 pod, {} of them end in a second", run.what, Number(run.jobs), run.per_second));
    run.completed = completed += run.jobs;
    return EndAll(*bed, run, figures);
  };
  for (const int rate : options.ending_rates) {
    Run run = MakeRun(options, rate, /*bare=*/false);
    BASALT_RETURN_IF_ERROR(MakeJobs(*bed, run, 0));
    BASALT_RETURN_IF_ERROR(end_all(run));
  }
  if (!options.bare) return figures;
  // Our processes start the jobs and are then replaced.
  std::vector<Run> bare;
  int running = 0;
  for (const int rate : options.ending_rates) {
    bare.push_back(MakeRun(options, rate, /*bare=*/true));
    BASALT_RETURN_IF_ERROR(MakeJobs(*bed, bare.back(), running));
    running += bare.back().jobs;
  }
  BASALT_RETURN_IF_ERROR(bed->ReplaceOurs(CompleteJobOf));
  for (Run& run : bare) BASALT_RETURN_IF_ERROR(end_all(run));
  return figures;
}

}  // namespace basalt::bench
