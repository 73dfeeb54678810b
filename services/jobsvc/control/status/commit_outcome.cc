#include "services/jobsvc/control/status/commit_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/obs/log.h"
#include "services/jobsvc/control/actions/deadline_records.h"
#include "services/jobsvc/control/actions/pending_actions.h"
#include "services/jobsvc/control/job_events.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/decide/decision_words.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// Returns the pending action of the command that the newest commit was about, if history does not have the command's
// end yet. Null if there is none.
const storage::v1::PendingAction* UnreportedCommand(const storage::v1::JobRecord& record,
                                                    const ControlledState& persisted) {
  for (const storage::v1::PendingAction& pending : record.pending()) {
    if (!pending.command_uid().empty() && pending.command_uid() == persisted.last_command_uid) return &pending;
  }
  return nullptr;
}

// Puts the decision about the command that took effect into `late`: the kill that Kubernetes holds shows which one did.
// `late` comes with the entry of the intent, unless the intent was about something else.
void RecordCommandEnd(const storage::v1::PendingAction& command, const std::optional<Kill>& kill,
                      storage::v1::HistoryRecord& late) {
  using storage::v1::HistoryRecord;
  const bool began = kill && kill->cause == KillOf(command, 0).cause && kill->action == command.action();
  if (late.result() != HistoryRecord::RESULT_UNSPECIFIED &&
      began == (late.result() == HistoryRecord::RESULT_CARRIED_OUT))
    return;
  late.set_event(command.event());
  late.set_subject(command.subject());
  late.set_rule(command.rule());
  late.set_action(command.action());
  if (!ParseAction(command.action()).has_value()) {
    late.set_result(HistoryRecord::RESULT_REFUSED);
    late.set_outcome(NoSuchAction(command.action()));
    return;
  }
  late.set_result(began ? HistoryRecord::RESULT_CARRIED_OUT : HistoryRecord::RESULT_NOTHING_TO_DO);
  late.set_outcome(began ? "read back from Kubernetes" : "nothing was done; Kubernetes does not tell why");
}

}  // namespace

