#pragma once

// The metrics of jobs for Prometheus (job spec 13). Everything is counted after the fact (W22). Thread-safe: the
// workers of a replica share one object.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/obs/metrics.h"

namespace basalt::jobsvc {

class JobMetrics {
 public:
  // `metrics` outlives the object. Without `series_per_job` the two counters of ends have the queue as their only
  // label: a cluster has few queues and any number of jobs.
  JobMetrics(obs::Metrics& metrics, bool series_per_job);

  void Pass() { passes_.Add(); }
  void StatusWrite() { status_writes_.Add(); }
  void StaleRecord() { stale_records_.Add(); }
  // Counts a call about a group by the code of pgsvc's answer, or of its absence.
  void GroupCall(absl::StatusCode code);
  // `after_ms` is the time from the job's creation to the pod's, both by the API server's clock.
  void PodCreated(int64_t after_ms) { pod_creation_.Observe(static_cast<double>(after_ms)); }
  // Call once Kubernetes has acknowledged that the job has reached `phase`. `job` is namespace/name.
  void Reached(kube::v1::JobPhase phase, std::string_view job, std::string_view queue);
  // Ends the series of a job that is gone.
  void Forget(std::string_view job, std::string_view queue);
  obs::Metrics& registry() { return metrics_; }

 private:
  obs::Labels LabelsOf(std::string_view job, std::string_view queue) const;

  obs::Metrics& metrics_;
  const bool series_per_job_;
  obs::Counter& passes_;
  obs::Counter& status_writes_;
  obs::Counter& stale_records_;
  obs::Histogram& pod_creation_;
};

}  // namespace basalt::jobsvc
