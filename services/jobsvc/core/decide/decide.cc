#include "services/jobsvc/core/decide/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "services/jobsvc/core/decide/decision_words.h"
#include "services/jobsvc/core/decide/kill.h"
#include "services/jobsvc/core/decide/restart_run.h"
#include "services/jobsvc/core/decide/status_draft.h"
#include "services/jobsvc/core/decide/sync.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

using kube::v1::JobPhase;
using kube::v1::JobStatus;
using storage::v1::HistoryRecord;

namespace {

// The result of the attempt to begin a targeted kill.
struct Attempt {
  enum Result { kBegun, kNothingToDo, kWaits } result = kNothingToDo;
  std::string refusal;  // Why there is nothing to do, if people should know. Only with kNothingToDo.
};

class Decider {
 public:
  explicit Decider(const DecideInput& input) : in_(input), phase_(input.job.status().phase()), draft_(input) {}

  Decision Run() {
    if (in_.job.meta().deletion_ms() != 0) return std::move(draft_.decision());
    if (phase_ == kube::v1::JOB_PHASE_UNSPECIFIED) {
      Initiate();
    } else if (!TryPending()) {
      Sync();
    }
    return std::move(draft_.decision());
  }

 private:
  JobStatus& status() { return draft_.status(); }

  void Initiate() {
    draft_.Begin();
    draft_.PutFacts(in_.pods.counts(), in_.pods.task_counts());
    status().set_min_available(in_.spec.min_available());
    draft_.SetPhase(kube::v1::JOB_PHASE_PENDING);
    draft_.NoteSync(in_.invalid ? kRuleSpecRefused : kRuleInitiated,
                    in_.invalid ? in_.words.message : "status initialised");
    draft_.Finish(Decision::Write::kNow);
  }

  // The action of a policy comes before anything that a plain sync might conclude (W11).
  bool TryPending() {
    if (in_.pending.empty()) return false;
    draft_.Begin();
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
      if (!refusal.empty()) draft_.decision().refusals.push_back(RefusalOf(std::move(refusal)));
      ++draft_.decision().dropped;
    }
    return false;
  }

  // A command for which there is nothing to do is answered, too: only an answered command may be deleted.
  void FinishCommand(const storage::v1::PendingAction& pending, std::optional<Action> action, std::string refusal) {
    draft_.PutFacts(in_.pods.counts(), in_.pods.task_counts());
    if (!action) refusal = NoSuchAction(pending.action());
    const bool is_refused = !refusal.empty();
    const std::string why = is_refused ? std::move(refusal) : NothingToDo(*action, phase_);
    draft_.NoteAction(pending, is_refused ? HistoryRecord::RESULT_REFUSED : HistoryRecord::RESULT_NOTHING_TO_DO, why);
    draft_.decision().pending_events.push_back(is_refused ? RefusalOf(why) : ExecutionOf(pending, why));
    draft_.Finish(Decision::Write::kNow);
  }

  void GoTo(const Transition& transition) {
    if (transition.callback == Callback::kRetryAndGoTo) status().set_retry_count(status().retry_count() + 1);
    const Outcome outcome =
        Conclude(in_, transition, status().counts(), status().min_available(), status().retry_count());
    if (outcome.phase != phase_) draft_.SetPhase(outcome.phase);
    if (!outcome.rule.empty() && draft_.decision().history.rule().empty()) {
      draft_.decision().history.set_rule(std::string(outcome.rule));
    }
  }

  // Null if no kill is under way.
  const Kill* KillUnderWay() const {
    const std::optional<Kill>& kill = in_.persisted.kill;
    return kill && !IsOver(*kill, in_.pods, in_.group_uid) ? &*kill : nullptr;
  }

  void BeginKill(Kill kill, const storage::v1::PendingAction& summary, std::string outcome) {
    draft_.SetKill(std::move(kill));
    draft_.NoteAction(summary, HistoryRecord::RESULT_CARRIED_OUT, std::move(outcome));
    draft_.decision().pending_events.push_back(ExecutionOf(summary));
  }

  void FinishKill() {
    draft_.SetRunningDuration();
    draft_.Finish(Decision::Write::kNow);
  }

