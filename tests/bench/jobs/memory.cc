#include <fmt/format.h>

#include <algorithm>

#include "common/base/status_macros.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr absl::Duration kPatience = absl::Minutes(15);
constexpr int kPodsOfNode = 500;
constexpr double kPart = 5;  // The goal is a fifth of upstream's peak.
// The peaks of upstream's controller manager, in MiB, were measured for one job of 1000 and of 3000 pods. Other peaks
// are taken from the line through these two.
constexpr double kFewer = 1000, kPeakOfFewer = 186, kMore = 3000, kPeakOfMore = 515;

double Upstream(double pods) {
  return kPeakOfFewer + (pods - kFewer) * (kPeakOfMore - kPeakOfFewer) / (kMore - kFewer);
}

}  // namespace

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
  Figure figure;
  figure.name = fmt::format("peak memory of all processes, {} running pods", Number(pods));
  figure.value = static_cast<double>(window.peak_bytes) / kMebibyte;
  figure.unit = "MiB";
  figure.goal = fmt::format("<= {:.0f}", Upstream(pods) / kPart);
  figure.met = figure.value <= Upstream(pods) / kPart;
  figure.notes = {
      window.Processes(),
      fmt::format("the goal is a fifth of {:.0f} MiB: upstream's for one job of 1 000 and of 3 000 pods, in "
                  "a line",
                  Upstream(pods))};
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace basalt::bench
