#include "tests/bench/real/real_figures.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {
namespace {

constexpr absl::Duration kRuns = absl::Seconds(1);

actors::ApiRequest CreateBarePod(int number) {
  return {"POST", std::string(kPodsPath),
          fmt::format(
              R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"bare-{}"}},"spec":{{"schedulerName":"volcano",)"
              R"("containers":[{{"name":"c","image":"busybox","resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}})",
              number)};
}

absl::StatusOr<Measured> Run(Bed& bed, const Work& work) {
  Measured out;
  out.name = work.name;
  out.jobs = work.jobs;
  out.pods = work.pods();
  std::vector<actors::ApiRequest> requests = CreateJobs("work", work.jobs, {.pods = work.pods_per_job, .runs = kRuns});
  for (int pod = 0; pod < work.bare_pods; ++pod) requests.push_back(CreateBarePod(pod));
  BASALT_RETURN_IF_ERROR(bed.Begin());
  const absl::Time begin = absl::Now();
  bed.Send(std::move(requests));
  // The gang scheduler binds only pods that have a group.
  BASALT_RETURN_IF_ERROR(bed.Await(work.name, [&](const View& view) {
    return view.jobs.In("Completed") == work.jobs && view.pods.In("Running") >= work.bare_pods &&
           view.groups.size() >= work.bare_pods;
  }));
  out.wall = absl::Now() - begin;
  BASALT_RETURN_IF_ERROR(bed.AwaitQuiet());
  BASALT_ASSIGN_OR_RETURN(out.window, bed.End());
  return out;
}

absl::StatusOr<Measured> Restart(Bed& bed, const Work& work, bool with_disks) {
  Measured out;
  out.name = fmt::format("restart after {}, {}", work.name, with_disks ? "stores kept" : "stores lost");
  out.jobs = work.jobs;
  out.pods = work.pods();
  BASALT_ASSIGN_OR_RETURN(out.wall, bed.Restart(with_disks));
  BASALT_ASSIGN_OR_RETURN(out.window, bed.End());
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Measured>> Measure(const Work& work, const BedOptions& options) {
  BASALT_ASSIGN_OR_RETURN(const std::unique_ptr<Bed> bed, Bed::Start(options));
  std::vector<Measured> all;
  BASALT_ASSIGN_OR_RETURN(Measured done, Run(*bed, work));
  all.push_back(std::move(done));
  if (!work.restarts) return all;
  for (const bool with_disks : {true, false}) {
    BASALT_ASSIGN_OR_RETURN(Measured restarted, Restart(*bed, work, with_disks));
    all.push_back(std::move(restarted));
  }
  return all;
}

}  // namespace basalt::bench
