#include "services/jobsvc/control/pods/pod_changes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

PodFacts FactsOf(const kube::v1::Pod& pod, const JobControllerOptions& options) {
  return {.deletion_ms = pod.deletion_ms(),
          .finished_ms = pod.finished_ms(),
          .creation_ms = pod.creation_ms(),
          .reason = pod.reason(),
          .last_exit_code = pod.last_exit_code(),
          .disruption_reason = pod.disruption_reason(),
          .disruption_ms = pod.disruption_ms(),
          .reads_evictions = !options.upstream_evictions};
}

// The API server's clock is known to within a second.
int64_t AliveByRecord(int64_t seen_ms) { return std::max<int64_t>(seen_ms - 1000, 0); }

// Returns why Kubernetes was about to end the pod, which is gone without a last state. Empty if the record has no
// reason.
std::string RecordedDisruption(const JobEntry& entry, std::string_view name, PartHost& host) {
  const auto record = ReadPod(host.context().store(), entry.slot, entry.key, name);
  if (!record.ok()) host.context().Fail(record.status());
  return record.ok() && *record ? (*record)->disruption_reason() : std::string();
}

}  // namespace

void PodChanges::Observe(kube::v1::Pod&& pod) {
  std::vector<Change>& changes = changes_[pod.name()];
  if (!changes.empty() && changes.back().uid == pod.uid() && changes.back().gone == GoneReason::kNotGone) {
    changes.back().state = std::move(pod);
    return;
  }
  std::string uid = pod.uid();
  changes.push_back({std::move(pod), GoneReason::kNotGone, std::move(uid)});
}

void PodChanges::ObserveEnd(const runtime::Gone& gone) {
  Change end;
  end.uid = gone.uid;
  end.gone = gone.reason == runtime::Gone::Reason::kLeft ? GoneReason::kLeft : GoneReason::kDeleted;
  // A tombstone whose state was dropped carries the identity only.
  if (gone.last != nullptr && gone.last->has_pod() && gone.last->pod().phase() != kube::v1::POD_PHASE_UNSPECIFIED) {
    end.state = gone.last->pod();
  }
  std::vector<Change>& changes = changes_[gone.name];
  if (!changes.empty() && changes.back().uid == gone.uid) {
    if (!end.state) end.state = std::move(changes.back().state);
    changes.pop_back();
  }
  changes.push_back(std::move(end));
}

void PodChanges::ObserveEarlier(kube::v1::Pod&& pod) {
  std::vector<Change>& changes = changes_[pod.name()];
  const bool is_over = std::any_of(changes.begin(), changes.end(), [&pod](const Change& change) {
    return change.uid == pod.uid() || change.gone == GoneReason::kNotGone;
  });
  if (is_over) return;
  std::string uid = pod.uid();
  changes.insert(changes.begin(), {std::move(pod), GoneReason::kNotGone, std::move(uid)});
}

bool PodChanges::IsNewest(const std::string& name, const std::string& uid) const {
  const auto it = changes_.find(name);
  return it != changes_.end() && it->second.back().uid == uid;
}

// Returns the changes in the order in which the pods ended: the last end completes a task, whatever the name of the
// pod.
std::vector<PodChanges::ByName::iterator> PodChanges::InOrder() {
  std::vector<ByName::iterator> order;
  order.reserve(changes_.size());
  for (auto it = changes_.begin(); it != changes_.end(); ++it) order.push_back(it);
  const auto finished_ms = [](ByName::iterator it) {
    const std::optional<kube::v1::Pod>& newest = it->second.back().state;
    return newest ? newest->finished_ms() : 0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](ByName::iterator a, ByName::iterator b) { return finished_ms(a) < finished_ms(b); });
  return order;
}

std::vector<JobEvent> PodChanges::Apply(JobEntry& entry, PartHost& host, kv::WriteBatch& batch) {
  std::vector<JobEvent> events;
  // All events of a pass have one moment, so that their deadlines are due together.
  const int64_t now_ms = absl::ToUnixMillis(host.Now());
  for (const ByName::iterator it : InOrder()) {
    for (const Change& change : it->second) ApplyOne(entry, it->first, change, now_ms, events, host, batch);
    entry.pod_writes.EndHold(it->first);
  }
  watches_ = true;
  changes_.clear();
  return events;
}

