// jobsvc: the controller of Volcano Jobs.
#include "services/jobsvc/main/program.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "common/kube/namespace_rules.h"
#include "common/shell/cluster_flags.h"
#include "common/shell/service_process.h"
#include "services/jobsvc/main/parts.h"

ABSL_FLAG(bool, per_job_metrics, false,
          "the counters of completed and failed jobs have a series for each job, and not only for each queue");
ABSL_FLAG(absl::Duration, event_interval, absl::Minutes(5), "the least time between two writes of one Event");
ABSL_FLAG(absl::Duration, history_age, absl::Hours(24 * 7), "how long the history of a job that is gone is kept");
ABSL_FLAG(uint32_t, history_entries, 512, "how many decisions the history of one job keeps");
ABSL_FLAG(uint32_t, history_mib, 1024,
          "how many MiB of history of jobs that are gone a replica keeps; the history of the job that ended first is "
          "dropped first");
ABSL_FLAG(
    bool, upstream_evictions, false,
    "a pod that fails while Kubernetes evicts it (condition DisruptionTarget, reason Evicted) raises PodFailed, as "
    "under upstream's controller, and not PodEvicted");
ABSL_DECLARE_FLAG(int, workers);
ABSL_DECLARE_FLAG(uint32_t, max_watches);

namespace basalt::jobsvc {

int Main(int argc, char** argv) {
  const auto make_parts = [](obs::Metrics& metrics, obs::Health&) {
    JobControllerOptions options;
    const std::vector<std::string> schedulers = absl::GetFlag(FLAGS_scheduler_name);
    if (!schedulers.empty() && !schedulers.front().empty()) options.defaults.scheduler_name = schedulers.front();
    options.event_interval = absl::GetFlag(FLAGS_event_interval);
    options.upstream_evictions = absl::GetFlag(FLAGS_upstream_evictions);
    options.history_limits.age = absl::GetFlag(FLAGS_history_age);
    options.history_limits.entries = std::max<uint32_t>(1, absl::GetFlag(FLAGS_history_entries));
    options.history_limits.bytes =
        (int64_t{absl::GetFlag(FLAGS_history_mib)} << 20) / std::max(1, absl::GetFlag(FLAGS_workers));
    return MakePartsWith(metrics, options, absl::GetFlag(FLAGS_per_job_metrics), absl::GetFlag(FLAGS_max_watches),
                         kube::NamespaceRules(absl::GetFlag(FLAGS_namespaces)));
  };
  return shell::RunService(argc, argv, "jobsvc", gateway::v1::SERVICE_KIND_JOB, make_parts);
}

}  // namespace basalt::jobsvc
