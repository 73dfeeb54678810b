#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kMost = absl::Milliseconds(100);

struct Run {
  std::string what;
  std::string prefix;  // Of the jobs' names.
  int per_second = 0;
  int jobs = 0;
  int warm = 0;
  std::string_view completes;  // Empty: we do.
};

Figure PercentileOf(const Run& run, const std::vector<absl::Duration>& times, double part) {
  Figure figure;
  figure.name = fmt::format("{}, {} jobs a second: p{:.0f}", run.what, run.per_second, part * 100);
  figure.value = absl::ToDoubleMilliseconds(Percentile(times, part));
  figure.unit = "ms";
  return figure;
}

// The jobs' pods are there and have not ended.
absl::Status EndAll(Bed& bed, const Run& run, std::vector<Figure>& figures) {
  std::vector<actors::ApiRequest> ends;
  for (int i = 0; i < run.jobs; ++i) ends.push_back(EndPod(JobName(run.prefix, i)));
  int before = 0;
  BASALT_RETURN_IF_ERROR(bed.Await("a look at the jobs", [&](const View& view) {
    before = view.jobs.In("Completed");
    return true;
  }));
  BASALT_RETURN_IF_ERROR(bed.Begin());
  bed.SendSteadily(std::move(ends), run.per_second);
  BASALT_RETURN_IF_ERROR(
      bed.Await("Completed", [&](const View& view) { return view.jobs.In("Completed") == before + run.jobs; }));
  BASALT_ASSIGN_OR_RETURN(const Window window, bed.End());
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  std::vector<absl::Duration> times = TimesToCompleted(window.writes, kBenchAgent, run.completes);
  if (times.size() != static_cast<size_t>(run.jobs)) {
    return MakeStatus(absl::StatusCode::kInternal,
                      fmt::format("{} pods of {} ended in the log", times.size(), run.jobs));
  }
  times.erase(times.begin(), times.begin() + std::min(run.warm, run.jobs - 1));
  figures.push_back(PercentileOf(run, times, 0.5));
  Figure& most = figures.emplace_back(PercentileOf(run, times, 0.99));
  most.notes = {fmt::format("longest {:.1f} ms; the first {} jobs not counted",
                            absl::ToDoubleMilliseconds(Percentile(times, 1)), run.jobs - times.size()),
                window.Machine()};
  if (!run.completes.empty()) return absl::OkStatus();
  most.goal = fmt::format("<= {:.0f}", absl::ToDoubleMilliseconds(kMost));
  most.met = Percentile(times, 0.99) <= kMost;
  most.notes.push_back(window.Processes());
  most.notes.push_back(KindsOf(Count(window.writes), run.jobs));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureEnding(const JobBenchOptions& options, const JobProgress& progress) {
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  std::vector<Figure> figures;
  const auto run_at = [&](int rate) {
    const auto in = [&](absl::Duration time) { return static_cast<int>(rate * absl::ToDoubleSeconds(time)); };
    Run run;
    run.per_second = rate;
    run.jobs = in(options.ending_time);
    run.warm = in(options.ending_warm);
    return run;
  };
  for (const int rate : options.ending_rates) {
    Run run = run_at(rate);
    run.what = "last success to Completed";
    run.prefix = fmt::format("ends-{}", rate);
    progress(fmt::format("{} running jobs of 1 pod; {} of them end in a second", Number(run.jobs), rate));
    bed->Send(CreateJobs(run.prefix, run.jobs, {.runs = kUntilStopped}));
    BASALT_RETURN_IF_ERROR(
        bed->Await("Running", [&](const View& view) { return view.jobs.In("Running") == run.jobs; }));
    BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
    BASALT_RETURN_IF_ERROR(EndAll(*bed, run, figures));
  }
  if (!options.bare) return figures;
  BASALT_RETURN_IF_ERROR(bed->ReplaceOurs());
  for (const int rate : options.ending_rates) {
    Run run = run_at(rate);
    run.what = "the same by a bare client";
    run.prefix = fmt::format("bare-{}", rate);
    run.completes = kBareAgent;
    progress(fmt::format("{} of them end in a second, and nobody decides", rate));
    std::vector<actors::ApiRequest> made = CreateJobs(run.prefix, run.jobs, {});
    for (int i = 0; i < run.jobs; ++i) made.push_back(CreateIdlePod(JobName(run.prefix, i)));
    bed->Send(std::move(made));
    BASALT_RETURN_IF_ERROR(bed->Await("idle pods", [&](const View& view) {
      return view.pods.In("Pending") + view.pods.In("") == run.jobs && view.jobs.In("") == run.jobs;
    }));
    BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
    BASALT_RETURN_IF_ERROR(EndAll(*bed, run, figures));
  }
  return figures;
}

}  // namespace basalt::bench
