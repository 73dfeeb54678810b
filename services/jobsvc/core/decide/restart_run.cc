#include "services/jobsvc/core/decide/restart_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "services/jobsvc/core/events/deadlines.h"
#include "services/jobsvc/core/events/events.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using kube::v1::JobPhase;
using storage::v1::PendingAction;

namespace {

constexpr size_t kMostSubjects = 3;

// Follows the job's phase and retries from one restart to the next.
class Course {
 public:
  Course(const DecideInput& in, Action action)
      : action_(action), phase_(in.job.status().phase()), terminating_(in.pods.counts().terminating()) {
    rest_.total = in.pods.shape().total();
    rest_.status_min_available = in.job.status().min_available();
    rest_.max_retry = in.spec.max_retry();
    rest_.retry_count = in.job.status().retry_count();
  }

  JobPhase phase() const { return phase_; }
  int32_t retries() const { return rest_.retry_count; }

  // Returns whether the job restarts anything in its phase.
  bool GoesOn() const { return Lookup(phase_, action_).operation == Operation::kKillTarget; }
  // Applies the next restart, which takes this many pods that were not going yet.
  void Restart(int32_t pods) {
    const Transition transition = Lookup(phase_, action_);
    terminating_ += pods;
    rest_.counts.set_terminating(terminating_);
    if (transition.callback == Callback::kRetryAndGoTo) ++rest_.retry_count;
    phase_ = RunCallback(transition, phase_, rest_).phase;
  }

 private:
  const Action action_;
  JobPhase phase_;
  int32_t terminating_;
  CallbackInput rest_;  // The fields that Rest() reads.
};

// One restart of the run, with the job's state after it.
struct Step {
  int position = 0;  // In DecideInput::pending.
  Targets targets;
  JobPhase phase = kube::v1::JOB_PHASE_UNSPECIFIED;
  int32_t retries = 0;
};

class Gatherer {
 public:
  Gatherer(const DecideInput& in, int first, Action action, const std::set<std::string>& kill_targets)
      : in_(in),
        first_(in.pending.Get(first)),
        end_(first),
        action_(action),
        kill_targets_(kill_targets),
        going_(in.pods.Terminating()),
        course_(in, action) {}

  void Gather(Targets targets) {
    Take(std::move(targets));
    if (!first_.command_uid().empty()) return;
    while (end_ < in_.pending.size() && course_.GoesOn() && TakeNext()) {
    }
  }

  // Leaves the longest beginning of the steps that ends in Restarting, or else the first step.
  void EndInRestarting() {
    const auto last = std::find_if(steps_.rbegin(), steps_.rend(),
                                   [](const Step& step) { return step.phase == kube::v1::JOB_PHASE_RESTARTING; });
    const auto most = std::max<std::ptrdiff_t>(1, std::distance(last, steps_.rend()));
    if (static_cast<size_t>(most) < steps_.size()) {
      end_ = steps_[static_cast<size_t>(most)].position;
      steps_.resize(static_cast<size_t>(most));
    }
  }
  std::vector<Step>& steps() { return steps_; }
  // Position behind the actions that the steps consume.
  int end() const { return end_; }

 private:
  bool IsAlike(const PendingAction& other) const {
    return other.action() == first_.action() && other.version() == first_.version() && other.command_uid().empty();
  }

  void Take(Targets targets) {
    int32_t pods = 0;
    for (const std::string& uid : targets.pods) pods += going_.contains(uid) ? 0 : 1;
    kill_targets_.insert(targets.pods.begin(), targets.pods.end());
    again_.insert(targets.again.begin(), targets.again.end());
    course_.Restart(pods);
    if (!targets.pods.empty()) asked_.insert(AskedBy(in_.pending.Get(end_)));
    steps_.push_back({end_++, std::move(targets), course_.phase(), course_.retries()});
  }

