// The recording half of JobController: judges what changed, decides, and puts everything into the batch.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/planted.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/kube/resources/min_resources.h"
#include "common/obs/log.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/render/pod_group.h"
#include "services/jobsvc/core/render/volumes.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

PodFacts FactsOf(const kube::v1::Pod* pod) {
  if (pod == nullptr) return {};
  return {pod->deletion_ms(), pod->finished_ms(), pod->creation_ms(), pod->reason()};
}

std::string SubjectOf(const JobEvent& event, const kube::v1::JobSpec& spec) {
  if (event.kind == kEventUnknown) return "the PodGroup";
  const std::string task = event.task >= 0 && event.task < spec.tasks_size() ? spec.tasks(event.task).name() : "";
  if (event.kind == kEventTaskCompleted || event.kind == kEventTaskFailed) return fmt::format("task {}", task);
  return fmt::format("pod {}", event.pod);
}

kube::v1::Pod PodFromEntry(const std::string& name, std::string_view ns, std::string_view owner_uid,
                           const PodEntry& entry) {
  kube::v1::Pod pod;
  pod.set_namespace_(std::string(ns));
  pod.set_name(name);
  pod.set_uid(entry.uid);
  pod.set_resource_version(entry.resource_version);
  pod.set_phase(static_cast<kube::v1::PodPhase>(entry.phase));
  if (!entry.has(kPodForeign)) {
    pod.set_owner_uid(std::string(owner_uid));
    pod.set_job_version(entry.version);
    pod.set_task("-");
  }
  pod.set_out_of_sync(entry.has(kPodOutOfSync));
  pod.set_all_ready(entry.has(kPodReady));
  pod.set_restarts(entry.restarts);
  pod.set_exit_code(entry.exit_code);
  if (entry.has(kPodTerminating)) pod.set_deletion_ms(1);
  return pod;
}

}  // namespace

// A pass over one job. The order matters: the status says under which rules pods are counted, and events come before
// what a plain sync would conclude (W11).
void JobController::Decide(std::string_view key, kv::WriteBatch& batch) {
  JobEntry* found = Lookup(key);
  if (found == nullptr) return;
  JobEntry& entry = *found;
  if (metrics_.passes != nullptr) metrics_.passes->Add();
  if (!entry.job) {
    Forget(entry, batch);
    return;
  }
  if (!entry.has_uid(entry.job->meta().uid())) StartJob(entry, batch);
  if (entry.record.resource_version() != entry.job->meta().resource_version()) {
    entry.record.set_resource_version(entry.job->meta().resource_version());
    entry.record_dirty = true;
  }
  Recompile(entry, batch);
  const bool may_decide = Settle(entry, batch);
  entry.pods.SetRules(RulesOf(entry.job->status(), entry.own));
  JudgePods(entry, batch);
  JudgeCommands(entry);
  if (may_decide) DecideStatus(entry, batch);
  entry.job_dirty = false;
  if (entry.record_dirty) {
    PutJob(entry.slot, entry.key, entry.record, batch);
    entry.stored = true;
    entry.record_dirty = false;
  }
  if (listener_) listener_(entry);
}

// The job is not there. Its pods keep their records until they are gone: their names are held.
void JobController::Forget(JobEntry& entry, kv::WriteBatch& batch) {
  if (entry.stored && !entry.record.gone()) {
    entry.record.set_gone(true);
    entry.record.clear_intent();
    entry.record.clear_pending();
    entry.record_dirty = true;
    if (listener_) listener_(entry);
  }
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
  const bool empty = entry.pods.known() == 0 && entry.dirty_pods.empty();
  if (empty && entry.stored) {
    batch.Delete(kv::Family::kRecords, JobRecordKey(entry.slot, entry.key));
    entry.stored = false;
    entry.record_dirty = false;
    entry.record.Clear();
    entry.ForgetGroup();
  }
  if (empty && entry.groups.empty() && entry.commands.empty()) {
    slots_[entry.slot].erase(entry.key);
    Erase(entry.key);
    return;
  }
  if (entry.record_dirty) {
    PutJob(entry.slot, entry.key, entry.record, batch);
    entry.record_dirty = false;
  }
}

