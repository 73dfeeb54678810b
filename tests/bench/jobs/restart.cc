#include <fmt/format.h>

#include <utility>

#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed_figures.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {
constexpr int kPods = 3;  // Pods of each job.
}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureRestart(const JobBenchOptions& options, const Progress& progress) {
  const int jobs = options.finished_jobs;
  progress(fmt::format("{} jobs of {} pods, to Completed", jobs, kPods));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  bed->Send(CreateJobs("done", jobs, {.pods = kPods, .runs = options.runs}));
  BASALT_RETURN_IF_ERROR(bed->Await("Completed", [&](const View& view) { return view.jobs.In("Completed") == jobs; }));
  std::vector<Figure> figures;
  for (const bool with_disks : {true, false}) {
    const std::string what = fmt::format("{} finished jobs", Number(jobs));
    progress(fmt::format("restart with {}, stores {}", what, with_disks ? "kept" : "lost"));
    BASALT_ASSIGN_OR_RETURN(Figure figure, WritesOfRestart(*bed, what, with_disks));
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace basalt::bench
