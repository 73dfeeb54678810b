#include "services/jobsvc/control/actions/pending_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/kube/text.h"
#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/core/events/command.h"

namespace basalt::jobsvc {

namespace {

std::string SubjectOf(const JobEvent& event, const kube::v1::JobSpec& spec) {
  if (event.kind == kEventUnknown) return "the PodGroup";
  const std::string task = event.task >= 0 && event.task < spec.tasks_size() ? spec.tasks(event.task).name() : "";
  if (event.kind == kEventTaskCompleted) return fmt::format("task {}", task);
  if (event.kind == kEventTaskFailed) return fmt::format("task {} by pod {}", task, event.pod);
  return fmt::format("pod {}", event.pod);
}

// Returns the Command for this job with the lowest resourceVersion. Null if there is none, or if the one that was
// carried out last is still there.
const kube::v1::Command* NextCommand(const JobEntry& entry) {
  const kube::v1::Command* first = nullptr;
  for (const auto& [name, command] : entry.commands) {
    if (command.target().uid() != entry.record.uid()) continue;  // W7: the target is another job of this name.
    if (command.meta().uid() == entry.persisted.last_command_uid) return nullptr;
    if (first == nullptr || command.meta().resource_version() < first->meta().resource_version()) first = &command;
  }
  return first;
}

}  // namespace

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
  // TaskCompleted and TaskFailed are about a task.
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

void QueueActions(JobEntry& entry, std::vector<JobEvent> events) {
  std::sort(events.begin(), events.end(), Earlier);
  const kube::v1::JobSpec& spec = entry.compiled->spec;
  // Keyed by the text and the rule without the pod. The value is the first subject, and the number of pods.
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
  // Many delayed actions at once make one Event.
  for (const auto& [what, pods] : delayed) {
    const std::string more = pods.second == 1 ? "" : fmt::format(" and {} more", pods.second - 1);
    entry.pending_events.push_back(
        {false, "ExecuteAction", fmt::format("{} ({}{}, {})", what.first, pods.first, more, what.second)});
  }
}

void DropAnsweredEnds(const std::vector<storage::v1::PendingAction>& done, JobEntry& entry) {
  std::set<std::string_view> failed;
  for (const storage::v1::PendingAction& action : done) {
    if (action.event() == kEventPodFailed) failed.insert(action.pod_uid());
  }
  if (failed.empty()) return;
  PendingActions& pending = *entry.record.mutable_pending();
  const auto is_answered = [&failed](const storage::v1::PendingAction& action) {
    return action.event() == kEventPodEvicted && failed.contains(action.pod_uid());
  };
  pending.erase(std::remove_if(pending.begin(), pending.end(), is_answered), pending.end());
  entry.deadlines.DropEvictions(failed);
}

void EnqueueNextCommand(JobEntry& entry) {
  const kube::v1::Command* const next = NextCommand(entry);
  if (next == nullptr) return;
  for (const auto& pending : entry.record.pending()) {
    if (!pending.command_uid().empty()) return;
  }
  auto* pending = entry.record.add_pending();
  pending->set_event(std::string(kEventCommandIssued));
  pending->set_action(next->action());
  const CommandTarget target = TargetOf(*next);
  const std::string about = TargetText(target);
  pending->set_subject(fmt::format("command {}{}{}", next->meta().name(), about.empty() ? "" : " for ", about));
  pending->set_rule("command");
  pending->set_version(-1);
  pending->set_index(-1);
  pending->set_task(target.task);
  pending->set_pod(target.pod);
  pending->set_pod_uid(target.pod_uid);
  pending->set_partition(target.partition.value_or(-1));
  pending->set_time_ms(next->meta().creation_ms());
  pending->set_command_uid(next->meta().uid());
  entry.record_dirty = true;
  entry.pending_events.push_back(
      {false, "CommandIssued", fmt::format("command {} asks for {}", next->meta().name(), next->action())});
}

}  // namespace basalt::jobsvc