// A job that has no record: new to the cluster, or to this disk. What is observed becomes the baseline.
void JobController::StartJob(JobEntry& entry, kv::WriteBatch& batch) {
  const kube::v1::Job& job = *entry.job;
  std::vector<std::pair<std::string, PodEntry>> others;
  entry.pods.ForEach([&](const std::string& name, PodPlace, const PodEntry& pod) { others.emplace_back(name, pod); });
  entry.record.Clear();
  entry.record.set_uid(job.meta().uid());
  entry.record.set_namespace_(entry.ns);
  entry.record.set_name(entry.name);
  entry.record.set_committed_sequence(entry.own.sequence);
  entry.record.set_committed_nonce(entry.own.nonce);
  entry.record_dirty = true;
  entry.pods.Reset(entry.name, job.meta().uid());
  for (auto& [name, pod] : others) {
    // Pods of the job before: they hold their names until they are gone.
    storage::v1::PodRecord record;
    record.set_uid(pod.uid);
    record.set_resource_version(pod.resource_version);
    record.set_phase(pod.phase);
    record.set_version(pod.version);
    record.set_flags(pod.flags | kPodForeign);
    entry.pods.Restore(name, record);
    PutPod(entry.slot, entry.key, name, record, batch);
  }
  entry.compiled.reset();
  entry.ForgetGroup();
  entry.maker.reset();
  entry.objects_loaded = false;
  entry.objects.clear();
  entry.claims.clear();
  entry.busy_objects.clear();
  entry.busy_pods.clear();
  entry.held_until.clear();
  entry.deleted_groups.clear();
  entry.commit_in_flight = entry.intent_unsent = entry.ensure_in_flight = entry.ttl_in_flight = false;
  entry.conflict_version = 0;
  entry.differs_since.reset();
  entry.create_retry = entry.object_retry = entry.group_retry = entry.commit_retry = Retry();
  entry.trouble = {};
  entry.notes.clear();
  entry.history_count = -1;
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  PutHistoryIndex(entry.slot, entry.key, job.meta().creation_ms() != 0 ? job.meta().creation_ms() : now_ms,
                  job.meta().uid(), batch);
}