  // Returns false if the next action does not belong to the run: the action stays behind it.
  bool TakeNext() {
    const PendingAction& next = in_.pending.Get(end_);
    if (!IsAlike(next) || (next.due_ms() != 0 && !StillHolds(next, in_.pods))) return false;
    if (const std::string asked = AskedBy(next); !asked.empty() && asked_.contains(asked)) return Pass();
    Targets targets = TargetsOf(action_, next, in_.pods);
    std::erase_if(targets.again, [this](const PodIndex& place) { return again_.contains(place); });
    const bool evicted = next.event() == kEventPodEvicted && NamesTarget(action_, next, in_.pods);
    if (targets.empty() && !evicted) return false;
    if (Takes(kill_targets_, targets.pods)) return Pass();
    if (kill_targets_.size() + targets.pods.size() > kMostTargets) return false;
    Take(std::move(targets));
    return true;
  }

  // Skips an action whose targets are all taken already.
  bool Pass() {
    ++end_;
    return true;
  }

  const DecideInput& in_;
  const PendingAction& first_;
  int end_;
  const Action action_;
  std::set<std::string> kill_targets_;
  const std::set<std::string> going_;
  std::set<PodIndex> again_;
  std::set<std::string> asked_;
  Course course_;
  std::vector<Step> steps_;
};

}  // namespace

RestartRun TakeTogether(const DecideInput& in, int first, Targets targets, std::set<std::string>& kill_targets) {
  const std::optional<Action> action = ParseAction(in.pending.Get(first).action());
  Gatherer gatherer(in, first, action.value_or(Action::kRestartPod), kill_targets);
  gatherer.Gather(std::move(targets));
  gatherer.EndInRestarting();
  std::vector<Step>& steps = gatherer.steps();
  RestartRun run;
  run.consumed = gatherer.end() - first;
  run.phase = steps.back().phase;
  run.retries = steps.back().retries;
  for (Step& step : steps) {
    run.restarts.push_back(&in.pending.Get(step.position));
    kill_targets.insert(step.targets.pods.begin(), step.targets.pods.end());
    run.targets.pods.merge(step.targets.pods);
    run.targets.again.insert(run.targets.again.end(), step.targets.again.begin(), step.targets.again.end());
  }
  return run;
}

PendingAction SummaryOf(const std::vector<const PendingAction*>& restarts) {
  PendingAction summary = *restarts.front();
  if (restarts.size() == 1) return summary;
  std::vector<std::string> subjects;
  std::set<std::string> rules;
  const auto facts = [](const PendingAction& it) { return std::tuple(it.exit_code(), it.pod_phase(), it.reason()); };
  bool are_same = true;
  for (const PendingAction* restart : restarts) {
    rules.insert(restart->rule());
    are_same = are_same && facts(*restart) == facts(summary);
    if (subjects.size() >= kMostSubjects) continue;
    const std::string event = restart->event() == summary.event() ? "" : fmt::format(" ({})", restart->event());
    subjects.push_back(restart->subject() + event);
  }
  const size_t others = restarts.size() - subjects.size();
  summary.set_subject(
      fmt::format("{}{}", fmt::join(subjects, ", "), others == 0 ? "" : fmt::format(" and {} more", others)));
  if (rules.size() > 1) summary.set_rule(fmt::format("{} and {} more", summary.rule(), rules.size() - 1));
  if (!are_same) {
    summary.clear_exit_code();
    summary.clear_pod_phase();
    summary.clear_reason();
  }
  return summary;
}

std::string OutcomeOf(const std::vector<const PendingAction*>& restarts, size_t pods) {
  std::string kill = fmt::format("kill of {} pod{}", pods, pods == 1 ? "" : "s");
  if (restarts.size() == 1) return kill;
  std::map<std::string, int> events;
  for (const PendingAction* restart : restarts) ++events[restart->event()];
  std::vector<std::string> kinds;
  for (const auto& [event, count] : events) kinds.push_back(fmt::format("{} {}", event, count));
  return fmt::format("{} for {} events{}", kill, restarts.size(),
                     kinds.size() == 1 ? "" : fmt::format(" ({})", fmt::join(kinds, ", ")));
}

}  // namespace basalt::jobsvc
