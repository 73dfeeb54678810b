// How JobController takes in a job that has no record.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/jobsvc/control/actions/deadline_records.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

// Starts a job that has no record: it is new to the cluster, or to this disk. The observed state becomes the baseline.
void JobController::StartJob(JobEntry& entry, kv::WriteBatch& batch) {
  const kube::v1::Job& job = *entry.job;
  if (entry.compiled) metrics_.Forget(entry.key, entry.compiled->spec.queue());
  std::vector<std::pair<std::string, storage::v1::PodRecord>> others;
  if (entry.pods.known() > 0) {
    const absl::Status read = ForEachPod(context_.store(), entry.slot, entry.key,
                                         [&](std::string_view name, const storage::v1::PodRecord& record) {
                                           if (!entry.pod_records.IsUnreportedSuccess(name))
                                             others.emplace_back(name, record);
                                         });
    if (!read.ok()) return context_.Fail(read);
  }
  entry.pod_records.DropUnreported(entry, batch);
  entry.pod_records.DropEnded(entry, batch);
  entry.unreported_answered.clear();
  entry.record.Clear();
  entry.record.set_uid(job.meta().uid());
  entry.record.set_namespace_(entry.ns);
  entry.record.set_name(entry.name);
  entry.record.set_committed_sequence(entry.persisted.sequence);
  entry.record.set_committed_nonce(entry.persisted.nonce);
  entry.record.set_recorded_phase(job.status().phase());
  AdoptDeadlines(entry);
  entry.record_dirty = true;
  entry.pods.Reset(entry.name, job.meta().uid());
  for (auto& [name, record] : others) {
    // Pods of the job before hold their names until they are gone.
    record.set_flags((record.flags() | kPodForeign) & ~uint32_t{kPodLabelled});
    entry.pods.Restore(name, record);
    PutPod(entry.slot, entry.key, name, record, batch);
  }
  entry.claims.StopAwaiting(entry, host_);
  StopFollowing(entry);
  entry.compiled.reset();
  entry.ResetParts();
  entry.newest_status.DoubtUnrecorded(job.status().phase());
  entry.record.set_status_unread(entry.newest_status.is_doubted());
  entry.events = {};
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  HistoryStore::Begin(entry.slot, entry.key, job.meta().uid(),
                      job.meta().creation_ms() != 0 ? job.meta().creation_ms() : now_ms, batch);
}

}  // namespace basalt::jobsvc