// The record is older than what Kubernetes remembers: it is worth nothing. What is observed becomes the baseline, and
// every event that can be read from the present is raised.
void JobController::Rebaseline(JobEntry& entry, kv::WriteBatch& batch) {
  obs::LogWarning("the record of a job is stale and is made anew", {{"job", entry.key}});
  if (metrics_.stale_records != nullptr) metrics_.stale_records->Add();
  std::vector<std::pair<std::string, PodEntry>> known;
  entry.pods.ForEach([&](const std::string& name, PodPlace, const PodEntry& pod) { known.emplace_back(name, pod); });
  const std::string prefix = PodRecordPrefix(entry.slot, entry.key);
  batch.DeleteRange(kv::Family::kPods, prefix, kv::PrefixEnd(prefix));
  const std::string uid = entry.record.uid();
  const int64_t resource_version = entry.record.resource_version();
  const auto events = entry.record.events();
  entry.record.Clear();
  entry.record.set_uid(uid);
  entry.record.set_namespace_(entry.ns);
  entry.record.set_name(entry.name);
  entry.record.set_resource_version(resource_version);
  entry.record.set_committed_sequence(entry.own.sequence);
  entry.record.set_committed_nonce(entry.own.nonce);
  *entry.record.mutable_events() = events;
  entry.record_dirty = true;
  const std::vector<TaskShape> shape = entry.pods.tasks();
  entry.pods.Reset(entry.name, uid);
  entry.pods.Reshape(shape);
  for (auto& [name, pod] : known) {
    auto& queue = entry.dirty_pods[name];
    const bool newer_is_there = std::any_of(queue.begin(), queue.end(), [&pod_uid = pod.uid](const DirtyPod& dirty) {
      return dirty.uid == pod_uid && dirty.state && dirty.gone == GoneReason::kNotGone;
    });
    if (newer_is_there) continue;
    queue.insert(queue.begin(), {PodFromEntry(name, entry.ns, uid, pod), GoneReason::kNotGone, pod.uid});
  }
  entry.pods.SetRules(RulesOf(entry.job->status(), entry.own));
  for (size_t task = 0; task < shape.size(); ++task) {
    const auto done = entry.own.done.find(shape[task].name);
    if (done == entry.own.done.end()) continue;
    for (int32_t index : done->second) entry.pods.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
}

void JobController::Recompile(JobEntry& entry, kv::WriteBatch&) {
  const kube::v1::Job& job = *entry.job;
  const bool initiated = job.status().phase() != kube::v1::JOB_PHASE_UNSPECIFIED;
  const auto priority_of = [this](std::string_view name) {
    const auto it = priorities_.find(name);
    return it == priorities_.end() ? 0 : it->second;
  };
  if (!entry.objects_loaded) {
    entry.objects_loaded = true;
    entry.objects = entry.own.objects;
    for (const auto& resource : job.status().controlled_resources()) {
      if (resource.key() == ClaimMarkerKey(resource.value())) entry.claims.insert(resource.value());
    }
  }
  if (entry.compiled && entry.compiled_uid == job.meta().uid() &&
      entry.compiled_generation == job.meta().generation() && entry.compiled_decode_error == job.decode_error()) {
    if (entry.stale_priorities && !entry.compiled->invalid()) {
      // The templates are in the effective spec: what the classes weigh decides about minResources alone.
      const auto resources = kube::MinResources(entry.compiled->spec, priority_of);
      if (resources.ok()) entry.compiled->group = WantedPodGroup(entry.compiled->spec, *resources);
      entry.group_agrees = false;
    }
    entry.stale_priorities = false;
    entry.job->clear_spec();
    return;
  }
  entry.stale_priorities = false;
  CompiledSpec compiled = CompileSpec(job, priority_of);
  entry.compiled_uid = job.meta().uid();
  entry.compiled_generation = job.meta().generation();
  entry.compiled_decode_error = job.decode_error();
  entry.maker.reset();
  entry.create_retry.Succeed();
  entry.object_retry.Succeed();
  entry.group_retry.Succeed();
  entry.trouble = {};
  for (const Words* words : {&compiled.refusal, &compiled.warning}) {
    // Once: what the status says already was told before.
    if (!words->empty() && words->message != job.status().message()) {
      entry.notes.push_back({true, words->reason, words->message});
    }
  }
  // A job that is changed to something invalid keeps the shape that it had: its pods are counted as before.
  if (compiled.invalid() && entry.compiled && initiated) compiled.shape = entry.pods.tasks();
  entry.compiled = std::move(compiled);
  entry.group_agrees = false;
  if (!initiated || MakesPods(job.status().phase())) {
    // In the status before the first of them is made: whoever comes after us knows what to look for.
    for (const WantedObject& object : entry.compiled->objects) {
      entry.objects.try_emplace(fmt::format("{}/{}", object.plural, object.name));
    }
  }
  // Templates are large and stay in the effective spec alone.
  entry.job->clear_spec();
  entry.pods.Reshape(entry.compiled->shape);
  entry.pods.SetRules(RulesOf(job.status(), entry.own));
  for (size_t task = 0; task < entry.compiled->shape.size(); ++task) {
    const auto done = entry.own.done.find(entry.compiled->shape[task].name);
    if (done == entry.own.done.end()) continue;
    for (int32_t index : done->second) entry.pods.SetSucceededGone({static_cast<int32_t>(task), index}, true);
  }
}

void JobController::DropIntent(JobEntry& entry, kv::WriteBatch& batch) {
  if (entry.record.intent().has_history()) {
    batch.Delete(kv::Family::kHistory, HistoryKey(entry.slot, entry.record.uid(), entry.record.intent().sequence()));
    if (entry.history_count > 0) --entry.history_count;
  }
  entry.record.clear_intent();
  entry.intent_unsent = false;
  entry.commit_notes.clear();
  entry.record_dirty = true;
}

// A commit of ours took effect after the record had given it up, its answer lost together with its process: history
// tells of the transition once all the same.
void JobController::TellLateCommit(JobEntry& entry, kv::WriteBatch& batch) {
  const storage::v1::JobRecord& record = entry.record;
  const storage::v1::HistoryRecord& meant = record.intent().history_entry();
  if (record.intent().has_history() && record.intent().sequence() != entry.own.sequence) {
    batch.Delete(kv::Family::kHistory, HistoryKey(entry.slot, record.uid(), record.intent().sequence()));
  }
  // More than one commit is missing: this disk was not the one that saw them.
  if (entry.own.sequence > record.committed_sequence() + 1) return;
  const auto told = ReadHistory(context_.store(), entry.slot, record.uid());
  if (!told.ok()) return context_.Fail(told.status());
  const kube::v1::JobStatus& status = entry.job->status();
  // One condition for each phase, the newest last: the one before it is where the job came from.
  const int conditions = status.conditions_size();
  const bool came_from_somewhere = conditions >= 2 && status.conditions(conditions - 1).phase() == status.phase();
  const kube::v1::JobPhase from =
      came_from_somewhere ? status.conditions(conditions - 2).phase() : kube::v1::JOB_PHASE_UNSPECIFIED;
  kube::v1::JobPhase last = from;
  for (const storage::v1::HistoryRecord& known : *told) {
    if (known.committed()) last = known.to_phase();
  }
  if (last == status.phase()) {
    if (record.intent().has_history()) {
      batch.Delete(kv::Family::kHistory, HistoryKey(entry.slot, record.uid(), record.intent().sequence()));
    }
    return;
  }
  storage::v1::HistoryRecord late;
  if (record.intent().has_history() && meant.to_phase() == status.phase()) {
    late = meant;
  } else {
    late.set_time_ms(absl::ToUnixMillis(context_.ApiNow()));
    late.set_event("OutOfSync");
    late.set_action("SyncJob");
    late.set_rule("read back from Kubernetes");
    *late.mutable_counts() = status.counts();
    late.set_version(status.version());
  }
  late.set_sequence(entry.own.sequence);
  late.set_from_phase(from);
  late.set_to_phase(status.phase());
  late.set_committed(true);
  PutHistory(entry.slot, record.uid(), late, batch);
  entry.history_count = -1;
}

// What became of the commit that was last meant. False: not known yet, or to be waited for.
bool JobController::Settle(JobEntry& entry, kv::WriteBatch& batch) {
  storage::v1::JobRecord& record = entry.record;
  const ControlledState& own = entry.own;
  if (record.has_intent()) {
    const storage::v1::Intent& intent = record.intent();
    if (own.sequence == intent.sequence() && own.nonce == intent.nonce()) {
      record.set_committed_sequence(intent.sequence());
      record.set_committed_nonce(intent.nonce());
      record.set_last_status_ms(absl::ToUnixMillis(context_.ApiNow()));
      const int consumed = std::min<int>(intent.consumed(), record.pending_size());
      if (intent.has_history()) {
        storage::v1::HistoryRecord history = intent.history_entry();
        history.set_committed(true);
        PutHistory(entry.slot, record.uid(), history, batch);
        // W22: counted after the write.
        if (history.to_phase() != history.from_phase()) {
          if (history.to_phase() == kube::v1::JOB_PHASE_COMPLETED && metrics_.completed != nullptr) {
            metrics_.completed->Add();
          }
          if (history.to_phase() == kube::v1::JOB_PHASE_FAILED && metrics_.failed != nullptr) metrics_.failed->Add();
        }
      }
      record.mutable_pending()->DeleteSubrange(0, consumed);
      record.clear_intent();
      entry.record_dirty = true;
      entry.commit_in_flight = false;
      entry.intent_unsent = false;
      entry.conflict_version = 0;
      entry.commit_retry.Succeed();
      entry.differs_since.reset();
      for (Note& note : entry.commit_notes) entry.notes.push_back(std::move(note));
      entry.commit_notes.clear();
      return true;
    }
    if (own.sequence >= intent.sequence()) {
      entry.commit_in_flight = false;
      TellLateCommit(entry, batch);
      Rebaseline(entry, batch);
      return true;
    }
    if (entry.commit_in_flight || entry.intent_unsent) return false;
    // It did not take effect: decided again, on what stands there now.
    if (entry.conflict_version != 0 && entry.job->meta().resource_version() <= entry.conflict_version &&
        entry.commit_retry.Blocks(context_.ApiNow())) {
      context_.WakeAt(entry.key, entry.commit_retry.until);
      return false;
    }
    DropIntent(entry, batch);
  } else if (own.sequence > record.committed_sequence() ||
             (own.sequence == record.committed_sequence() && own.nonce != record.committed_nonce())) {
    TellLateCommit(entry, batch);
    Rebaseline(entry, batch);
  }
  if (entry.commit_retry.Blocks(context_.ApiNow())) {
    context_.WakeAt(entry.key, entry.commit_retry.until);
    return false;
  }
  return true;
}

void JobController::StorePod(JobEntry& entry, const PodChange& change, const kube::v1::Pod* pod,
                             kv::WriteBatch& batch) {
  if (!change.after.present()) {
    if (change.before.present()) batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, change.name));
    return;
  }
  storage::v1::PodRecord record;
  record.set_uid(change.after.uid);
  record.set_resource_version(change.after.resource_version);
  record.set_phase(change.after.phase);
  record.set_flags(change.after.flags);
  record.set_version(change.after.version);
  record.set_task(change.place.task);
  record.set_index(change.place.index);
  record.set_restarts(change.after.restarts);
  record.set_exit_code(change.after.exit_code);
  if (pod != nullptr) {
    record.set_partition(pod->partition());
    record.set_creation_ms(pod->creation_ms());
    record.set_finished_ms(pod->finished_ms());
    record.set_node_name(pod->node_name());
    record.set_reason(pod->reason());
    record.set_task_name(pod->task());
  }
  PutPod(entry.slot, entry.key, change.name, record, batch);
}

