#include "services/jobsvc/control/job_metrics.h"

#include <cmath>
#include <vector>

namespace basalt::jobsvc {

namespace {

constexpr std::string_view kCompleted = "volcano_job_completed_phase_count";
constexpr std::string_view kFailed = "volcano_job_failed_phase_count";
constexpr int kBuckets = 30;

// Returns bounds from 50 ms to a minute, each the same multiple of the one before.
std::vector<double> PodCreationBounds() {
  std::vector<double> bounds;
  for (int i = 0; i < kBuckets; ++i) bounds.push_back(50 * std::pow(1200.0, i / (kBuckets - 1.0)));
  return bounds;
}

}  // namespace

JobMetrics::JobMetrics(obs::Metrics& metrics, bool series_per_job)
    : metrics_(metrics),
      series_per_job_(series_per_job),
      passes_(metrics.GetCounter("basalt_job_passes_total", "Passes over jobs.")),
      status_writes_(metrics.GetCounter("basalt_job_status_writes_total", "Status writes sent.")),
      stale_records_(
          metrics.GetCounter("basalt_job_stale_records_total", "Records older than what Kubernetes remembers.")),
      pod_creation_(metrics.GetHistogram("volcano_controller_job_to_pod_creation_latency_milliseconds",
                                         "Milliseconds from the creation of a job to that of each of its pods.",
                                         PodCreationBounds())) {}

obs::Labels JobMetrics::LabelsOf(std::string_view job, std::string_view queue) const {
  obs::Labels labels;
  if (series_per_job_) labels.emplace_back("job_name", job);
  labels.emplace_back("queue_name", queue);
  return labels;
}

void JobMetrics::Reached(kube::v1::JobPhase phase, std::string_view job, std::string_view queue) {
  if (phase == kube::v1::JOB_PHASE_COMPLETED) {
    metrics_.GetCounter(kCompleted, "Jobs that reached Completed.", LabelsOf(job, queue)).Add();
  } else if (phase == kube::v1::JOB_PHASE_FAILED) {
    metrics_.GetCounter(kFailed, "Jobs that reached Failed.", LabelsOf(job, queue)).Add();
  }
}

void JobMetrics::GroupCall(absl::StatusCode code) {
  metrics_
      .GetCounter("basalt_job_group_calls_total", "Calls of pgsvc by the code of their answer.",
                  {{"code", absl::StatusCodeToString(code)}})
      .Add();
}

void JobMetrics::Forget(std::string_view job, std::string_view queue) {
  if (!series_per_job_) return;
  for (const std::string_view name : {kCompleted, kFailed}) metrics_.Remove(name, LabelsOf(job, queue));
}

}  // namespace basalt::jobsvc