// The record is older than the state that Kubernetes holds, and is dropped. The observed state becomes the baseline,
// and every event that can be read from the present is raised.
void CommitOutcome::Rebaseline(JobEntry& entry, kv::WriteBatch& batch) {
  if (!entry.record.status_unread()) {
    obs::LogWarning("the record of a job is stale and is made anew", {{"job", entry.key}});
    host_.metrics().StaleRecord();
  }
  std::vector<kube::v1::Pod> known;
  const absl::Status read = ForEachPod(host_.context().store(), entry.slot, entry.key,
                                       [&](std::string_view name, const storage::v1::PodRecord& record) {
                                         if (entry.pod_records.IsUnreportedSuccess(name)) return;
                                         known.push_back(PodFromRecord(name, entry, record));
                                       });
  if (!read.ok()) return host_.context().Fail(read);
  entry.pod_records.DropAll(entry, batch);
  entry.unreported_answered.clear();
  const std::string uid = entry.record.uid();
  const int64_t resource_version = entry.record.resource_version();
  const int64_t recorded_generation = entry.record.recorded_generation();
  const int64_t refused_since_ms = entry.record.refused_since_ms();
  entry.record.Clear();
  entry.record.set_uid(uid);
  entry.record.set_namespace_(entry.ns);
  entry.record.set_name(entry.name);
  entry.record.set_resource_version(resource_version);
  entry.record.set_recorded_generation(recorded_generation);
  entry.record.set_committed_sequence(entry.persisted.sequence);
  entry.record.set_committed_nonce(entry.persisted.nonce);
  entry.record.set_recorded_phase(entry.job->status().phase());
  entry.record.set_refused_since_ms(refused_since_ms);
  StoreEvents(entry);
  AdoptDeadlines(entry);
  entry.newest_status.DoubtUnrecorded(entry.job->status().phase());
  entry.record.set_status_unread(entry.newest_status.is_doubted());
  entry.record_dirty = true;
  const std::vector<TaskShape> shape = entry.pods.shape().tasks();
  entry.pods.Reset(entry.name, uid);
  entry.pods.SetTasks(shape);
  // Only the present state of the pods raises events.
  for (kube::v1::Pod& pod : known) entry.pod_changes.ObserveEarlier(std::move(pod));
  entry.pods.SetRules(RulesOf(entry.job->status(), entry.persisted));
  for (size_t task = 0; task < shape.size(); ++task) {
    const auto done = entry.persisted.done.find(shape[task].name);
    if (done == entry.persisted.done.end()) continue;
    for (int32_t index : done->second) entry.pods.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
}

// A commit of ours took effect after the record had given it up: its answer was lost together with its process. History
// records the transition all the same, once.
void CommitOutcome::RecordLate(JobEntry& entry, kv::WriteBatch& batch) {
  const storage::v1::JobRecord& record = entry.record;
  const storage::v1::HistoryRecord& meant = record.intent().history_entry();
  // More than one commit is missing: they were made from another disk.
  if (entry.persisted.sequence > record.committed_sequence() + 1) return;
  const kube::v1::JobStatus& status = entry.job->status();
  // There is one condition for each phase, the newest last. The condition before it names the phase that the job came
  // from.
  const int conditions = status.conditions_size();
  const bool came_from_somewhere = conditions >= 2 && status.conditions(conditions - 1).phase() == status.phase();
  const kube::v1::JobPhase from =
      came_from_somewhere ? status.conditions(conditions - 2).phase() : kube::v1::JOB_PHASE_UNSPECIFIED;
  kube::v1::JobPhase last = record.recorded_phase();
  if (last == kube::v1::JOB_PHASE_UNSPECIFIED) {
    // Either history has no entry yet, or a version that did not record the phase wrote the record.
    const auto recorded = history_.Read(entry.slot, record.uid());
    if (!recorded.ok()) return host_.context().Fail(recorded.status());
    last = from;
    for (const storage::v1::HistoryRecord& known : *recorded) {
      if (known.committed() && known.generation() == 0) last = known.to_phase();
    }
  }
  // A command is recorded in any case: somebody may wait for its result.
  const storage::v1::PendingAction* const command = UnreportedCommand(record, entry.persisted);
  if (last == status.phase() && command == nullptr) return;
  storage::v1::HistoryRecord late;
  const bool is_meant = command == nullptr ? meant.to_phase() == status.phase()
                                           : record.intent().consumed() > 0 && &record.pending(0) == command;
  if (record.intent().has_history() && is_meant) {
    late = meant;
  } else {
    late.set_time_ms(absl::ToUnixMillis(host_.Now()));
    late.set_event("OutOfSync");
    late.set_action("SyncJob");
    late.set_rule("read back from Kubernetes");
    *late.mutable_counts() = status.counts();
    late.set_version(status.version());
  }
  if (command != nullptr) RecordCommandEnd(*command, entry.persisted.kill, late);
  late.set_sequence(entry.persisted.sequence);
  late.set_from_phase(last == status.phase() ? last : from);
  late.set_to_phase(status.phase());
  late.set_committed(true);
  if (late.from_phase() != late.to_phase())
    host_.metrics().Reached(late.to_phase(), entry.key, entry.compiled->spec.queue());
  HistoryStore::Put(entry.slot, record.uid(), late, batch);
  entry.history_count.reset();
}

bool CommitOutcome::Resolve(JobEntry& entry, kv::WriteBatch& batch) {
  const bool is_meant = entry.record.has_intent();
  switch (ShownOf(entry.record, entry.persisted)) {
    case CommitShown::kCommitted:
      RecordCommitted(entry, batch);
      return true;
    case CommitShown::kStale:
      entry.commit.GiveUp();
      // A record that was begun with an old status does not know which commits came before.
      if (!entry.record.status_unread()) RecordLate(entry, batch);
      Rebaseline(entry, batch);
      if (is_meant) return true;
      break;
    case CommitShown::kNotYet:
      if (entry.commit.under_way() || entry.newest_status.is_doubted()) return false;
      entry.commit.DropIntent(entry);
      break;
    case CommitShown::kNothing:
      break;
  }
  return !host_.Waits(entry, entry.commit.retry());
}

void CommitOutcome::RecordCommitted(JobEntry& entry, kv::WriteBatch& batch) {
  storage::v1::JobRecord& record = entry.record;
  const storage::v1::Intent& intent = record.intent();
  record.set_committed_sequence(intent.sequence());
  record.set_committed_nonce(intent.nonce());
  record.set_last_status_ms(absl::ToUnixMillis(host_.Now()));
  const int consumed = std::min<int>(intent.consumed(), record.pending_size());
  if (intent.has_history()) {
    storage::v1::HistoryRecord history = intent.history_entry();
    history.set_committed(true);
    HistoryStore::Put(entry.slot, record.uid(), history, batch);
    if (intent.kills()) history_.OpenKill(entry, history.sequence(), batch);
    record.set_recorded_phase(history.to_phase());
    history_.Trim(entry, batch);
    // W22: the end is counted after the write.
    if (history.to_phase() != history.from_phase()) {
      host_.metrics().Reached(history.to_phase(), entry.key, entry.compiled->spec.queue());
    }
  }
  const std::vector<storage::v1::PendingAction> done(record.pending().begin(), record.pending().begin() + consumed);
  record.mutable_pending()->DeleteSubrange(0, consumed);
  DropAnsweredEnds(done, entry);
  ClearDeadlines(entry, done);
  record.clear_intent();
  entry.record_dirty = true;
  // A commit of an earlier process proves nothing about our watch; only our own ends the doubt.
  if (entry.commit.under_way()) entry.newest_status.EndDoubt();
  entry.commit.Resolve(entry);
  entry.unreported_answered.clear();
}

}  // namespace basalt::jobsvc
