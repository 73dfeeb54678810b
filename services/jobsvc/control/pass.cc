// The recording half of JobController: a pass decides and puts everything into the batch. What it judges by is in
// observed_changes.cc, what became of earlier decisions in commit_outcome.cc.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/kube/resources/min_resources.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/render/pod_group.h"
#include "services/jobsvc/core/render/volumes.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

// What is not wanted any more is no problem.
void EndProblems(JobEntry& entry, const GroupView& group) {
  if (entry.pods.to_mark().empty() && entry.pods.to_delete().empty()) {
    entry.pod_writes.kill_retry.Succeed();
    entry.pod_writes.kills_after.clear();
    if (MakesPods(entry.job->status().phase()) || entry.plugin_objects.made.empty()) entry.problems.End("FailedDelete");
  }
  const bool has_carried_out = std::any_of(entry.commands.begin(), entry.commands.end(), [&](const auto& command) {
    return command.second.meta().uid() == entry.persisted.last_command_uid;
  });
  if (!has_carried_out) {
    entry.command_cleanup.retry.Succeed();
    entry.problems.End("CommandError");
  }
  // Also of one whose last pod was there all the time.
  const auto has_all = [&facts = entry.pods.facts()](int32_t task) { return !facts.MissesPods(task); };
  if (std::erase_if(entry.pod_writes.refused_tasks, has_all) > 0 && entry.pod_writes.refused_tasks.empty()) {
    entry.pod_writes.probe_retry.Succeed();
    entry.EndFailedCreate();
  }
  if (entry.pods.missing().empty()) entry.EndFailedCreate();
  if (MakesPods(entry.job->status().phase())) return;
  entry.pod_writes.refused_tasks.clear();
  entry.pod_writes.held_name.clear();
  entry.pod_writes.probe_retry.Succeed();
  for (const std::string_view made : {"PluginError", "PVCError", "FailedCreate"}) entry.problems.End(made);
  if (!group.present) entry.problems.End("PodGroupError");
}

// A refusal lasts while one spec after the other is refused, whatever becomes of the job meanwhile. Of one that nothing
// is recorded of the status tells, at the latest: but where no pods are made a write leaves the time of the transition
// as it is.
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

// A pass over one job. The order matters: the status says under which rules pods are counted, and events come before
// what a plain sync would conclude (W11).
void JobController::Decide(std::string_view key, kv::WriteBatch& batch) {
  JobEntry* found = Lookup(key);
  if (found == nullptr) return;
  JobEntry& entry = *found;
  metrics_.Pass();
  if (!entry.job) {
    // A snapshot has left it out, and nobody has said that it is gone: absence is not deletion.
    const bool uncertain = entry.stored && !entry.record.gone() && !entry.job_dirty;
    if (!uncertain) Forget(entry, batch);
    return;
  }
  if (!entry.has_uid(entry.job->meta().uid())) StartJob(entry, batch);
  if (entry.record.resource_version() != entry.job->meta().resource_version()) {
    entry.record.set_resource_version(entry.job->meta().resource_version());
    entry.record_dirty = true;
  }
  Recompile(entry, batch);
  if (!entry.deadlines_derived) DeriveDeadlines(entry);
  const bool may_decide = ResolvePendingCommit(entry, batch);
  FollowRefusal(entry, context_.ApiNow());
  if (!entry.pods.has_reported()) {
    entry.pods.SetRules(RulesOf(entry.job->status(), entry.persisted));
    entry.pods.SetReported(entry.job->status(), entry.persisted.done);
  }
  ApplyPodChanges(entry, batch);
  if (entry.record.open_kill() != 0) RecordKillEnd(entry, batch);
  EnqueueNextCommand(entry);
  FireDueDeadlines(entry, batch);
  if (may_decide) DecideStatus(entry);
  if (!entry.unreported_done.empty()) ForgetReportedDone(entry, batch);
  entry.job_dirty = false;
  if (entry.events.TakeChange()) StoreEvents(entry);
  if (entry.record_dirty) {
    PutJob(entry.slot, entry.key, entry.record, batch);
    entry.stored = true;
    entry.record_dirty = false;
  }
  NoteShown(entry, batch);
}

