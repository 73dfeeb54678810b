// Measures the writes of jobs that complete, of jobs that are aborted, and of a restart.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed_figures.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr int kSmall = 100;    // Jobs of at most so many pods are measured together.
constexpr int kTogether = 10;  // The number of small jobs that are measured together.
constexpr int kStatusOfJob = 5;
constexpr int kOfAbort = 6;
constexpr int kPodsOfFinished = 3;
constexpr double kMebibyte = 1 << 20;

// Returns the peaks of upstream's controller manager in MiB, by the number of pods of one job.
const std::map<int, double>& UpstreamPeaks() {
  static const auto* const peaks = new std::map<int, double>{{1000, 186}, {3000, 515}};
  return *peaks;
}

std::string Words(const std::vector<Burst>& bursts) {
  std::vector<std::string> parts;
  for (const Burst& burst : bursts) {
    parts.push_back(fmt::format("{} in {:.1f} s", burst.changes, absl::ToDoubleSeconds(burst.length())));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

// The status writes of queues are listed but do not count against the goal, since no single job causes them.
Figure WritesFigure(std::string name, const Tally& tally, int jobs, int goal, const std::vector<Burst>& bursts) {
  const int more = MoreWritesFor(bursts);
  const int writes = tally.writes - tally.queues;
  return {.name = std::move(name),
          .value = static_cast<double>(writes) / jobs,
          .unit = "per job",
          .goal = fmt::format("<= {}", Number(goal + more)),
          .met = writes <= (goal + more) * jobs,
          .notes = {KindsOf(tally, jobs),
                    fmt::format("changes of pods: {}; {} more for their length", Words(bursts), more)}};
}

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureWrites(const JobBenchOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  std::vector<Figure> memory;
  int conflicts = 0;
  int refused = 0;
  for (const int pods : options.write_pods) {
    BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
    const int jobs = pods <= kSmall ? kTogether : 1;
    int made = 0;
    for (const bool svc : {false, true}) {
      const std::string what = fmt::format("a job of {} pods{}", Number(pods), svc ? " with svc" : "");
      progress("writes of " + what);
      BASALT_RETURN_IF_ERROR(bed->Begin());
      bed->Send(CreateJobs(svc ? "svc" : "plain", jobs, {.pods = pods, .svc = svc, .runs = options.runs}));
      made += jobs;
      BASALT_RETURN_IF_ERROR(
          bed->Await("Completed", [&](const View& view) { return view.jobs.In("Completed") == made; }));
      BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
      BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
      const Tally tally = Count(window.writes);
      conflicts += tally.conflicts;
      refused += tally.refused;
      const std::vector<Burst> bursts = BurstsOf(window.writes, JobName(svc ? "svc" : "plain", 0));
      figures.push_back(WritesFigure("writes of " + what, tally, jobs,
                                     pods + 2 + (svc ? 2 * kSvcObjects : 0) + kStatusOfJob, bursts));
      const auto peak = UpstreamPeaks().find(pods);
      if (svc || peak == UpstreamPeaks().end()) continue;
      memory.push_back({.name = fmt::format("peak memory of all processes, 1 job of {} pods", Number(pods)),
                        .value = static_cast<double>(window.peak_bytes) / kMebibyte,
                        .unit = "MiB",
                        .notes = {window.Processes(), fmt::format("upstream: {} MiB", Number(peak->second))}});
    }
  }
  figures.push_back({.name = "creates answered 409, in all of these jobs",
                     .value = static_cast<double>(conflicts),
                     .goal = "0",
                     .met = conflicts == 0,
                     .notes = {fmt::format("writes refused for any reason: {}", refused)}});
  std::move(memory.begin(), memory.end(), std::back_inserter(figures));
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureAbort(const JobBenchOptions& options, const Progress& progress) {
  std::vector<Figure> figures;
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  int aborted = 0;
  for (const int pods : options.abort_pods) {
    progress(fmt::format("abort of {} running pods", Number(pods)));
    const std::string job = JobName("abort", pods);
    bed->Send({CreateJob(job, {.pods = pods, .svc = true, .runs = kUntilStopped})});
    BASALT_RETURN_IF_ERROR(bed->Await(
        "Running", [&](const View& view) { return view.jobs.In("Running") == 1 && view.pods.In("Running") == pods; }));
    BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
    BASALT_RETURN_IF_ERROR(bed->Begin());
    bed->Send({AbortJob(job, bed->UidOf(&View::jobs, job))});
    ++aborted;
    BASALT_RETURN_IF_ERROR(bed->Await(
        "Aborted", [&](const View& view) { return view.jobs.In("Aborted") == aborted && view.pods.size() == 0; }));
    BASALT_RETURN_IF_ERROR(bed->AwaitQuiet());
    BASALT_ASSIGN_OR_RETURN(const Window window, bed->End());
    figures.push_back(WritesFigure(fmt::format("writes to abort {} running pods, with svc", Number(pods)),
                                   Count(window.writes), 1, kOfAbort + kSvcObjects, BurstsOf(window.writes, job)));
  }
  return figures;
}

absl::StatusOr<std::vector<Figure>> MeasureRestart(const JobBenchOptions& options, const Progress& progress) {
  const int jobs = options.finished_jobs;
  progress(fmt::format("{} jobs of {} pods, to Completed", jobs, kPodsOfFinished));
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options.bed));
  bed->Send(CreateJobs("done", jobs, {.pods = kPodsOfFinished, .runs = options.runs}));
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
