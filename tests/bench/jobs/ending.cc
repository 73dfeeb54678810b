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

constexpr absl::Duration kMost = absl::Milliseconds(100);

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
  Figure& most = figures.emplace_back(PercentileOf(what, times, 0.99));
  most.notes = {fmt::format("longest {:.1f} ms; the first {} jobs not counted",
                            absl::ToDoubleMilliseconds(Percentile(times, 1)), run.jobs - times.size()),
                window.Machine()};
  if (!run.completes.empty()) return absl::OkStatus();
  SetTimeGoal(times, 0.99, kMost, most);
  most.notes.push_back(window.Processes());
  most.notes.push_back(KindsOf(Count(window.writes), run.jobs));
  return absl::OkStatus();
}

}  // namespace

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
