// What a pass of JobController judges: states and ends of pods, groups and commands against what is recorded of them.
// It counts, keeps the pods' records and gathers what policies answer with an action.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/kube/text.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/command.h"
#include "services/jobsvc/core/explain/explain.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

PodFacts FactsOf(const kube::v1::Pod* pod) {
  if (pod == nullptr) return {};
  return {pod->deletion_ms(), pod->finished_ms(), pod->creation_ms(), pod->reason(), pod->last_exit_code()};
}

std::string SubjectOf(const JobEvent& event, const kube::v1::JobSpec& spec) {
  if (event.kind == kEventUnknown) return "the PodGroup";
  const std::string task = event.task >= 0 && event.task < spec.tasks_size() ? spec.tasks(event.task).name() : "";
  if (event.kind == kEventTaskCompleted) return fmt::format("task {}", task);
  if (event.kind == kEventTaskFailed) return fmt::format("task {} by pod {}", task, event.pod);
  return fmt::format("pod {}", event.pod);
}

// With due_ms where the policy has a timeout.
storage::v1::PendingAction ActionOf(const JobEvent& event, const PolicyMatch& match, const kube::v1::JobSpec& spec) {
  storage::v1::PendingAction action;
  action.set_event(std::string(event.kind));
  action.set_index(event.index);
  action.set_pod(event.pod);
  action.set_pod_uid(event.pod_uid);
  if (event.task >= 0) {
    const kube::v1::TaskSpec& task = spec.tasks(event.task);
    action.set_task(task.name());
    action.set_partition(PartitionOf(event.index, task.partition_policy().partition_size()));
  }
  action.set_exit_code(event.kind == kEventTaskFailed ? event.last_exit_code : event.exit_code);
  // The others are about a task.
  const bool of_pod = event.kind != kEventTaskCompleted && event.kind != kEventTaskFailed;
  if (of_pod) action.set_pod_phase(static_cast<kube::v1::PodPhase>(event.phase));
  action.set_reason(event.reason);
  action.set_time_ms(event.time_ms);
  action.set_observed(event.observed);
  action.set_version(event.version);
  action.set_action(match.action);
  action.set_rule(match.rule);
  action.set_subject(SubjectOf(event, spec));
  if (const int64_t timeout_ms = match.timeout_ms.value_or(0); timeout_ms > 0) {
    action.set_timeout_ms(timeout_ms);
    action.set_due_ms(event.time_ms + timeout_ms);
  }
  return action;
}

// The status tells already that the work of that index is done.
bool IsDoneInStatus(const JobEntry& entry, PodIndex place) {
  if (!place.indexed()) return false;
  const auto done = entry.persisted.done.find(entry.pods.tasks()[place.task].name);
  return done != entry.persisted.done.end() && done->second.contains(place.index);
}

}  // namespace

void JobController::StorePod(JobEntry& entry, const PodChange& change, const kube::v1::Pod* pod,
                             kv::WriteBatch& batch) {
  if (!change.after.present()) {
    if (!change.before.present()) return;
    if (change.after.succeeded_gone && !IsDoneInStatus(entry, change.place)) {
      entry.unreported_done.insert(change.name);
    } else {
      batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, change.name));
    }
    return;
  }
  entry.unreported_done.erase(change.name);  // The record is this pod's now.
  storage::v1::PodRecord& record = pod_record_;
  record.Clear();
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
    record.set_deletion_ms(pod->deletion_ms());
  }
  PutPod(entry.slot, entry.key, change.name, record, batch);
}

// Those that the status tells of, or that are to be done again; and where another controller has ended the job nobody
// will ever tell.
void JobController::ForgetReportedDone(JobEntry& entry, kv::WriteBatch& batch) {
  const bool is_anothers =
      IsFinished(entry.job->status().phase()) && (entry.persisted.sequence == 0 || entry.persisted.overtaken);
  // What is told has changed, or what is to be done again is meant.
  if (!entry.job_dirty && entry.commit.again().empty() && !is_anothers) return;
  std::erase_if(entry.unreported_done, [&](const std::string& name) {
    const PodIndex place = entry.pods.PlaceOf(name);
    const auto& again = entry.commit.again();
    const bool is_done = place.indexed() && entry.pods.done()[place.task].contains(place.index);
    if (is_done && !is_anothers && std::find(again.begin(), again.end(), place) == again.end()) {
      const auto told = entry.persisted.done.find(entry.pods.tasks()[place.task].name);
      if (told == entry.persisted.done.end() || !told->second.contains(place.index)) return false;
    }
    batch.Delete(kv::Family::kPods, PodRecordKey(entry.slot, entry.key, name));
    return true;
  });
}