void JobController::JudgePod(JobEntry& entry, const std::string& name, DirtyPod& dirty, std::vector<JobEvent>& events,
                             kv::WriteBatch& batch) {
  const int32_t version = entry.job->status().version();
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  const auto derive = [&](const PodChange& change, const PodFacts& facts, GoneReason gone) {
    if (!change.place.indexed() || change.place.task >= entry.compiled->spec.tasks_size()) return;
    const auto& task = entry.compiled->spec.tasks(change.place.task);
    for (JobEvent& event :
         EventsOf(change, facts, gone, version, task.replicas(),
                  task.has_max_retry() ? std::optional<int32_t>(task.max_retry()) : std::nullopt, now_ms)) {
      events.push_back(std::move(event));
    }
  };
  const PodEntry* known = entry.pods.Find(name);
  const bool was_known = known != nullptr && known->uid == dirty.uid;
  if (dirty.state &&
      (!was_known || dirty.state->resource_version() > known->resource_version || dirty.gone == GoneReason::kNotGone)) {
    PodChange change = entry.pods.Apply(*dirty.state);
    derive(change, FactsOf(&*dirty.state), GoneReason::kNotGone);
    if (change.after.phase == kube::v1::POD_PHASE_FAILED && change.after.has(kPodTerminating) &&
        !change.after.has(kPodEvictionSeen)) {
      entry.pods.AddFlag(name, kPodEvictionSeen);
      change.after.flags |= kPodEvictionSeen;
    }
    StorePod(entry, change, &*dirty.state, batch);
  }
  if (dirty.gone == GoneReason::kNotGone) return;
  const PodChange change = entry.pods.Remove(name, dirty.uid);
  if (was_known) derive(change, FactsOf(dirty.state ? &*dirty.state : nullptr), dirty.gone);
  StorePod(entry, change, nullptr, batch);
}

