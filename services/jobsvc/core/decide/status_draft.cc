#include "services/jobsvc/core/decide/status_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/kube/text.h"
#include "services/jobsvc/core/decide/decision_words.h"
#include "services/jobsvc/core/decide/kill.h"
#include "services/jobsvc/core/decide/sync.h"
#include "services/jobsvc/core/pods/status_facts.h"
#include "services/jobsvc/core/render/job_status_json.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using kube::v1::JobPhase;

void StatusDraft::Begin() {
  decision_.status = in_.job.status();
  to_persist_ = in_.persisted;
  if (!to_persist_.kill) return;  // Another controller wrote it: its kill answers no event.
  for (const std::string& uid : in_.unreported_answered) AddAnswered(uid, to_persist_.answered);
  for (const std::string& uid : decision_.answered) AddAnswered(uid, to_persist_.answered);
}

void StatusDraft::PutFacts(const kube::v1::PodCounts& counts, const std::vector<TaskCounts>& tasks) {
  PutCounts(counts, tasks, in_.pods.shape().tasks(), status());
  // A finished job keeps the message with which it ended.
  if (!IsFinished(in_.job.status().phase())) {
    status().set_reason(in_.words.reason);
    status().set_message(in_.words.message);
  }
  to_persist_.objects = in_.objects;
  to_persist_.done.clear();
  for (size_t i = 0; i < in_.pods.done().by_task().size(); ++i) {
    if (!in_.pods.done().by_task()[i].empty())
      to_persist_.done[in_.pods.shape().tasks()[i].name] = in_.pods.done().by_task()[i];
  }
  PutMarkers(in_.markers, status());
}

void StatusDraft::SetPhase(JobPhase phase) {
  status().set_phase(phase);
  status().set_last_transition_ms(in_.now_ms);
  AppendCondition(status(), phase, in_.now_ms);
}

void StatusDraft::SetRunningDuration() {
  status().set_running_duration(RunningDuration(in_.job.meta().creation_ms(), status().last_transition_ms()));
}

void StatusDraft::NoteAction(const storage::v1::PendingAction& pending, storage::v1::HistoryRecord::Result result,
                             std::string outcome) {
  decision_.consumed = 1;
  if (!pending.command_uid().empty()) to_persist_.last_command_uid = pending.command_uid();
  decision_.has_history = true;
  auto& history = decision_.history;
  history.set_event(pending.event());
  history.set_subject(pending.subject());
  history.set_exit_code(pending.exit_code());
  history.set_pod_phase(pending.pod_phase());
  history.set_pod_reason(pending.reason());
  history.set_rule(pending.rule());
  history.set_action(pending.action());
  history.set_outcome(std::move(outcome));
  history.set_result(result);
}

void StatusDraft::NoteSync(std::string_view rule, std::string outcome) {
  decision_.has_history = true;
  auto& history = decision_.history;
  history.set_event("OutOfSync");
  history.set_action("SyncJob");
  history.set_rule(std::string(rule));
  history.set_outcome(std::move(outcome));
}

void StatusDraft::NoteDeadline(const storage::v1::PendingAction& deadline) {
  DescribeDeadline(deadline);
  decision_.history.set_outcome(fmt::format("to be carried out at {}", kube::FormatTime(deadline.due_ms())));
}

void StatusDraft::DescribeDeadline(const storage::v1::PendingAction& deadline) {
  decision_.has_history = true;
  auto& history = decision_.history;
  history.set_event(deadline.event());
  history.set_subject(deadline.subject());
  history.set_rule(deadline.rule());
  history.set_action(deadline.action());
}