// The job is not there. Its pods keep their records until they are gone: their names are held.
void JobController::Forget(JobEntry& entry, kv::WriteBatch& batch) {
  StopAwaiting(entry);
  if (entry.stored && !entry.record.gone()) {
    entry.record.set_gone(true);
    entry.record.clear_intent();
    entry.record.clear_pending();
    entry.record.clear_events();
    entry.events = {};
    entry.record_dirty = true;
    if (entry.compiled) metrics_.Forget(entry.key, entry.compiled->spec.queue());
    RecordTtlDeletion(entry, batch);
    const absl::Status status =
        history_.End(entry.slot, entry.key, entry.record.uid(), absl::ToUnixMillis(context_.ApiNow()), batch);
    if (!status.ok()) return context_.Fail(status);
  }
  // It may have been shown once more after its end was recorded.
  NoteGone(entry, batch);
  if (entry.stored && entry.record.told_generation() != 0) {
    batch.Delete(kv::Family::kAux, SpecKey(entry.slot, entry.key));
    entry.record.set_told_generation(0);
    entry.record_dirty = true;
  }
  entry.deadlines.Reset();
  StoreDeadlines(entry, batch);
  ForgetEndedPods(entry, std::numeric_limits<int32_t>::max(), batch);
  for (auto it = entry.dirty_pods.begin(); it != entry.dirty_pods.end();) {
    bool keep = false;
    for (const DirtyPod& dirty : it->second) {
      if (dirty.gone != GoneReason::kNotGone) {
        StorePod(entry, entry.pods.Remove(it->first, dirty.uid), nullptr, batch);
        keep = false;
      } else if (entry.stored && dirty.state->owner_uid() == entry.record.uid()) {
        StorePod(entry, entry.pods.Apply(*dirty.state), &*dirty.state, batch);
        keep = false;
      } else {
        keep = true;  // Its job may be about to come.
      }
    }
    if (keep) {
      ++it;
    } else {
      it = entry.dirty_pods.erase(it);
    }
  }
  for (const std::string& name : std::exchange(entry.unreported_done, {})) {
    batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, name));
  }
  const bool empty = entry.pods.known() == 0 && entry.dirty_pods.empty();
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

namespace {

std::vector<TaskShape> ShapeWithPods(const JobEntry& entry, std::vector<TaskShape> shape) {
  std::vector<std::string> names;
  entry.pods.ForEach([&](const std::string& name, PodIndex, const PodEntry& pod) {
    if (!pod.has(kPodForeign)) names.push_back(name);
  });
  for (const auto& [name, states] : entry.dirty_pods) {
    const std::optional<kube::v1::Pod>& pod = states.back().state;
    if (pod && pod->owner_uid() == entry.job->meta().uid()) names.push_back(name);
  }
  for (const auto& [task, indices] : entry.persisted.done) {
    if (!indices.empty()) names.push_back(fmt::format("{}-{}-{}", entry.name, task, *indices.rbegin()));
  }
  return GrowTo(std::move(shape), entry.name, {names.begin(), names.end()});
}

}  // namespace