void JobController::JudgePods(JobEntry& entry, kv::WriteBatch& batch) {
  std::vector<JobEvent> events;
  for (auto& [name, queue] : entry.dirty_pods) {
    for (DirtyPod& dirty : queue) JudgePod(entry, name, dirty, events, batch);
    if (!entry.held_until.empty()) entry.held_until.erase(name);
  }
  entry.dirty_pods.clear();
  JudgeGroups(entry, events);
  if (events.empty()) return;
  std::sort(events.begin(), events.end(), Earlier);
  QueueActions(entry, std::move(events));
}

void JobController::JudgeGroups(JobEntry& entry, std::vector<JobEvent>& events) {
  if (!entry.groups_dirty) return;
  entry.groups_dirty = false;
  const GroupView& group = GroupOf(entry);
  std::string old_phase;
  std::string old_uid;
  for (const auto& known : entry.record.pod_groups()) {
    if (known.name() != group.name) continue;
    old_phase = known.phase();
    old_uid = known.uid();
  }
  // W5, W30: by UID of the group, whatever the version; a stale group says nothing about this run.
  if (group.present && !group.stale && group.phase == "Unknown" && (old_uid != group.uid || old_phase != "Unknown")) {
    JobEvent event;
    event.kind = kEventUnknown;
    event.time_ms = absl::ToUnixMillis(context_.ApiNow());
    for (const auto& condition : entry.groups[group.name].conditions()) {
      if (condition.last_transition_ms() > 0) event.time_ms = condition.last_transition_ms();
    }
    events.push_back(std::move(event));
  }
  entry.record.clear_pod_groups();
  for (const auto& [name, observed] : entry.groups) {
    auto* record = entry.record.add_pod_groups();
    record->set_name(name);
    record->set_uid(observed.meta().uid());
    record->set_resource_version(observed.meta().resource_version());
    record->set_phase(observed.phase());
  }
  entry.record_dirty = true;
}

