#include "services/jobsvc/core/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/excerpt.h"
#include "common/kube/names.h"
#include "common/kube/text.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/kill.h"
#include "services/jobsvc/core/pods/status_facts.h"
#include "services/jobsvc/core/render/job_status_json.h"
#include "services/jobsvc/core/restart_run.h"
#include "services/jobsvc/core/sync.h"

namespace basalt::jobsvc {

using kube::v1::JobPhase;
using kube::v1::JobStatus;
using storage::v1::HistoryRecord;

namespace {

// What became of the attempt to begin a targeted kill.
struct Attempt {
  enum Result { kBegun, kNothingToDo, kWaits } result = kNothingToDo;
  std::string refusal;  // Of kNothingToDo: why, where people have to be told.
};

PendingEvent RefusalOf(std::string message) { return {true, "ActionRefused", std::move(message)}; }

// `instead`: why nothing is done; empty: it is.
PendingEvent ExecutionOf(const storage::v1::PendingAction& pending, std::string_view instead = {}) {
  return {false, "ExecuteAction",
          fmt::format("{} because of {} ({}){}{}", pending.action(), pending.event(),
                      pending.subject().empty() ? pending.rule() : pending.subject(), instead.empty() ? "" : ": ",
                      instead)};
}

std::string_view NameOf(JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_UNSPECIFIED ? std::string_view("(new)") : kube::JobPhaseName(phase);
}

void SetPhase(JobPhase phase, int64_t now_ms, JobStatus& status) {
  status.set_phase(phase);
  status.set_last_transition_ms(now_ms);
  AppendCondition(status, phase, now_ms);
}

std::string DurationOf(const kube::v1::Job& job, const JobStatus& status) {
  return RunningDuration(job.meta().creation_ms(), status.last_transition_ms());
}

class Decider {
 public:
  explicit Decider(const DecideInput& input) : in_(input), phase_(input.job.status().phase()) {}

  Decision Run() {
    if (in_.job.meta().deletion_ms() != 0) return std::move(decision_);
    if (phase_ == kube::v1::JOB_PHASE_UNSPECIFIED) {
      Initiate();
    } else if (!TryPending()) {
      Sync();
    }
    return std::move(decision_);
  }

 private:
  JobStatus& status() { return decision_.status; }

  // The pending actions that this write carries out end where those that it leaves begin.
  int FirstCarriedOut() const { return decision_.dropped; }
  int FirstLeft() const { return decision_.dropped + decision_.consumed; }

