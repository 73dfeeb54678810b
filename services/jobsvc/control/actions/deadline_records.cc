#include "services/jobsvc/control/actions/deadline_records.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/control/actions/pending_actions.h"
#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// True if the pod is still Pending, and is neither about to go nor foreign. `known` is the pod's record.
bool IsPending(const PodEntry* pod, const storage::v1::PodRecord& known) {
  return pod != nullptr && pod->uid == known.uid() && pod->phase == kube::v1::POD_PHASE_PENDING &&
         !pod->has(kPodTerminating) && !pod->has(kPodForeign) && !pod->has(kPodOutOfSync);
}

JobEvent PendingEventOf(std::string_view name, PodIndex place, const PodEntry& pod,
                        const storage::v1::PodRecord& record, absl::Time now) {
  JobEvent event;
  event.kind = kEventPodPending;
  event.task = place.task;
  event.index = place.index;
  event.pod = name;
  event.pod_uid = pod.uid;
  event.reason = record.reason();
  event.version = pod.version;
  // The pod is Pending since its creation. The deadline of a pod that ran before starts later, but was kept in the
  // store.
  event.time_ms = LatestTimeOf(record.creation_ms(), absl::ToUnixMillis(now));
  return event;
}

}  // namespace

void AdoptDeadlines(JobEntry& entry) {
  entry.deadlines_derived = true;
  entry.deadlines.Reset();
  for (const storage::v1::PendingAction& deadline : entry.persisted.deadlines) entry.deadlines.Add(deadline);
}

void DeriveDeadlines(JobEntry& entry, PartHost& host) {
  entry.deadlines_derived = true;
  const kube::v1::JobSpec& spec = entry.compiled->spec;
  if (!HasTimeouts(spec)) return;
  std::set<std::string_view> due;  // Pods whose deadline is pending already.
  for (const storage::v1::PendingAction& pending : entry.record.pending()) {
    if (pending.due_ms() != 0) due.insert(pending.pod());
  }
  const auto derive = [&](std::string_view name, const storage::v1::PodRecord& record) {
    const PodEntry* const pod = entry.pods.Find(name);
    const PodIndex place = entry.pods.shape().PlaceOf(name);
    if (!place.indexed() || place.task >= spec.tasks_size()) return;
    if (!IsPending(pod, record) || due.contains(name)) return;
    // A deadline that was kept for this pod is newer, and has taken the place of the derived one.
    if (entry.deadlines.Find(std::string(name)) != nullptr) return;
    const JobEvent event = PendingEventOf(name, place, *pod, record, host.Now());
    const PolicyMatch match = ApplyPolicies(spec, event);
    storage::v1::PendingAction action = ActionOf(event, match, spec);
    if (!match.action.empty() && action.due_ms() != 0) entry.deadlines.Add(std::move(action));
  };
  const absl::Status status = ForEachPod(host.context().store(), entry.slot, entry.key, derive);
  if (!status.ok()) host.context().Fail(status);
}

void FireDueDeadlines(JobEntry& entry, PartHost& host, kv::WriteBatch& batch) {
  DeadlineSet& deadlines = entry.deadlines;
  deadlines.SetVersion(entry.job->status().version());
  // No action follows the end of a job; the status lost its deadlines with the last transition.
  if (IsFinished(entry.job->status().phase()) && !deadlines.empty()) deadlines.Reset();
  if (!deadlines.empty()) {
    for (storage::v1::PendingAction& due : deadlines.TakeDue(absl::ToUnixMillis(host.Now()), entry.pods)) {
      *entry.record.add_pending() = std::move(due);
      entry.record_dirty = true;
    }
    if (const auto next = deadlines.NextDue()) host.WakeAt(entry, absl::FromUnixMillis(*next));
  }
  StoreDeadlines(entry, batch);
}

void ClearDeadlines(JobEntry& entry, const std::vector<storage::v1::PendingAction>& done) {
  CarriedOut carried_out;
  for (const storage::v1::PendingAction& action : done) {
    if (carried_out.Add(action)) entry.deadlines.Clear(action);
  }
  PendingActions& pending = *entry.record.mutable_pending();
  for (int i = pending.size() - 1; i >= 0; --i) {
    if (pending.Get(i).due_ms() != 0 && carried_out.ThatClears(pending.Get(i)) != nullptr) pending.DeleteSubrange(i, 1);
  }
}

void StoreDeadlines(JobEntry& entry, kv::WriteBatch& batch) {
  for (const std::string& pod : entry.deadlines.TakeChanged()) {
    const storage::v1::PendingAction* const deadline = entry.deadlines.Find(pod);
    if (deadline != nullptr && IsKept(*deadline)) {
      PutDeadline(entry.slot, entry.key, *deadline, batch);
    } else {
      batch.Delete(kv::Family::kAux, DeadlineKey(entry.slot, entry.key, pod));
    }
  }
}

}  // namespace basalt::jobsvc