// Commands are taken one at a time in the order of their resourceVersion; the next waits until the one before is gone.
void JobController::JudgeCommands(JobEntry& entry) {
  if (entry.commands.empty()) return;
  const kube::v1::Command* first = nullptr;
  for (const auto& [name, command] : entry.commands) {
    if (command.target().uid() != entry.record.uid()) continue;  // W7: for another job of this name.
    if (command.meta().uid() == entry.own.last_command_uid) return;
    if (first == nullptr || command.meta().resource_version() < first->meta().resource_version()) first = &command;
  }
  if (first == nullptr) return;
  for (const auto& pending : entry.record.pending()) {
    if (!pending.command_uid().empty()) return;
  }
  auto* pending = entry.record.add_pending();
  pending->set_event(std::string(kEventCommandIssued));
  pending->set_action(first->action());
  pending->set_subject(fmt::format("command {}", first->meta().name()));
  pending->set_rule("command");
  pending->set_version(-1);
  pending->set_index(-1);
  pending->set_time_ms(first->meta().creation_ms());
  pending->set_command_uid(first->meta().uid());
  entry.record_dirty = true;
  entry.notes.push_back(
      {false, "CommandIssued", fmt::format("command {} asks for {}", first->meta().name(), first->action())});
}

// Keeps what a policy answers with an action; the rest of the events has done its work in the counters.
void JobController::QueueActions(JobEntry& entry, std::vector<JobEvent> events) {
  for (const JobEvent& event : events) {
    const PolicyMatch match = ApplyPolicies(entry.compiled->spec, event);
    if (match.action.empty()) continue;
    if (match.timeout_ms.value_or(0) > 0) continue;  // status.state says so: UnsupportedFields.
    auto* pending = entry.record.add_pending();
    pending->set_event(std::string(event.kind));
    if (event.task >= 0) pending->set_task(entry.compiled->spec.tasks(event.task).name());
    pending->set_index(event.index);
    pending->set_pod(event.pod);
    pending->set_pod_uid(event.pod_uid);
    if (event.task >= 0) {
      pending->set_partition(
          PartitionOf(event.index, entry.compiled->spec.tasks(event.task).partition_policy().partition_size()));
    }
    pending->set_exit_code(event.exit_code);
    pending->set_reason(event.reason);
    pending->set_time_ms(event.time_ms);
    pending->set_version(event.version);
    pending->set_action(match.action);
    pending->set_rule(match.rule);
    pending->set_subject(SubjectOf(event, entry.compiled->spec));
    entry.record_dirty = true;
  }
}

std::map<std::string, std::string> JobController::MarkersOf(const JobEntry& entry) const {
  std::map<std::string, std::string> markers;
  for (const std::string& plugin : entry.compiled->plugins) {
    bool all = MakesPods(entry.job->status().phase());
    for (const WantedObject& object : entry.compiled->objects) {
      if (object.plugin != plugin) continue;
      const auto made = entry.objects.find(fmt::format("{}/{}", object.plural, object.name));
      if (made == entry.objects.end() || made->second.empty()) all = false;
    }
    // Once removed, the marker goes with the last object.
    if (all) markers[PluginMarkerKey(plugin)] = plugin;
  }
  for (const std::string& claim : entry.claims) markers[ClaimMarkerKey(claim)] = claim;
  return markers;
}