void JobController::ApplyPodChange(JobEntry& entry, const std::string& name, DirtyPod& dirty,
                                   std::vector<JobEvent>& events, kv::WriteBatch& batch) {
  if (entry.ended_pods.contains(dirty.uid)) {
    // Its end is told once more. Its record may lie there until the status tells that its work is done, and a restart
    // took that for a pod.
    if (dirty.gone != GoneReason::kNotGone) StorePod(entry, entry.pods.Remove(name, dirty.uid), nullptr, batch);
    return;
  }
  const int32_t version = entry.job->status().version();
  const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
  // By a replica whose disk this is not, or by this one before it lost what it wrote.
  const bool was_answered = dirty.gone != GoneReason::kNotGone &&
                            std::find(entry.persisted.answered.begin(), entry.persisted.answered.end(), dirty.uid) !=
                                entry.persisted.answered.end();
  bool answered = was_answered;
  const auto derive = [&](const PodChange& change, const PodFacts& facts, GoneReason gone) {
    if (was_answered) return;
    if (!change.place.indexed() || change.place.task >= entry.compiled->spec.tasks_size()) return;
    const auto& task = entry.compiled->spec.tasks(change.place.task);
    for (JobEvent& event :
         EventsOf(change, facts, gone, version, task.replicas(),
                  task.has_max_retry() ? std::optional<int32_t>(task.max_retry()) : std::nullopt, now_ms)) {
      answered = answered || !ApplyPolicies(entry.compiled->spec, event).action.empty();
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
    if (answered) {
      entry.pods.AddFlag(name, kPodAnswered);
      change.after.flags |= kPodAnswered;
    }
    StorePod(entry, change, &*dirty.state, batch);
  }
  if (dirty.gone == GoneReason::kNotGone) return;
  const PodChange change = entry.pods.Remove(name, dirty.uid);
  if (was_known) derive(change, FactsOf(dirty.state ? &*dirty.state : nullptr), dirty.gone);
  StorePod(entry, change, nullptr, batch);
  // One that this disk never knew has nothing to be kept of.
  if (change.before.present() && (answered || change.before.has(kPodAnswered)))
    KeepEndedPod(entry, change.before, batch);
}

void JobController::KeepEndedPod(JobEntry& entry, const PodEntry& pod, kv::WriteBatch& batch) {
  if (!entry.ended_pods.emplace(pod.uid, pod.version).second) return;
  storage::v1::EndedPod record;
  record.set_uid(pod.uid);
  record.set_version(pod.version);
  PutEndedPod(entry.slot, entry.key, record, batch);
}

void JobController::ForgetEndedPods(JobEntry& entry, int32_t version, kv::WriteBatch& batch) {
  std::erase_if(entry.ended_pods, [&](const auto& pod) {
    if (pod.second >= version) return false;
    batch.Delete(kv::Family::kAux, EndedPodKey(entry.slot, entry.key, pod.first));
    return true;
  });
}

void JobController::ApplyPodChanges(JobEntry& entry, kv::WriteBatch& batch) {
  std::vector<JobEvent> events;
  // In the order in which they ended: what completes a task is the end of the last one, whatever its name.
  std::vector<std::pair<int64_t, std::map<std::string, std::vector<DirtyPod>>::iterator>> order;
  order.reserve(entry.dirty_pods.size());
  for (auto it = entry.dirty_pods.begin(); it != entry.dirty_pods.end(); ++it) {
    const std::optional<kube::v1::Pod>& newest = it->second.back().state;
    order.emplace_back(newest ? newest->finished_ms() : 0, it);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [finished_ms, it] : order) {
    for (DirtyPod& dirty : it->second) ApplyPodChange(entry, it->first, dirty, events, batch);
    entry.pod_writes.EndHold(it->first);
  }
  entry.dirty_pods.clear();
  ApplyPodGroupChanges(entry, events);
  if (events.empty()) return;
  std::sort(events.begin(), events.end(), Earlier);
  QueueActions(entry, std::move(events));
}

void JobController::ApplyPodGroupChanges(JobEntry& entry, std::vector<JobEvent>& events) {
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
    // Seen to become so: now. Else its newest condition is what tells of it, wherever in the list it stands.
    const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
    if (old_uid != group.uid) {
      for (const auto& condition : entry.groups[group.name].conditions()) {
        event.time_ms = std::max(event.time_ms, std::min(condition.last_transition_ms(), now_ms));
      }
    }
    event.time_ms = LatestTimeOf(event.time_ms, now_ms);
    events.push_back(std::move(event));
  }
  if (group.present && !group.stale) ReportScheduling(entry, entry.groups[group.name]);
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

// Job spec 9.11; a scheduler says the same in each of its rounds.
void JobController::ReportScheduling(JobEntry& entry, const kube::v1::PodGroup& group) {
  const kube::v1::PodGroupCondition* const words = SchedulersWords(group);
  std::string told;
  if (words != nullptr) {
    told = words->type();
    for (char& c : told) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!words->message().empty()) told += fmt::format(": {}", words->message());
  }
  if (told == entry.quoted.text) return;
  // Numbers in its words change from round to round.
  const absl::Time now = context_.ApiNow();
  const auto type_of = [](std::string_view text) { return text.substr(0, text.find(':')); };
  if (type_of(told) == type_of(entry.quoted.text) && now < entry.quoted.at + host_.options().event_interval) return;
  entry.quoted.at = now;
  entry.quoted.text = told;
  if (!told.empty()) entry.pending_events.push_back({true, "PodGroupPending", std::move(told)});
}

