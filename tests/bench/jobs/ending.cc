#include <fmt/format.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kMost = absl::Milliseconds(100);

Figure Percentiles(const std::vector<absl::Duration>& times, double part, int per_second) {
  Figure figure;
  figure.name = fmt::format("last success to Completed, {} jobs a second: p{:.0f}", per_second, part * 100);
  figure.value = absl::ToDoubleMilliseconds(Percentile(times, part));
  figure.unit = "ms";
  return figure;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureEnding(const JobBenchOptions& options, const JobProgress& progress) {
  const int jobs = options.ending_jobs;
  progress(fmt::format("{} running jobs of 1 pod", Number(jobs)));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  bed->Send(CreateJobs("ends", jobs, {.runs = kUntilStopped}));
  BASALT_RETURN_IF_ERROR(bed->Await("Running", [&](const View& view) { return view.jobs.In("Running") == jobs; }));
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  progress(fmt::format("{} of them end in a second", options.ending_per_second));
  std::vector<actors::ApiRequest> ends;
  for (int i = 0; i < jobs; ++i) ends.push_back(EndPod(JobName("ends", i)));
  BASALT_RETURN_IF_ERROR(bed->Begin());
  bed->SendSteadily(std::move(ends), options.ending_per_second);
  BASALT_RETURN_IF_ERROR(bed->Await("Completed", [&](const View& view) { return view.jobs.In("Completed") == jobs; }));
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
  std::vector<absl::Duration> times = TimesToCompleted(window.writes, kBenchAgent);
  if (times.size() != static_cast<size_t>(jobs)) {
    return MakeStatus(absl::StatusCode::kInternal, fmt::format("{} pods of {} ended in the log", times.size(), jobs));
  }
  times.erase(times.begin(), times.begin() + std::min(options.ending_warm, jobs - 1));
  std::vector<Figure> figures = {Percentiles(times, 0.5, options.ending_per_second),
                                 Percentiles(times, 0.99, options.ending_per_second)};
  figures[1].goal = fmt::format("<= {:.0f}", absl::ToDoubleMilliseconds(kMost));
  figures[1].met = Percentile(times, 0.99) <= kMost;
  figures[1].notes = {fmt::format("longest {:.1f} ms; the first {} jobs not counted",
                                  absl::ToDoubleMilliseconds(Percentile(times, 1)), jobs - times.size()),
                      window.Processes(), KindsOf(Count(window.writes), jobs)};
  return figures;
}

}  // namespace basalt::bench