  // What the status is to hold of the deadlines. What is due waits among the pending actions until it is settled.
  void KeepDeadlines() {
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

  // Why a deadline that the status held is not in it any more. Empty: it waits still, or is carried out.
  std::string WhyDropped(const storage::v1::PendingAction& deadline) const {
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

  // What was told to be carried out at its time, and is not, is told with the write that takes it out of the status.
  void NoteDropped() {
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

  // A status to be changed. Most passes change none, and are not to pay for a copy.
  void Begin() {
    decision_.status = in_.job.status();
    to_persist_ = in_.persisted;
    if (!to_persist_.kill) return;  // Somebody else's write: the kill answers nobody any more.
    for (const std::string& uid : in_.unreported_answered) AddAnswered(uid, to_persist_.answered);
    for (const std::string& uid : decision_.answered) AddAnswered(uid, to_persist_.answered);
  }

  void PutFacts(const kube::v1::PodCounts& counts, const std::vector<TaskCounts>& tasks) {
    PutCounts(counts, tasks, in_.pods.tasks(), status());
    // What a job ended with stays.
    if (!IsFinished(phase_)) {
      status().set_reason(in_.words.reason);
      status().set_message(in_.words.message);
    }
    to_persist_.objects = in_.objects;
    to_persist_.done.clear();
    for (size_t i = 0; i < in_.pods.done().size(); ++i) {
      if (!in_.pods.done()[i].empty()) to_persist_.done[in_.pods.tasks()[i].name] = in_.pods.done()[i];
    }
    PutMarkers(in_.markers, status());
  }

  void Finish(Decision::Write write) {
    decision_.write = write;
    if (to_persist_.kill && IsOver(*to_persist_.kill, in_.pods, in_.group_uid)) to_persist_.kill.reset();
    decision_.kills = new_kill_.has_value();
    if (new_kill_) to_persist_.kill = std::move(new_kill_);
    for (int i = FirstCarriedOut(); i < FirstLeft(); ++i) carried_out_.Add(in_.pending.Get(i));
    KeepDeadlines();
    NoteDropped();
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
    history.set_from_phase(phase_);
    history.set_to_phase(status().phase());
    *history.mutable_counts() = status().counts();
    history.set_version(status().version());
  }

  void Initiate() {
    Begin();
    PutFacts(in_.pods.counts(), in_.pods.task_counts());
    status().set_min_available(in_.spec.min_available());
    SetPhase(kube::v1::JOB_PHASE_PENDING, in_.now_ms, status());
    decision_.has_history = true;
    decision_.history.set_event("OutOfSync");
    decision_.history.set_action("SyncJob");
    decision_.history.set_rule(std::string(in_.invalid ? kRuleSpecRefused : kRuleInitiated));
    decision_.history.set_outcome(in_.invalid ? in_.words.message : "status initialised");
    Finish(Decision::Write::kNow);
  }

  // W11: what a policy answers to comes before anything that a plain sync might conclude.
  bool TryPending() {
    if (in_.pending.empty()) return false;
    Begin();
    for (int i = 0; i < in_.pending.size(); ++i) {
      const storage::v1::PendingAction& pending = in_.pending.Get(i);
      const std::optional<Action> action = ParseAction(pending.action());
      const bool stale = (pending.version() >= 0 && pending.version() < in_.job.status().version()) ||
                         (pending.due_ms() != 0 && !StillHolds(pending, in_.pods));
      std::string refusal;
      if (action && !stale) {
        const Transition transition = Lookup(phase_, *action);
        if (transition.operation == Operation::kKillJob) {
          KillJob(transition, pending);
          return true;
        }
        if (transition.operation == Operation::kKillTarget) {
          const Attempt attempt = KillTarget(*action, i);
          if (attempt.result == Attempt::kBegun) return true;
          if (attempt.result == Attempt::kWaits) {
            action_waits_ = true;
            return false;
          }
          refusal = attempt.refusal;
        }
      }
      if (!pending.command_uid().empty()) {
        FinishCommand(pending, action, std::move(refusal));
        return true;
      }
      if (!refusal.empty()) decision_.refusals.push_back(RefusalOf(std::move(refusal)));
      ++decision_.dropped;
    }
    return false;
  }

  // A command for which there is nothing to do is answered all the same: only then may it be deleted.
  void FinishCommand(const storage::v1::PendingAction& pending, std::optional<Action> action, std::string refusal) {
    PutFacts(in_.pods.counts(), in_.pods.task_counts());
    if (!action) refusal = NoSuchAction(pending.action());
    const bool is_refused = !refusal.empty();
    const std::string why = is_refused ? std::move(refusal) : NothingToDo(*action);
    NoteAction(pending, is_refused ? HistoryRecord::RESULT_REFUSED : HistoryRecord::RESULT_NOTHING_TO_DO, why);
    decision_.pending_events.push_back(is_refused ? RefusalOf(why) : ExecutionOf(pending, why));
    Finish(Decision::Write::kNow);
  }

  std::string NothingToDo(Action action) const {
    std::string why = fmt::format("nothing to do: the job is {}", NameOf(phase_));
    const bool runs_it = IsTargeted(action) || action == Action::kRestartJob || action == Action::kResumeJob;
    if (IsFinished(phase_)) return why + (runs_it ? ", which is final; submit it again" : ", which is final");
    if (phase_ == kube::v1::JOB_PHASE_ABORTED || phase_ == kube::v1::JOB_PHASE_ABORTING) {
      return why + (action == Action::kAbortJob ? " already" : "; only a resume is carried out there");
    }
    if (IsDraining(phase_)) return why + ", and ends with that";
    if (IsTargeted(action)) return "nothing to do: there is no pod of what it names";
    if (action == Action::kResumeJob) return why + "; only one that is aborted is resumed";
    return "nothing to do";
  }

  void NoteAction(const storage::v1::PendingAction& pending, HistoryRecord::Result result, std::string outcome) {
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

  void GoTo(const Transition& transition) {
    if (transition.callback == Callback::kRetryAndGoTo) status().set_retry_count(status().retry_count() + 1);
    const Outcome outcome =
        Conclude(in_, transition, status().counts(), status().min_available(), status().retry_count());
    if (outcome.phase != phase_) SetPhase(outcome.phase, in_.now_ms, status());
    if (!outcome.rule.empty() && decision_.history.rule().empty()) {
      decision_.history.set_rule(std::string(outcome.rule));
    }
  }

  // Null: none.
  const Kill* KillUnderWay() const {
    const std::optional<Kill>& kill = in_.persisted.kill;
    return kill && !IsOver(*kill, in_.pods, in_.group_uid) ? &*kill : nullptr;
  }

  void BeginKill(Kill kill, const storage::v1::PendingAction& summary, std::string outcome) {
    new_kill_ = std::move(kill);
    NoteAction(summary, HistoryRecord::RESULT_CARRIED_OUT, std::move(outcome));
    decision_.pending_events.push_back(ExecutionOf(summary));
  }

  void FinishKill() {
    status().set_running_duration(DurationOf(in_.job, status()));
    Finish(Decision::Write::kNow);
  }

  void KillJob(const Transition& transition, const storage::v1::PendingAction& pending) {
    const bool ends_retries = transition.callback == Callback::kRetryAndGoTo &&
                              IsLastRetry(in_.job.status().retry_count(), in_.spec.max_retry());
    const Retain retain = ends_retries ? Retain::kSoft : transition.retain;
    status().set_version(in_.job.status().version() + 1);
    Kill kill = KillOf(pending, status().version());
    kill.retain = retain;
    kill.group_uid = std::string(in_.group_uid);
    // A targeted kill that is not over is part of one that keeps what has finished: its targets go all the same.
    const Kill* const before = KillUnderWay();
    if (retain != Retain::kNone && before != nullptr) kill.targets = before->targets;
    PodRules rules = in_.pods.rules();
    rules.version = status().version();
    rules.targets = kill.targets;
    if (retain == Retain::kNone) to_persist_.delete_terminal_below = status().version();
    if (retain == Retain::kSucceeded) to_persist_.delete_failed_below = status().version();
    rules.delete_terminal_below = to_persist_.delete_terminal_below;
    rules.delete_failed_below = to_persist_.delete_failed_below;
    const auto [counts, tasks] = in_.pods.CountUnder(rules);
    PutFacts(counts, tasks);
    if (retain == Retain::kNone) to_persist_.done.clear();
    to_persist_.answered.clear();
    BeginKill(std::move(kill), pending, fmt::format("{}; version {}", OutcomeOfKill(retain), status().version()));
    GoTo(transition);
    FinishKill();
  }

  static std::string_view OutcomeOfKill(Retain retain) {
    if (retain == Retain::kSucceeded) return "resumed: pods that succeeded stay, all others are made anew";
    return retain == Retain::kSoft ? "kill of all pods but the finished" : "kill of all pods";
  }

  // With nothing to kill nothing is to be done (W32) unless an eviction has taken the target away already: then the
  // action is carried out on what is left of it, and costs a retry as it does with a pod left.
  Attempt KillTarget(Action action, int position) {
    const storage::v1::PendingAction& pending = in_.pending.Get(position);
    // Pods fail in numbers, and ask for the same.
    const std::string asked = AskedBy(pending);
    const bool is_for_many = !asked.empty() && pending.command_uid().empty();
    if (is_for_many && refused_.contains(asked)) return {};
    if (is_for_many && taken_.contains(asked)) return AnsweredBefore(pending);
    Targets targets = TargetsOf(action, pending, in_.pods);
    const bool evicted = pending.event() == kEventPodEvicted && NamesTarget(action, pending, in_.pods);
    if (targets.empty() && !evicted) return {};
    const Kill* const before = KillUnderWay();
    // What failed together is restarted once: the targets are all going already.
    if (pending.command_uid().empty() && before != nullptr && Takes(before->targets, targets.pods)) {
      taken_.insert(asked);
      return AnsweredBefore(pending);
    }
    if (targets.pods.size() > kMostTargets) {
      refused_.insert(asked);
      return {.refusal = fmt::format("{} of task {} is refused: it is about {} pods, and at most {} are restarted "
                                     "together; RestartJob restarts any number",
                                     pending.action(), pending.task(), targets.pods.size(), kMostTargets)};
    }
    Kill kill = KillOf(pending, status().version());
    kill.targets = targets.pods;
    if (before != nullptr && !TakeOver(*before, in_.pods, kill)) return {.result = Attempt::kWaits};
    RestartRun run = TakeTogether(in_, position, std::move(targets), kill.targets);
    targets = std::move(run.targets);
    PodRules rules = in_.pods.rules();
    rules.targets = kill.targets;
    auto [counts, tasks] = in_.pods.CountUnder(rules);
    Redo(targets.again, counts, tasks);
    PutFacts(counts, tasks);
    for (const PodIndex& place : targets.again) {
      const auto done = to_persist_.done.find(in_.pods.tasks()[static_cast<size_t>(place.task)].name);
      done->second.erase(place.index);
      if (done->second.empty()) to_persist_.done.erase(done);
    }
    decision_.again = std::move(targets.again);
    BeginKill(std::move(kill), SummaryOf(run.restarts), OutcomeOf(run.restarts, targets.pods.size()));
    decision_.consumed = run.settled;
    if (run.phase != phase_ || run.retries != status().retry_count()) SetPhase(run.phase, in_.now_ms, status());
    status().set_retry_count(run.retries);
    KeepAnswered(run);
    FinishKill();
    return {.result = Attempt::kBegun};
  }

  // The kill of the status takes all that the action is about.
  Attempt AnsweredBefore(const storage::v1::PendingAction& pending) {
    const std::vector<std::string>& named = to_persist_.answered;
    if (std::find(named.begin(), named.end(), pending.pod_uid()) != named.end()) return {};
    AddAnswered(pending.pod_uid(), to_persist_.answered);
    AddAnswered(pending.pod_uid(), decision_.answered);
    return {};
  }

  // The pods whose events a targeted kill answers: those that it settles, and those that ask for the same.
  void KeepAnswered(const RestartRun& run) {
    std::set<std::string> asked;
    for (const storage::v1::PendingAction* restart : run.restarts) asked.insert(AskedBy(*restart));
    asked.erase("");
    for (int i = 0; i < in_.pending.size(); ++i) {
      const storage::v1::PendingAction& other = in_.pending.Get(i);
      const bool is_settled = i >= FirstCarriedOut() && i < FirstLeft();
      const bool is_old = other.version() >= 0 && other.version() < in_.job.status().version();
      if (!is_settled && (is_old || !asked.contains(AskedBy(other)))) continue;
      if (other.command_uid().empty()) AddAnswered(other.pod_uid(), to_persist_.answered);
    }
  }

  void DescribeDeadline(const storage::v1::PendingAction& deadline) {
    decision_.has_history = true;
    auto& history = decision_.history;
    history.set_event(deadline.event());
    history.set_subject(deadline.subject());
    history.set_rule(deadline.rule());
    history.set_action(deadline.action());
  }

  void NoteDeadline(const storage::v1::PendingAction& deadline) {
    DescribeDeadline(deadline);
    decision_.history.set_outcome(fmt::format("to be carried out at {}", kube::FormatTime(deadline.due_ms())));
  }

  // A spec that is refused while the job runs, or is mended: told with the words that the status gets.
  void NoteSpec() {
    const bool was_refused = in_.job.status().reason() == kInvalidJob;
    const bool is_refused = in_.invalid && in_.words.reason == kInvalidJob;
    if (IsFinished(phase_) || was_refused == is_refused) return;
    decision_.has_history = true;
    auto& history = decision_.history;
    history.set_event("OutOfSync");
    history.set_action("SyncJob");
    history.set_rule(is_refused ? std::string(kRuleSpecRefused) : "the spec is accepted again");
    history.set_outcome(is_refused ? in_.words.message : "the job goes on");
  }

  void Sync() {
    const JobStatus& stored = in_.job.status();
    const bool settled = IsFinished(phase_) || IsDraining(phase_) || phase_ == kube::v1::JOB_PHASE_ABORTED;
    const int32_t min_available = settled || in_.invalid ? stored.min_available() : in_.spec.min_available();
    const Transition transition = Lookup(phase_, Action::kSyncJob);
    Outcome outcome{phase_, {}};
    // W11: nothing is concluded before an action that waits for the kill under way to have ended.
    if (IsCarried(in_) && !action_waits_) {
      outcome = Conclude(in_, transition, in_.pods.counts(), min_available, stored.retry_count());
    }
    const storage::v1::PendingAction* const new_deadline = outcome.phase == phase_ ? NewDeadline(in_) : nullptr;
    if (outcome.phase == phase_ && new_deadline == nullptr) {
      const bool is_reported = decision_.answered.empty() && IsReportedAlready(in_, settled, min_available);
      if (is_reported || WasFinishedByOther(in_)) return;
      if (!in_.counts_due) {
        decision_.write = Decision::Write::kCounts;
        return;
      }
    }
    Begin();
    PutFacts(in_.pods.counts(), in_.pods.task_counts());
    status().set_min_available(min_available);
    if (!settled) status().clear_running_duration();
    if (outcome.phase == phase_) {
      // A finish time never moves (12.2); in other phases upstream bumps it with every write of a sync.
      if (!settled) SetPhase(phase_, in_.now_ms, status());
      if (new_deadline != nullptr) {
        NoteDeadline(*new_deadline);
      } else {
        NoteSpec();
      }
      Finish(new_deadline != nullptr ? Decision::Write::kNow : Decision::Write::kCounts);
      return;
    }
    SetPhase(outcome.phase, in_.now_ms, status());
    decision_.has_history = true;
    decision_.history.set_event("OutOfSync");
    decision_.history.set_action("SyncJob");
    decision_.history.set_rule(std::string(outcome.rule));
    std::string change = fmt::format("{} -> {}", NameOf(phase_), NameOf(outcome.phase));
    if (outcome.rule.starts_with(kRuleNoOtherStarts)) {
      change += fmt::format("; {}", WhyNeverStarted(in_.spec, in_.pods));
    }
    decision_.history.set_outcome(std::move(change));
    // Draining is one long kill: where it ends, the duration is that of its end (9.5).
    if (settled || IsFinished(outcome.phase)) status().set_running_duration(DurationOf(in_.job, status()));
    if (!settled && IsFinished(outcome.phase)) {
      // What is still alive goes, what is finished stays; the version does not grow any more.
      Kill kill;
      kill.cause = fmt::format("{}: {}", NameOf(outcome.phase), outcome.rule);
      kill.action = "SyncJob";
      kill.version = status().version();
      kill.retain = Retain::kSoft;
      kill.group_uid = std::string(in_.group_uid);
      if (const Kill* const before = KillUnderWay(); before != nullptr) kill.targets = before->targets;
      new_kill_ = std::move(kill);
    }
    Finish(Decision::Write::kNow);
  }

  const DecideInput& in_;
  const JobPhase phase_;
  Decision decision_;
  ControlledState to_persist_;
  std::optional<Kill> new_kill_;
  CarriedOut carried_out_;
  bool action_waits_ = false;
  // What was asked for, whichever pod asks for it again: the kill of the status does it; or nobody does.
  std::set<std::string> taken_;
  std::set<std::string> refused_;
};

}  // namespace

std::string NoSuchAction(std::string_view action) {
  return fmt::format("{} is refused: there is no such action", Excerpt(action));
}

Decision Decide(const DecideInput& input) { return Decider(input).Run(); }

}  // namespace basalt::jobsvc