void JobController::Recompile(JobEntry& entry, kv::WriteBatch& batch) {
  const kube::v1::Job& job = *entry.job;
  const bool initiated = job.status().phase() != kube::v1::JOB_PHASE_UNSPECIFIED;
  const auto priority_of = [this](std::string_view name) {
    const auto it = priorities_.find(name);
    return it == priorities_.end() ? 0 : it->second;
  };
  if (!entry.plugin_objects.loaded) {
    entry.plugin_objects.loaded = true;
    entry.plugin_objects.made = entry.persisted.objects;
    if (!MakesPods(job.status().phase())) {
      // Whoever was here before may have removed them, or some, without having told.
      for (auto& [key, remembered] : entry.plugin_objects.made) remembered.clear();
    }
    for (const auto& resource : job.status().controlled_resources()) {
      if (resource.key() == ClaimMarkerKey(resource.value())) entry.plugin_objects.claims.insert(resource.value());
    }
  }
  if (entry.compiled && entry.compiled_uid == job.meta().uid() &&
      entry.compiled_generation == job.meta().generation() && entry.compiled_decode_error == job.decode_error()) {
    if (entry.stale_priorities && !entry.compiled->invalid()) {
      // The templates are in the effective spec: what the classes weigh decides about minResources alone.
      const auto resources = kube::MinResources(entry.compiled->spec, priority_of);
      if (resources.ok()) entry.compiled->group = WantedPodGroup(entry.compiled->spec, *resources);
      entry.group_sync.compared = false;
    }
    entry.stale_priorities = false;
    entry.job->clear_spec();
    return;
  }
  entry.stale_priorities = false;
  CompiledSpec compiled = CompileSpec(job, priority_of, options_.defaults);
  entry.compiled_uid = job.meta().uid();
  entry.compiled_generation = job.meta().generation();
  entry.compiled_decode_error = job.decode_error();
  entry.maker.reset();
  entry.pod_writes.create_retry.Succeed();
  entry.pod_writes.refused_tasks.clear();
  entry.pod_writes.held_name.clear();
  entry.pod_writes.probe_retry.Succeed();
  entry.pod_writes.kill_retry.Succeed();
  entry.command_cleanup.retry.Succeed();
  entry.plugin_objects.retry.Succeed();
  entry.group_sync.retry.Succeed();
  entry.forwarding.retry.Succeed();
  entry.ttl.retry.Succeed();
  entry.problems.Clear();
  StopAwaiting(entry);
  for (const StatusMessage* words : {&compiled.refusal, &compiled.warning}) {
    // Once: what the status says already was told before.
    if (!words->empty() && words->message != job.status().message()) {
      entry.pending_events.push_back({true, words->reason, words->message});
    }
  }
  // A job that is changed to something invalid keeps the shape that it had: its pods are counted as before. Whoever
  // comes anew goes by what is there.
  if (compiled.invalid() && initiated) {
    compiled.shape = entry.compiled ? entry.pods.tasks() : ShapeWithPods(entry, std::move(compiled.shape));
  }
  queues_.MoveJob(entry.key, entry.compiled ? entry.compiled->spec.queue() : "", compiled.spec.queue());
  entry.compiled = std::move(compiled);
  entry.group_sync.compared = false;
  for (const WantedObject& object : entry.compiled->objects) {
    // In the status before the first of them is made: whoever comes after us knows what to look for. And what a marker
    // names in a phase without pods was left behind by a kill that another controller did not finish.
    if (!initiated || MakesPods(job.status().phase()) || IsMarked(job.status(), object.plugin)) {
      entry.plugin_objects.made.try_emplace(fmt::format("{}/{}", object.plural, object.name));
    }
  }
  RecordSpecEdit(entry, batch);
  // Templates are large and stay in the effective spec alone.
  entry.job->clear_spec();
  entry.pods.SetTasks(entry.compiled->shape);
  entry.pods.SetRules(RulesOf(job.status(), entry.persisted));
  for (size_t task = 0; task < entry.compiled->shape.size(); ++task) {
    const auto done = entry.persisted.done.find(entry.compiled->shape[task].name);
    if (done == entry.persisted.done.end()) continue;
    for (int32_t index : done->second) entry.pods.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
}

std::map<std::string, std::string> JobController::MarkersOf(const JobEntry& entry) const {
  std::map<std::string, std::string> markers;
  for (const std::string& plugin : entry.compiled->plugins) {
    bool all = MakesPods(entry.job->status().phase());
    for (const WantedObject& object : entry.compiled->objects) {
      if (object.plugin != plugin) continue;
      const auto made = entry.plugin_objects.made.find(fmt::format("{}/{}", object.plural, object.name));
      if (made == entry.plugin_objects.made.end() || made->second.empty()) all = false;
    }
    // Once removed, the marker goes with the last object.
    if (all) markers[PluginMarkerKey(plugin)] = plugin;
  }
  for (const std::string& claim : entry.plugin_objects.claims) markers[ClaimMarkerKey(claim)] = claim;
  return markers;
}

void JobController::DecideStatus(JobEntry& entry) {
  const absl::Time now = context_.ApiNow();
  const GroupView& group = GroupOf(entry);
  const CompiledSpec& compiled = *entry.compiled;
  const std::map<std::string, std::string> markers = MarkersOf(entry);
  EndProblems(entry, group);
  ReportQueue(entry);
  const StatusMessage& words = compiled.invalid()        ? compiled.refusal
                               : !entry.problems.empty() ? entry.problems.Told()
                                                         : compiled.warning;
  // Of a write of counts alone: when it first differed decides, and the write before it.
  absl::Time due = std::max(entry.commit.differs_since.value_or(now) + options_.counts_delay,
                            absl::FromUnixMillis(entry.record.last_status_ms()) + options_.counts_interval);
  // Later than that only where the clock was set back.
  if (due > now + options_.counts_delay + options_.counts_interval) due = now;
  const DecideInput input{.job = *entry.job,
                          .spec = compiled.spec,
                          .persisted = entry.persisted,
                          .pods = entry.pods,
                          .pending = entry.record.pending(),
                          .deadlines = entry.deadlines,
                          .group_uid = group.uid,
                          .words = words,
                          .invalid = compiled.invalid(),
                          .objects = entry.plugin_objects.made,
                          .markers = markers,
                          .unreported_answered = entry.unreported_answered,
                          .last_sequence = entry.record.committed_sequence(),
                          .now_ms = absl::ToUnixMillis(now),
                          .counts_due = now >= due};
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
  RecordIntent(entry, std::move(decision));
}

void JobController::RecordIntent(JobEntry& entry, Decision decision) {
  // Drawn only for what is written, so that idle passes do not move the sequence of random numbers.
  const std::string nonce = fmt::format("{:08x}", static_cast<uint32_t>(context_.random().Next()));
  SetNonce(nonce, decision.status);
  storage::v1::Intent& intent = *entry.record.mutable_intent();
  intent.Clear();
  intent.set_sequence(decision.sequence);
  intent.set_nonce(nonce);
  intent.set_has_history(decision.has_history);
  intent.set_consumed(decision.consumed);
  intent.set_kills(decision.kills);
  intent.set_resource_version(entry.job->meta().resource_version());
  if (decision.has_history) *intent.mutable_history_entry() = decision.history;
  *intent.mutable_status() = std::move(decision.status);
  entry.commit.events = std::move(decision.pending_events);
  entry.commit.again = std::move(decision.again);
  entry.commit.unsent = true;
  entry.record_dirty = true;
}

}  // namespace basalt::jobsvc