void PodChanges::ApplyOne(JobEntry& entry, const std::string& name, const Change& observed, int64_t now_ms,
                          std::vector<JobEvent>& events, PartHost& host, kv::WriteBatch& batch) {
  PodRecords& records = entry.pod_records;
  const kube::v1::Pod* const state = observed.state ? &*observed.state : nullptr;
  const bool is_gone = observed.gone != GoneReason::kNotGone;
  if (records.HasEnded(observed.uid)) {
    // The end of the pod is announced once more. The record of a pod stays until the status reports its success, and a
    // restart may have taken that record for a pod.
    if (is_gone) records.Store(entry, entry.pods.Remove(name, observed.uid), nullptr, host, batch);
    return;
  }
  const int32_t version = entry.job->status().version();
  // Another replica may have answered the event, or this one before it lost its disk.
  const std::vector<std::string>& known_answered = entry.persisted.answered;
  const bool was_answered =
      is_gone && std::find(known_answered.begin(), known_answered.end(), observed.uid) != known_answered.end();
  bool answered = was_answered;
  bool was_evicted = false;
  const auto derive = [&](const PodChange& change, const PodFacts& facts, GoneReason gone) {
    if (was_answered) return;
    if (!change.place.indexed() || change.place.task >= entry.compiled->spec.tasks_size()) return;
    const auto& task = entry.compiled->spec.tasks(change.place.task);
    for (JobEvent& event :
         EventsOf(change, facts, gone, version, task.replicas(),
                  task.has_max_retry() ? std::optional<int32_t>(task.max_retry()) : std::nullopt, now_ms)) {
      answered = answered || !ApplyPolicies(entry.compiled->spec, event).action.empty();
      was_evicted = was_evicted || event.kind == kEventPodEvicted;
      events.push_back(std::move(event));
    }
  };
  const PodEntry* known = entry.pods.Find(name);
  const bool was_known = known != nullptr && known->uid == observed.uid;
  PodFacts facts = state != nullptr ? FactsOf(*state, host.options()) : PodFacts{.is_seen = false};
  if (state == nullptr && was_known) facts.disruption_reason = RecordedDisruption(entry, name, host);
  if (was_known && !known->terminal()) facts.alive_ms = watches_ ? now_ms : AliveByRecord(known->seen_ms);
  // Another pod has the name by now, or has done the work in no older version. The end of this pod is answered, but
  // leaves the other pod, or its work, and the record as they are.
  std::optional<PodEntry> successor;
  if (is_gone && !was_known) {
    const PodEntry* holder = entry.pods.HolderOf(name);
    if (holder != nullptr && (holder->present() || state == nullptr || holder->version >= state->job_version())) {
      successor = *holder;
    }
  }
  if (state != nullptr && (!was_known || state->resource_version() > known->resource_version || !is_gone)) {
    PodChange change = entry.pods.Apply(*state);
    // The counts of the task go on without this pod.
    if (successor) change.task_before = change.task_after = {};
    derive(change, facts, GoneReason::kNotGone);
    if (was_evicted) {  // W20: an eviction counts once, and not again when the pod is gone.
      entry.pods.AddFlag(name, kPodEvictionSeen);
      change.after.flags |= kPodEvictionSeen;
    }
    if (answered) {
      entry.pods.AddFlag(name, kPodAnswered);
      change.after.flags |= kPodAnswered;
    }
    if (!successor) records.Store(entry, change, state, host, batch);
  }
  if (!is_gone) return;
  const PodChange change = entry.pods.Remove(name, observed.uid);
  if (was_known) derive(change, facts, observed.gone);
  if (successor) {
    if (change.before.present()) entry.pods.PutBack(name, *successor);
  } else {
    records.Store(entry, change, nullptr, host, batch);
  }
  // Nothing has to be kept of a pod that this disk never knew.
  if (change.before.present() && (answered || change.before.has(kPodAnswered))) {
    records.KeepEnded(entry, change.before, batch);
  }
}

void PodChanges::ApplyWithoutJob(JobEntry& entry, PartHost& host, kv::WriteBatch& batch) {
  for (auto it = changes_.begin(); it != changes_.end();) {
    bool keep = false;
    for (const Change& change : it->second) {
      keep = false;
      if (change.gone != GoneReason::kNotGone) {
        entry.pod_records.Store(entry, entry.pods.Remove(it->first, change.uid), nullptr, host, batch);
      } else if (entry.stored && change.state->owner_uid() == entry.record.uid()) {
        entry.pod_records.Store(entry, entry.pods.Apply(*change.state), &*change.state, host, batch);
      } else {
        keep = true;  // Its job may be about to come.
      }
    }
    it = keep ? std::next(it) : changes_.erase(it);
  }
}

}  // namespace basalt::jobsvc