  void KillJob(const Transition& transition, const storage::v1::PendingAction& pending) {
    const bool ends_retries = transition.callback == Callback::kRetryAndGoTo &&
                              IsLastRetry(in_.job.status().retry_count(), in_.spec.max_retry());
    const Retain retain = ends_retries ? Retain::kSoft : transition.retain;
    status().set_version(in_.job.status().version() + 1);
    Kill kill = KillOf(pending, status().version());
    kill.retain = retain;
    kill.group_uid = std::string(in_.group_uid);
    // A targeted kill under way becomes part of a kill that keeps finished pods: its targets are deleted all the same.
    const Kill* const before = KillUnderWay();
    if (retain != Retain::kNone && before != nullptr) kill.targets = before->targets;
    PodRules rules = in_.pods.rules();
    rules.version = status().version();
    rules.targets = kill.targets;
    if (retain == Retain::kNone) draft_.to_persist().delete_terminal_below = status().version();
    if (retain == Retain::kSucceeded) draft_.to_persist().delete_failed_below = status().version();
    rules.delete_terminal_below = draft_.to_persist().delete_terminal_below;
    rules.delete_failed_below = draft_.to_persist().delete_failed_below;
    const auto [counts, tasks] = in_.pods.CountUnder(rules);
    draft_.PutFacts(counts, tasks);
    if (retain == Retain::kNone) draft_.to_persist().done.clear();
    draft_.to_persist().answered.clear();
    BeginKill(std::move(kill), pending, fmt::format("{}; version {}", OutcomeOfKill(retain), status().version()));
    GoTo(transition);
    FinishKill();
  }

  // Without targets nothing is done (W32), unless an eviction has already removed the target. Then the action is
  // carried out on the rest of the target, and costs a retry as with a pod left.
  Attempt KillTarget(Action action, int position) {
    const storage::v1::PendingAction& pending = in_.pending.Get(position);
    // Many pods may fail together, and their actions have the same target.
    const std::string asked = AskedBy(pending);
    const bool is_for_many = !asked.empty() && pending.command_uid().empty();
    if (is_for_many && refused_.contains(asked)) return {};
    if (is_for_many && taken_.contains(asked)) return AnsweredBefore(pending);
    Targets targets = TargetsOf(action, pending, in_.pods);
    const bool evicted = pending.event() == kEventPodEvicted && NamesTarget(action, pending, in_.pods);
    if (targets.empty() && !evicted) return {};
    const Kill* const before = KillUnderWay();
    // Pods that failed together are restarted once: the kill under way has all of the targets.
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
    draft_.PutFacts(counts, tasks);
    for (const PodIndex& place : targets.again) {
      const auto done = draft_.to_persist().done.find(in_.pods.shape().tasks()[static_cast<size_t>(place.task)].name);
      done->second.erase(place.index);
      if (done->second.empty()) draft_.to_persist().done.erase(done);
    }
    draft_.decision().again = std::move(targets.again);
    BeginKill(std::move(kill), SummaryOf(run.restarts), OutcomeOf(run.restarts, targets.pods.size()));
    draft_.decision().consumed = run.consumed;
    if (run.phase != phase_ || run.retries != status().retry_count()) draft_.SetPhase(run.phase);
    status().set_retry_count(run.retries);
    KeepAnswered(run);
    FinishKill();
    return {.result = Attempt::kBegun};
  }

  // The kill of the status has every target of the action: the pod's event is recorded as answered.
  Attempt AnsweredBefore(const storage::v1::PendingAction& pending) {
    const std::vector<std::string>& named = draft_.to_persist().answered;
    if (std::find(named.begin(), named.end(), pending.pod_uid()) != named.end()) return {};
    AddAnswered(pending.pod_uid(), draft_.to_persist().answered);
    AddAnswered(pending.pod_uid(), draft_.decision().answered);
    return {};
  }

  // Keeps the pods whose events the targeted kill answers: those of the actions that it consumes, and those of the
  // other actions with the same target.
  void KeepAnswered(const RestartRun& run) {
    std::set<std::string> asked;
    for (const storage::v1::PendingAction* restart : run.restarts) asked.insert(AskedBy(*restart));
    asked.erase("");
    for (int i = 0; i < in_.pending.size(); ++i) {
      const storage::v1::PendingAction& other = in_.pending.Get(i);
      const bool is_consumed = i >= draft_.FirstCarriedOut() && i < draft_.FirstLeft();
      const bool is_old = other.version() >= 0 && other.version() < in_.job.status().version();
      if (!is_consumed && (is_old || !asked.contains(AskedBy(other)))) continue;
      if (other.command_uid().empty()) AddAnswered(other.pod_uid(), draft_.to_persist().answered);
    }
  }