void StatusDraft::Finish(Decision::Write write) {
  decision_.write = write;
  if (to_persist_.kill && IsOver(*to_persist_.kill, in_.pods, in_.group_uid)) to_persist_.kill.reset();
  decision_.kills = new_kill_.has_value();
  if (new_kill_) to_persist_.kill = std::move(new_kill_);
  for (int i = FirstCarriedOut(); i < FirstLeft(); ++i) carried_out_.Add(in_.pending.Get(i));
  KeepDeadlines();
  NoteDropped();
  NameWantedObjects();
  if (IsFinished(status().phase())) to_persist_.answered.clear();
  to_persist_.sequence = std::max(in_.persisted.sequence, in_.last_sequence) + 1;
  to_persist_.nonce = in_.draw_nonce();
  decision_.sequence = to_persist_.sequence;
  decision_.nonce = to_persist_.nonce;
  WriteControlledState(to_persist_, status());
  if (!decision_.has_history) return;
  auto& history = decision_.history;
  history.set_sequence(to_persist_.sequence);
  history.set_time_ms(in_.now_ms);
  history.set_from_phase(in_.job.status().phase());
  history.set_to_phase(status().phase());
  *history.mutable_counts() = status().counts();
  history.set_version(status().version());
}

// The status names the plugin objects before they are made. Whichever process ends the job then removes them, even if
// the process that made an object died before the answer came.
void StatusDraft::NameWantedObjects() {
  if (!MakesPods(status().phase()) || MakesPods(in_.job.status().phase())) return;
  for (const WantedObject& object : in_.wanted_objects) to_persist_.objects.try_emplace(object.Key());
}

// Sets the deadlines that the status holds. A due one stays among the pending actions until it is carried out.
void StatusDraft::KeepDeadlines() {
  const bool finished = IsFinished(status().phase());
  to_persist_.deadlines.clear();
  if (finished) return;
  const auto keep = [&](const storage::v1::PendingAction& deadline) {
    if (to_persist_.deadlines.size() >= kMostStoredDeadlines || !IsStored(deadline)) return;
    if (carried_out_.ThatClears(deadline) == nullptr) to_persist_.deadlines.push_back(deadline);
  };
  for (int i = FirstLeft(); i < in_.pending.size(); ++i) keep(in_.pending.Get(i));
  for (const auto& [pod, deadline] : in_.deadlines.stored()) keep(deadline);
}

// Returns why a deadline that the status held is not in it any more. Empty if it still waits or is carried out.
std::string StatusDraft::WhyDropped(const storage::v1::PendingAction& deadline) const {
  const auto same = [&deadline](const storage::v1::PendingAction& other) { return SameDeadline(deadline, other); };
  const auto left = in_.pending.begin() + FirstLeft();
  if (std::any_of(in_.pending.begin() + FirstCarriedOut(), left, same)) return {};
  const JobPhase to = decision_.status.phase();
  if (IsFinished(to)) return fmt::format("the job is {}", NameOf(to));
  if (const storage::v1::PendingAction* const first = carried_out_.ThatClears(deadline); first != nullptr) {
    return fmt::format("{} because of {} came first", first->action(), first->event());
  }
  const storage::v1::PendingAction* const waits = in_.deadlines.Find(deadline.pod());
  if (waits != nullptr && same(*waits)) return {};
  if (std::any_of(left, in_.pending.end(), same)) return {};
  if (deadline.version() >= 0 && deadline.version() < in_.job.status().version()) {
    return fmt::format("the job was restarted as version {}", in_.job.status().version());
  }
  if (waits != nullptr) return fmt::format("{} because of {} took its place", waits->action(), waits->event());
  if (!StillHolds(deadline, in_.pods)) return fmt::format("another pod {} runs", deadline.pod());
  return "there was nothing to do";
}

// History announced these deadlines for their times. The entry of the write that takes them out of the status records
// why they will not come.
void StatusDraft::NoteDropped() {
  const storage::v1::PendingAction* first = nullptr;
  std::string why;
  int others = 0;
  for (const storage::v1::PendingAction& deadline : in_.persisted.deadlines) {
    std::string reason = WhyDropped(deadline);
    if (reason.empty()) continue;
    if (first != nullptr) {
      ++others;
      continue;
    }
    first = &deadline;
    why = std::move(reason);
  }
  if (first == nullptr) return;
  const std::string more = others == 0 ? "" : fmt::format("; and {} more", others);
  auto& history = decision_.history;
  if (decision_.has_history) {
    history.set_outcome(fmt::format("{}; {} of {} because of {} is dropped: {}{}", history.outcome(), first->action(),
                                    first->subject(), first->event(), why, more));
    return;
  }
  DescribeDeadline(*first);
  history.set_outcome(fmt::format("dropped: {}{}", why, more));
}

}  // namespace basalt::jobsvc