// Commands are taken one at a time in the order of their resourceVersion; the next waits until the one before is gone.
void JobController::EnqueueNextCommand(JobEntry& entry) {
  if (entry.commands.empty()) return;
  const kube::v1::Command* first = nullptr;
  for (const auto& [name, command] : entry.commands) {
    if (command.target().uid() != entry.record.uid()) continue;  // W7: for another job of this name.
    if (command.meta().uid() == entry.persisted.last_command_uid) return;
    if (first == nullptr || command.meta().resource_version() < first->meta().resource_version()) first = &command;
  }
  if (first == nullptr) return;
  for (const auto& pending : entry.record.pending()) {
    if (!pending.command_uid().empty()) return;
  }
  auto* pending = entry.record.add_pending();
  pending->set_event(std::string(kEventCommandIssued));
  pending->set_action(first->action());
  const CommandTarget target = TargetOf(*first);
  const std::string about = TargetText(target);
  pending->set_subject(fmt::format("command {}{}{}", first->meta().name(), about.empty() ? "" : " for ", about));
  pending->set_rule("command");
  pending->set_version(-1);
  pending->set_index(-1);
  pending->set_task(target.task);
  pending->set_pod(target.pod);
  pending->set_pod_uid(target.pod_uid);
  pending->set_partition(target.partition.value_or(-1));
  pending->set_time_ms(first->meta().creation_ms());
  pending->set_command_uid(first->meta().uid());
  entry.record_dirty = true;
  entry.pending_events.push_back(
      {false, "CommandIssued", fmt::format("command {} asks for {}", first->meta().name(), first->action())});
}

// Keeps what a policy answers with an action, and cancels what an event makes moot; the rest of the events has done its
// work in the counters.
void JobController::QueueActions(JobEntry& entry, std::vector<JobEvent> events) {
  const kube::v1::JobSpec& spec = entry.compiled->spec;
  // By what is told of them but the pod: the first, and how many.
  std::map<std::pair<std::string, std::string>, std::pair<std::string, int>> delayed;
  for (const JobEvent& event : events) {
    const std::string_view task = event.task >= 0 ? std::string_view(spec.tasks(event.task).name()) : "";
    entry.deadlines.Cancel(event, task);
    const PolicyMatch match = ApplyPolicies(spec, event);
    if (match.action.empty()) continue;
    storage::v1::PendingAction action = ActionOf(event, match, spec);
    if (action.due_ms() == 0) {
      *entry.record.add_pending() = std::move(action);
      entry.record_dirty = true;
      continue;
    }
    const absl::Duration timeout = absl::Milliseconds(action.timeout_ms());
    if (IsFinished(entry.job->status().phase())) continue;
    std::string subject = action.subject();
    if (!entry.deadlines.Add(std::move(action))) continue;
    const std::string what =
        fmt::format("{} in {} because of {}", match.action, kube::FormatGoDuration(timeout), event.kind);
    ++delayed.try_emplace({what, match.rule}, std::move(subject), 0).first->second.second;
  }
  // Many at once are one Event.
  for (const auto& [what, pods] : delayed) {
    const std::string more = pods.second == 1 ? "" : fmt::format(" and {} more", pods.second - 1);
    entry.pending_events.push_back(
        {false, "ExecuteAction", fmt::format("{} ({}{}, {})", what.first, pods.first, more, what.second)});
  }
}

