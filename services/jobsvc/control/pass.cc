// The recording half of JobController: a pass decides and puts everything into the batch. pod_changes.cc and
// group_changes.cc apply the observed changes, and commit_outcome.cc finds the outcome of earlier decisions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "services/jobsvc/control/actions/deadline_records.h"
#include "services/jobsvc/control/actions/pending_actions.h"
#include "services/jobsvc/control/cluster/queue_problem.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/control/status/shown_state.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// Ends the problems of writes that the job no longer needs.
void EndProblems(JobEntry& entry, const GroupView& group) {
  entry.pod_writes.EndProblem(entry);
  entry.command_cleanup.EndProblem(entry);
  entry.pod_creates.EndProblems(entry);
  if (MakesPods(entry.job->status().phase())) return;
  entry.problems.End("PluginError");
  entry.problems.End("PVCError");
  if (!group.present) entry.problems.End("PodGroupError");
}

// Records since when the spec is refused. A refusal lasts while one spec after the other is refused, whatever happens
// to the job meanwhile. If no time is recorded, a status that names the refusal has the latest possible time: that of
// its transition. In phases that make no pods a write leaves that time as it was, so that it proves nothing.
void FollowRefusal(JobEntry& entry, absl::Time now) {
  const bool was_refused = entry.record.refused_since_ms() != 0;
  if (entry.compiled->invalid() == was_refused) return;
  int64_t since_ms = 0;
  if (!was_refused) {
    const kube::v1::JobStatus& status = entry.job->status();
    const bool is_reported = status.reason() == entry.compiled->refusal.reason && MakesPods(status.phase());
    since_ms = is_reported ? status.last_transition_ms() : 0;
    if (since_ms == 0) since_ms = absl::ToUnixMillis(now);
  }
  entry.record.set_refused_since_ms(since_ms);
  entry.record_dirty = true;
}

}  // namespace

// Runs a pass over one job. The order matters: the status sets the rules by which pods are counted, and events come
// before the conclusions of a plain sync (W11).
void JobController::Decide(std::string_view key, kv::WriteBatch& batch) {
  JobEntry* found = Lookup(key);
  if (found == nullptr) return;
  JobEntry& entry = *found;
  metrics_.Pass();
  if (!entry.job) {
    if (!entry.IsUncertain()) Forget(entry, batch);
    return;
  }
  if (!entry.has_uid(entry.job->meta().uid())) StartJob(entry, batch);
  if (entry.record.resource_version() != entry.job->meta().resource_version()) {
    entry.record.set_resource_version(entry.job->meta().resource_version());
    entry.record_dirty = true;
  }
  Recompile(entry, batch);
  if (!entry.deadlines_derived) DeriveDeadlines(entry, host_);
  const bool is_resolved = outcome_.Resolve(entry, batch);
  history_.RecordPhaseEdit(entry, batch);
  if (entry.record.status_unread() && !entry.newest_status.is_doubted()) {
    entry.record.set_status_unread(false);
    entry.record_dirty = true;
  }
  if (!entry.record.status_unread()) {
    ApplyChanges(entry, is_resolved, batch);
  } else {
    // Changes of pods wait: their results under an old status would be lost with the record that began with it. The
    // deadlines of the status are stored together with the record, since a process that finds a record adopts none.
    StoreDeadlines(entry, batch);
  }
  entry.job_dirty = false;
  if (entry.events.TakeChange()) StoreEvents(entry);
  if (entry.record_dirty) {
    PutJob(entry.slot, entry.key, entry.record, batch);
    entry.stored = true;
    entry.record_dirty = false;
  }
  const uint64_t state = ShownStateOf(entry, GroupOf(entry), entry.compiled ? QueueOf(entry) : QueueView());
  publisher_.PublishIfChanged(entry.slot, entry.key, state, entry.shown, batch);
}

void JobController::ApplyChanges(JobEntry& entry, bool is_resolved, kv::WriteBatch& batch) {
  const bool is_doubted = entry.newest_status.is_doubted();
  if (!is_doubted) entry.plugin_objects.Load(entry);
  FollowRefusal(entry, context_.ApiNow());
  if (!entry.pods.has_reported()) {
    entry.pods.SetRules(RulesOf(entry.job->status(), entry.persisted));
    entry.pods.SetReported(entry.job->status(), entry.persisted.done);
  }
  std::vector<JobEvent> events = entry.pod_changes.Apply(entry, host_, batch);
  entry.group_changes.Apply(entry, host_, events);
  QueueActions(entry, std::move(events));
  if (entry.record.open_kill() != 0) history_.RecordKillEnd(entry, batch);
  if (!is_doubted) EnqueueNextCommand(entry);
  entry.pod_records.DropOutdatedEnded(entry, batch);
  FireDueDeadlines(entry, host_, batch);
  if (is_resolved && !is_doubted) DecideStatus(entry);
  entry.pod_records.DropReported(entry, batch);
}

