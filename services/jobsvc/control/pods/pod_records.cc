#include "services/jobsvc/control/pods/pod_records.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// True if the status reports already that the work of that index is done.
bool IsDoneInStatus(const JobEntry& entry, PodIndex place) {
  if (!place.indexed()) return false;
  const auto done = entry.persisted.done.find(entry.pods.shape().tasks()[place.task].name);
  return done != entry.persisted.done.end() && done->second.contains(place.index);
}

}  // namespace

kube::v1::Pod PodFromRecord(std::string_view name, const JobEntry& entry, const storage::v1::PodRecord& record) {
  const auto has = [&record](PodFlag flag) { return (record.flags() & flag) != 0; };
  const std::string& uid = entry.record.uid();
  kube::v1::Pod pod;
  pod.set_namespace_(entry.ns);
  pod.set_name(std::string(name));
  pod.set_uid(record.uid());
  pod.set_resource_version(record.resource_version());
  pod.set_creation_ms(record.creation_ms());
  if (has(kPodTerminating)) pod.set_deletion_ms(std::max<int64_t>(1, record.deletion_ms()));
  pod.set_phase(static_cast<kube::v1::PodPhase>(record.phase()));
  if (!has(kPodForeign)) {
    pod.set_owner_uid(uid);
    pod.set_job_version(record.version());
  } else if (!has(kPodOrphan)) {
    pod.set_owner_uid("another");
  }
  if (has(kPodLabelled)) pod.set_job_uid_label(uid);
  pod.set_node_name(record.node_name());
  pod.set_task(record.task_name());
  pod.set_partition(record.partition());
  pod.set_out_of_sync(has(kPodOutOfSync));
  pod.set_all_ready(has(kPodReady));
  pod.set_restarts(record.restarts());
  pod.set_exit_code(record.exit_code());
  pod.set_finished_ms(record.finished_ms());
  pod.set_reason(record.reason());
  pod.set_disruption_reason(record.disruption_reason());
  pod.set_disruption_ms(record.disruption_ms());
  return pod;
}

void PodRecords::Store(const JobEntry& entry, const PodChange& change, const kube::v1::Pod* pod, PartHost& host,
                       kv::WriteBatch& batch) {
  if (!change.after.present()) {
    if (!change.before.present()) return;
    if (change.after.succeeded_gone && !IsDoneInStatus(entry, change.place)) {
      unreported_.insert(change.name);
    } else {
      batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, change.name));
    }
    return;
  }
  unreported_.erase(change.name);  // The record is this pod's now.
  storage::v1::PodRecord& record = host.ClearedPodRecord();
  record.set_uid(change.after.uid);
  record.set_resource_version(change.after.resource_version);
  record.set_phase(change.after.phase);
  record.set_flags(change.after.flags);
  record.set_version(change.after.version);
  record.set_task(change.place.task);
  record.set_index(change.place.index);
  record.set_restarts(change.after.restarts);
  record.set_exit_code(change.after.exit_code);
  record.set_observed_ms(absl::ToUnixMillis(host.Now()));
  if (pod != nullptr) {
    record.set_partition(pod->partition());
    record.set_creation_ms(pod->creation_ms());
    record.set_finished_ms(pod->finished_ms());
    record.set_node_name(pod->node_name());
    record.set_reason(pod->reason());
    record.set_task_name(pod->task());
    record.set_deletion_ms(pod->deletion_ms());
    record.set_disruption_reason(pod->disruption_reason());
    record.set_disruption_ms(pod->disruption_ms());
  }
  PutPod(entry.slot, entry.key, change.name, record, batch);
}

void PodRecords::DropReported(const JobEntry& entry, kv::WriteBatch& batch) {
  if (unreported_.empty()) return;
  const bool is_anothers =
      IsFinished(entry.job->status().phase()) && (entry.persisted.sequence == 0 || entry.persisted.overtaken);
  // Nothing is to be dropped unless the status has changed, an intent has work done again, or another controller has
  // ended the job.
  const std::vector<PodIndex>& again = entry.commit.again();
  if (!entry.job_dirty && again.empty() && !is_anothers) return;
  std::erase_if(unreported_, [&](const std::string& name) {
    const PodIndex place = entry.pods.shape().PlaceOf(name);
    const bool is_done = place.indexed() && entry.pods.done().by_task()[place.task].contains(place.index);
    if (is_done && !is_anothers && std::find(again.begin(), again.end(), place) == again.end() &&
        !IsDoneInStatus(entry, place)) {
      return false;
    }
    batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, name));
    return true;
  });
}

void PodRecords::DropUnreported(const JobEntry& entry, kv::WriteBatch& batch) {
  for (const std::string& name : std::exchange(unreported_, {})) {
    batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, name));
  }
}

void PodRecords::KeepEnded(const JobEntry& entry, const PodEntry& pod, kv::WriteBatch& batch) {
  if (!ended_.emplace(pod.uid, pod.version).second) return;
  storage::v1::EndedPod record;
  record.set_uid(pod.uid);
  record.set_version(pod.version);
  PutEndedPod(entry.slot, entry.key, record, batch);
}

void PodRecords::DropEnded(const JobEntry& entry, kv::WriteBatch& batch) {
  DropEndedBefore(entry, std::numeric_limits<int32_t>::max(), batch);
}

void PodRecords::DropOutdatedEnded(const JobEntry& entry, kv::WriteBatch& batch) {
  if (ended_.empty() || !entry.job_dirty) return;
  const kube::v1::JobStatus& status = entry.job->status();
  if (IsFinished(status.phase())) return DropEnded(entry, batch);
  DropEndedBefore(entry, status.version(), batch);
}

void PodRecords::DropAll(const JobEntry& entry, kv::WriteBatch& batch) {
  const std::string prefix = PodRecordPrefix(entry.slot, entry.key);
  batch.DeleteRange(kv::Family::kPods, prefix, kv::PrefixEnd(prefix));
  unreported_.clear();
  DropEnded(entry, batch);
}

void PodRecords::DropEndedBefore(const JobEntry& entry, int32_t version, kv::WriteBatch& batch) {
  std::erase_if(ended_, [&](const auto& pod) {
    if (pod.second >= version) return false;
    batch.Delete(kv::Family::kAux, EndedPodKey(entry.slot, entry.key, pod.first));
    return true;
  });
}

}  // namespace basalt::jobsvc