void JobController::StoreDeadlines(JobEntry& entry, kv::WriteBatch& batch) {
  for (const std::string& pod : entry.deadlines.TakeChanged()) {
    const storage::v1::PendingAction* const deadline = entry.deadlines.Find(pod);
    if (deadline != nullptr && IsKept(*deadline)) {
      PutDeadline(entry.slot, entry.key, *deadline, batch);
    } else {
      batch.Delete(kv::Family::kAux, DeadlineKey(entry.slot, entry.key, pod));
    }
  }
}

// After the events of the pass, which may cancel what is due.
void JobController::FireDueDeadlines(JobEntry& entry, kv::WriteBatch& batch) {
  DeadlineSet& deadlines = entry.deadlines;
  deadlines.SetVersion(entry.job->status().version());
  if (!entry.ended_pods.empty() && entry.job_dirty) {
    constexpr int32_t kAll = std::numeric_limits<int32_t>::max();
    const kube::v1::JobStatus& status = entry.job->status();
    ForgetEndedPods(entry, IsFinished(status.phase()) ? kAll : status.version(), batch);
  }
  // Nothing follows any more; the status has forgotten them with its last transition.
  if (IsFinished(entry.job->status().phase()) && !deadlines.empty()) deadlines.Reset();
  if (!deadlines.empty()) {
    for (storage::v1::PendingAction& due : deadlines.TakeDue(absl::ToUnixMillis(context_.ApiNow()), entry.pods)) {
      *entry.record.add_pending() = std::move(due);
      entry.record_dirty = true;
    }
    if (const auto next = deadlines.NextDue()) context_.WakeAt(entry.key, absl::FromUnixMillis(*next));
  }
  StoreDeadlines(entry, batch);
}

// Beside those that a process which was here before has kept: those of pods that were pending.
void JobController::DeriveDeadlines(JobEntry& entry) {
  entry.deadlines_derived = true;
  const kube::v1::JobSpec& spec = entry.compiled->spec;
  if (!HasTimeouts(spec)) return;
  std::set<std::string_view> due;  // To be carried out already.
  for (const storage::v1::PendingAction& pending : entry.record.pending()) {
    if (pending.due_ms() != 0) due.insert(pending.pod());
  }
  const absl::Status status = ForEachPod(
      context_.store(), entry.slot, entry.key, [&](std::string_view name, const storage::v1::PodRecord& record) {
        const PodEntry* pod = entry.pods.Find(name);
        const PodIndex place = entry.pods.PlaceOf(name);
        if (pod == nullptr || pod->uid != record.uid() || !place.indexed() || place.task >= spec.tasks_size()) return;
        if (pod->phase != kube::v1::POD_PHASE_PENDING || pod->has(kPodTerminating) || pod->has(kPodForeign) ||
            pod->has(kPodOutOfSync) || due.contains(name)) {
          return;
        }
        // What is kept of a pod that is Pending came after it, and has taken the place of this.
        if (entry.deadlines.Find(std::string(name)) != nullptr) return;
        JobEvent event;
        event.kind = kEventPodPending;
        event.task = place.task;
        event.index = place.index;
        event.pod = name;
        event.pod_uid = pod->uid;
        event.reason = record.reason();
        event.version = pod->version;
        // One that ran before is pending for a shorter time: its deadline was kept.
        event.time_ms = LatestTimeOf(record.creation_ms(), absl::ToUnixMillis(context_.ApiNow()));
        const PolicyMatch match = ApplyPolicies(spec, event);
        storage::v1::PendingAction action = ActionOf(event, match, spec);
        if (!match.action.empty() && action.due_ms() != 0) entry.deadlines.Add(std::move(action));
      });
  if (!status.ok()) context_.Fail(status);
}

}  // namespace basalt::jobsvc
