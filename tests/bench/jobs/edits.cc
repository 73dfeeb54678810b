#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed_figures.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kMost = absl::Milliseconds(50);
constexpr absl::Duration kMostToPluginMedian = absl::Milliseconds(5);
constexpr absl::Duration kMostToPlugin = absl::Milliseconds(15);
constexpr int kPods = 2;  // Pods of each job. An edit adds one, and the next edit of the job removes it.
constexpr std::string_view kPrefix = "edited";

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureEdits(const JobBenchOptions& options, const Progress& progress) {
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  const int jobs = options.edited_jobs;
  progress(fmt::format("{} edits of {} jobs with plugin svc, {} in a second", options.edits, jobs,
                       options.edits_per_second));
  bed->Send(CreateJobs(kPrefix, jobs, {.pods = kPods, .svc = true, .runs = kUntilStopped}));
  BASALT_RETURN_IF_ERROR(bed->Await("Running", [&](const View& view) {
    return view.jobs.In("Running") == jobs && view.pods.In("Running") == jobs * kPods;
  }));
  BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
  std::vector<actors::ApiRequest> edits;
  for (int i = 0; i < options.edits; ++i) {
    edits.push_back(ScaleJob(JobName(kPrefix, i % jobs), kPods + (i / jobs % 2 == 0 ? 1 : 0)));
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
  std::vector<Figure> figures = {PercentileOf("edit of a job to its first effect", times.any, 0.5),
                                 PercentileOf("edit of a job to its first effect", times.any, 0.99),
                                 PercentileOf("edit of a job to its plugins' objects", times.plugin, 0.5),
                                 PercentileOf("edit of a job to its plugins' objects", times.plugin, 0.99),
                                 PercentileOf("edit of a job to the first pod made or deleted", times.pod, 0.99)};
  SetTimeGoal(times.plugin, 0.5, kMostToPluginMedian, figures[2]);
  SetTimeGoal(times.plugin, 0.99, kMostToPlugin, figures[3]);
  Figure& most = figures[1];
  SetTimeGoal(times.any, 0.99, kMost, most);
  most.notes = {fmt::format("longest {:.1f} ms", absl::ToDoubleMilliseconds(Percentile(times.any, 1))),
                window.Machine(), KindsOf(Count(window.writes), options.edits)};
  return figures;
}

}  // namespace basalt::bench