void JobController::DecideStatus(JobEntry& entry, kv::WriteBatch& batch) {
  const absl::Time now = context_.ApiNow();
  const GroupView& group = GroupOf(entry);
  const CompiledSpec& compiled = *entry.compiled;
  const std::map<std::string, std::string> markers = MarkersOf(entry);
  const Words& words = compiled.invalid()       ? compiled.refusal
                       : !entry.trouble.empty() ? entry.trouble
                                                : compiled.warning;
  // Of a write of counts alone: when it first differed decides, and the write before it.
  const absl::Time due = std::max(entry.differs_since.value_or(now) + options_.counts_delay,
                                  absl::FromUnixMillis(entry.record.last_status_ms()) + options_.counts_interval);
  const DecideInput input{.job = *entry.job,
                          .spec = compiled.spec,
                          .own = entry.own,
                          .pods = entry.pods,
                          .pending = entry.record.pending(),
                          .group_uid = group.uid,
                          .words = words,
                          .invalid = compiled.invalid(),
                          .objects = entry.objects,
                          .markers = markers,
                          .last_sequence = entry.record.committed_sequence(),
                          .now_ms = absl::ToUnixMillis(now),
                          .counts_due = now >= due};
  Decision decision = jobsvc::Decide(input);
  if (decision.dropped > 0) {
    entry.record.mutable_pending()->DeleteSubrange(0, decision.dropped);
    entry.record_dirty = true;
  }
  switch (decision.write) {
    case Decision::Write::kNone:
      entry.differs_since.reset();
      return;
    case Decision::Write::kCounts:
      if (!entry.differs_since) entry.differs_since = now;
      if (now < due) {
        context_.WakeAt(entry.key, due);
        return;
      }
      break;
    case Decision::Write::kNow:
      break;
  }
  RecordIntent(entry, std::move(decision), batch);
}

void JobController::RecordIntent(JobEntry& entry, Decision decision, kv::WriteBatch& batch) {
  // Drawn only for what is written, so that idle passes do not move the sequence of random numbers.
  const std::string nonce = fmt::format("{:08x}", static_cast<uint32_t>(context_.random().Next()));
  SetNonce(nonce, decision.status);
  storage::v1::Intent& intent = *entry.record.mutable_intent();
  intent.Clear();
  intent.set_sequence(decision.sequence);
  intent.set_nonce(nonce);
  intent.set_has_history(decision.has_history);
  intent.set_consumed(decision.consumed);
  intent.set_resource_version(entry.job->meta().resource_version());
  if (decision.has_history) {
    if (BASALT_PLANTED("history_twice")) decision.history.set_sequence(absl::ToUnixMillis(context_.ApiNow()));
    *intent.mutable_history_entry() = decision.history;
    PutHistory(entry.slot, entry.record.uid(), decision.history, batch);
    TrimHistory(entry, batch);
  }
  *intent.mutable_status() = std::move(decision.status);
  entry.commit_notes = std::move(decision.notes);
  entry.intent_unsent = true;
  entry.record_dirty = true;
}

void JobController::TrimHistory(JobEntry& entry, kv::WriteBatch& batch) {
  if (entry.history_count >= 0 && ++entry.history_count <= static_cast<int64_t>(kMaxHistoryPerJob)) return;
  const auto entries = ReadHistory(context_.store(), entry.slot, entry.record.uid());
  if (!entries.ok()) {
    context_.Fail(entries.status());
    return;
  }
  // The one being written is not in the store yet.
  entry.history_count = static_cast<int64_t>(entries->size()) + 1;
  if (entry.history_count <= static_cast<int64_t>(kMaxHistoryPerJob)) return;
  const size_t surplus = entries->size() + 1 - kMaxHistoryPerJob;
  // A few more than needed, so that a long history is not read again for every entry.
  const size_t drop = std::min(entries->size(), surplus + 32);
  batch.DeleteRange(kv::Family::kHistory, HistoryPrefix(entry.slot, entry.record.uid()),
                    HistoryKey(entry.slot, entry.record.uid(), (*entries)[drop - 1].sequence() + 1));
  entry.history_count -= static_cast<int64_t>(drop);
}

}  // namespace basalt::jobsvc