// The job is not there. Its pods keep their records until they are gone, since they hold their names.
void JobController::Forget(JobEntry& entry, kv::WriteBatch& batch) {
  entry.claims.StopAwaiting(entry, host_);
  if (entry.stored && !entry.record.gone()) {
    entry.record.set_gone(true);
    entry.record.clear_intent();
    entry.record.clear_pending();
    entry.record.clear_events();
    entry.events = {};
    entry.record_dirty = true;
    if (entry.compiled) metrics_.Forget(entry.key, entry.compiled->spec.queue());
    entry.ttl.RecordEnd(entry, context_.ApiNow(), batch);
    const absl::Status status = history_.End(entry, batch);
    if (!status.ok()) return context_.Fail(status);
  }
  // The job may have been published once more after its end was recorded.
  publisher_.PublishEnd(entry.slot, entry.key, entry.record.uid(), entry.shown, batch);
  if (entry.stored && entry.record.recorded_generation() != 0) {
    batch.Delete(kv::Family::kAux, SpecKey(entry.slot, entry.key));
    entry.record.set_recorded_generation(0);
    entry.record_dirty = true;
  }
  entry.deadlines.Reset();
  StoreDeadlines(entry, batch);
  entry.pod_records.DropEnded(entry, batch);
  entry.pod_changes.ApplyWithoutJob(entry, host_, batch);
  entry.pod_records.DropUnreported(entry, batch);
  const bool empty = entry.pods.known() == 0 && entry.pod_changes.empty();
  if (empty && entry.stored) {
    batch.Delete(kv::Family::kRecords, JobRecordKey(entry.slot, entry.key));
    entry.stored = false;
    entry.record_dirty = false;
    entry.record.Clear();
    entry.group_sync.Forget();
  }
  if (empty && entry.groups.empty() && entry.commands.empty()) {
    Erase(entry);
    return;
  }
  if (entry.record_dirty) {
    PutJob(entry.slot, entry.key, entry.record, batch);
    entry.record_dirty = false;
  }
}

void JobController::DecideStatus(JobEntry& entry) {
  const absl::Time now = context_.ApiNow();
  const GroupView& group = GroupOf(entry);
  const CompiledSpec& compiled = *entry.compiled;
  const std::map<std::string, std::string> markers = entry.plugin_objects.Markers(entry);
  // In other phases objects are expected once for each spec (Recompile): an object that was removed must not be
  // expected again because its marker is still in the status.
  if (MakesPods(entry.job->status().phase())) entry.plugin_objects.Expect(entry);
  EndProblems(entry, group);
  ReportQueue(entry, host_);
  const StatusMessage& words = compiled.invalid()        ? compiled.refusal
                               : !entry.problems.empty() ? entry.problems.Reported()
                                                         : compiled.warning;
  // A write of counts alone is due after a delay from the first difference, and after an interval from the last write.
  absl::Time due = std::max(entry.commit.differs_since.value_or(now) + host_.options().counts_delay,
                            absl::FromUnixMillis(entry.record.last_status_ms()) + host_.options().counts_interval);
  // A later time is possible only if the clock was set back.
  if (due > now + host_.options().counts_delay + host_.options().counts_interval) due = now;
  const DecideInput input{
      .job = *entry.job,
      .spec = compiled.spec,
      .persisted = entry.persisted,
      .pods = entry.pods,
      .pending = entry.record.pending(),
      .deadlines = entry.deadlines,
      .group_uid = group.uid,
      .words = words,
      .invalid = compiled.invalid(),
      .objects = entry.plugin_objects.made().all(),
      .wanted_objects = compiled.objects,
      .markers = markers,
      .unreported_answered = entry.unreported_answered,
      .last_sequence = entry.record.committed_sequence(),
      .now_ms = absl::ToUnixMillis(now),
      .counts_due = now >= due,
      .draw_nonce = [this] { return fmt::format("{:08x}", static_cast<uint32_t>(context_.random().Next())); }};
  Decision decision = jobsvc::Decide(input);
  for (PendingEvent& refusal : decision.refusals) entry.pending_events.push_back(std::move(refusal));
  for (const std::string& uid : decision.answered) AddAnswered(uid, entry.unreported_answered);
  if (decision.dropped > 0) {
    entry.record.mutable_pending()->DeleteSubrange(0, decision.dropped);
    entry.record_dirty = true;
  }
  switch (decision.write) {
    case Decision::Write::kNone:
      entry.commit.differs_since.reset();
      return;
    case Decision::Write::kCounts:
      if (!entry.commit.differs_since) entry.commit.differs_since = now;
      if (now < due) {
        context_.WakeAt(entry.key, due);
        return;
      }
      break;
    case Decision::Write::kNow:
      break;
  }
  entry.commit.Record(entry, std::move(decision));
}

}  // namespace basalt::jobsvc