  // Records that the spec is refused while the job runs, or accepted again, with the message that the status gets.
  void NoteSpec() {
    const bool was_refused = in_.job.status().reason() == kInvalidJob;
    const bool is_refused = in_.invalid && in_.words.reason == kInvalidJob;
    if (IsFinished(phase_) || was_refused == is_refused) return;
    draft_.NoteSync(is_refused ? kRuleSpecRefused : "the spec is accepted again",
                    is_refused ? in_.words.message : "the job goes on");
  }

  void Sync() {
    const JobStatus& stored = in_.job.status();
    const bool stopped = IsFinished(phase_) || IsDraining(phase_) || phase_ == kube::v1::JOB_PHASE_ABORTED;
    const int32_t min_available = stopped || in_.invalid ? stored.min_available() : in_.spec.min_available();
    const Transition transition = Lookup(phase_, Action::kSyncJob);
    Outcome outcome{phase_, {}};
    // Nothing is concluded while an action waits for the end of the kill under way (W11).
    if (IsCarried(in_) && !action_waits_) {
      outcome = Conclude(in_, transition, in_.pods.counts(), min_available, stored.retry_count());
    }
    const storage::v1::PendingAction* const new_deadline = outcome.phase == phase_ ? NewDeadline(in_) : nullptr;
    bool is_urgent = new_deadline != nullptr;
    if (outcome.phase == phase_ && new_deadline == nullptr) {
      const bool is_reported = draft_.decision().answered.empty() && IsReportedAlready(in_, stopped, min_available);
      if (is_reported || WasFinishedByOther(in_)) return;
      is_urgent = HasUnnamedObjects(in_);
      if (!in_.counts_due && !is_urgent) {
        draft_.decision().write = Decision::Write::kCounts;
        return;
      }
    }
    draft_.Begin();
    draft_.PutFacts(in_.pods.counts(), in_.pods.task_counts());
    status().set_min_available(min_available);
    if (!stopped) status().clear_running_duration();
    if (outcome.phase == phase_) {
      // A finish time never moves (12.2); in other phases upstream bumps it with every write of a sync.
      if (!stopped) draft_.SetPhase(phase_);
      if (new_deadline != nullptr) {
        draft_.NoteDeadline(*new_deadline);
      } else {
        NoteSpec();
      }
      draft_.Finish(is_urgent ? Decision::Write::kNow : Decision::Write::kCounts);
      return;
    }
    draft_.SetPhase(outcome.phase);
    std::string change = fmt::format("{} -> {}", NameOf(phase_), NameOf(outcome.phase));
    if (outcome.rule.starts_with(kRuleNoOtherStarts)) {
      change += fmt::format("; {}", WhyNeverStarted(in_.spec, in_.pods));
    }
    draft_.NoteSync(outcome.rule, std::move(change));
    // Draining is one long kill, and the duration lasts until its end (9.5).
    if (stopped || IsFinished(outcome.phase)) draft_.SetRunningDuration();
    if (!stopped && IsFinished(outcome.phase)) {
      // Live pods are deleted and finished ones stay; the version does not grow any more.
      Kill kill;
      kill.cause = fmt::format("{}: {}", NameOf(outcome.phase), outcome.rule);
      kill.action = "SyncJob";
      kill.version = status().version();
      kill.retain = Retain::kSoft;
      kill.group_uid = std::string(in_.group_uid);
      if (const Kill* const before = KillUnderWay(); before != nullptr) kill.targets = before->targets;
      draft_.SetKill(std::move(kill));
    }
    draft_.Finish(Decision::Write::kNow);
  }

  const DecideInput& in_;
  const JobPhase phase_;
  StatusDraft draft_;
  bool action_waits_ = false;
  // Requested targets, by AskedBy(): those that the kill of the status has, and those that no kill can name.
  std::set<std::string> taken_;
  std::set<std::string> refused_;
};

}  // namespace

Decision Decide(const DecideInput& input) { return Decider(input).Run(); }

}  // namespace basalt::jobsvc
