#include "services/jobsvc/core/state_machine.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace basalt::jobsvc {

using kube::v1::JobPhase;

namespace {

constexpr std::array<std::string_view, kActionCount> kActionNames = {
    "SyncJob",          "AbortJob",     "RestartJob",  "RestartTask", "RestartPod",
    "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob",   "EnqueueJob"};

constexpr Transition Sync(Callback callback) {
  return {Operation::kSyncJob, Retain::kNone, callback, kube::v1::JOB_PHASE_UNSPECIFIED};
}
constexpr Transition KillJob(Retain retain, Callback callback, JobPhase to) {
  return {Operation::kKillJob, retain, callback, to};
}
constexpr Transition Target(Callback callback, JobPhase to = kube::v1::JOB_PHASE_UNSPECIFIED) {
  return {Operation::kKillTarget, Retain::kNone, callback, to};
}
constexpr Transition Drain(JobPhase to) { return {Operation::kDrain, Retain::kSoft, Callback::kDrain, to}; }
constexpr Transition Nothing() { return {}; }

constexpr auto kNone = Retain::kNone;
constexpr auto kSucceeded = Retain::kSucceeded;
constexpr auto kSoft = Retain::kSoft;
constexpr auto kGoTo = Callback::kGoTo;
constexpr auto kRetry = Callback::kRetryAndGoTo;
constexpr auto kRestarting = kube::v1::JOB_PHASE_RESTARTING;
constexpr auto kAborting = kube::v1::JOB_PHASE_ABORTING;
constexpr auto kTerminating = kube::v1::JOB_PHASE_TERMINATING;
constexpr auto kCompleting = kube::v1::JOB_PHASE_COMPLETING;

using Row = std::array<Transition, kActionCount>;

// The row of the phases in which pods are made. These rows differ only in the callback of a plain sync.
constexpr Row Live(Callback sync) {
  return {
      /* SyncJob          */ Sync(sync),
      /* AbortJob         */ KillJob(kSoft, kGoTo, kAborting),
      /* RestartJob       */ KillJob(kNone, kRetry, kRestarting),
      /* RestartTask      */ Target(kRetry, kRestarting),
      /* RestartPod       */ Target(kRetry, kRestarting),
      /* RestartPartition */ Target(kRetry, kRestarting),
      /* TerminateJob     */ KillJob(kSoft, kGoTo, kTerminating),
      /* CompleteJob      */ KillJob(kSoft, kGoTo, kCompleting),
      /* ResumeJob        */ Sync(sync),
      /* EnqueueJob       */ Sync(sync),
  };
}

constexpr Row Same(Transition transition) {
  Row row{};
  for (Transition& cell : row) cell = transition;
  return row;
}

constexpr Row WithResume(Row row) {
  row[static_cast<size_t>(Action::kResumeJob)] = KillJob(kSucceeded, kGoTo, kRestarting);  // W14: no retry is consumed.
  return row;
}

constexpr Row RestartingRow() {
  Row row = Live(Callback::kAfterRestart);
  // Upstream answers these actions with a repeated kill; Abort, Terminate and Complete are honoured instead (W12). A
  // targeted kill leaves retryCount alone here.
  for (Action action : {Action::kRestartTask, Action::kRestartPod, Action::kRestartPartition}) {
    row[static_cast<size_t>(action)] = Target(Callback::kAfterRestart);
  }
  row[static_cast<size_t>(Action::kRestartJob)] =
      KillJob(kNone, Callback::kAfterRestart, kube::v1::JOB_PHASE_UNSPECIFIED);
  // A restarting job runs again already. Upstream would kill the succeeded pods, too.
  row[static_cast<size_t>(Action::kResumeJob)] = Sync(Callback::kAfterRestart);
  row[static_cast<size_t>(Action::kEnqueueJob)] =
      KillJob(kNone, Callback::kAfterRestart, kube::v1::JOB_PHASE_UNSPECIFIED);
  return row;
}

// In the order of JobPhase.
constexpr std::array<Row, 11> kTable = {
    /* (empty)     */ Live(Callback::kPend),
    /* Pending     */ Live(Callback::kPend),
    /* Running     */ Live(Callback::kRun),
    /* Restarting  */ RestartingRow(),
    /* Completing  */ Same(Drain(kube::v1::JOB_PHASE_COMPLETED)),
    /* Terminating */ Same(Drain(kube::v1::JOB_PHASE_TERMINATED)),
    /* Aborting    */ WithResume(Same(Drain(kube::v1::JOB_PHASE_ABORTED))),
    /* Aborted     */ WithResume(Same(Nothing())),
    /* Completed   */ Same(Nothing()),
    /* Terminated  */ Same(Nothing()),
    /* Failed      */ Same(Nothing()),
};

Outcome Pend(JobPhase phase, const CallbackInput& in) {
  const int64_t started = int64_t{in.counts.running()} + in.counts.succeeded() + in.counts.failed() + in.unstartable;
  if (in.spec_min_available <= started) return {kube::v1::JOB_PHASE_RUNNING, "minAvailable pods have started"};
  return {phase, {}};
}

// The rules recorded for the end of a job in which nothing is left to be done.
struct EndRules {
  std::string_view met;
  std::string_view task_missed;
  std::string_view min_success_missed;
  std::string_view min_available_missed;
};
constexpr EndRules kAllFinished = {
    "all pods finished", "all pods finished; a task has fewer successes than its minAvailable",
    "all pods finished; fewer successes than minSuccess", "all pods finished; fewer successes than minAvailable"};
static_assert(kRuleNoOtherStarts == "no other pod can start");
constexpr EndRules kNoOtherStarts = {kRuleNoOtherStarts,
                                     "no other pod can start; a task has fewer successes than its minAvailable",
                                     "no other pod can start; fewer successes than minSuccess",
                                     "no other pod can start; fewer successes than minAvailable"};

Outcome Run(JobPhase phase, const CallbackInput& in) {
  const int64_t succeeded = in.counts.succeeded();
  if (in.total == 0) return {phase, {}};
  if (in.min_success && succeeded >= *in.min_success) {
    return {kube::v1::JOB_PHASE_COMPLETED, "minSuccess pods have succeeded"};
  }
  if (succeeded + in.counts.failed() + in.unstartable == in.total) {
    const EndRules& rules = in.unstartable == 0 ? kAllFinished : kNoOtherStarts;
    if (in.spec_min_available >= in.task_minimum) {
      for (const auto& task : in.tasks) {
        if (task.checks_minimum && task.succeeded < task.min_available) {
          return {kube::v1::JOB_PHASE_FAILED, rules.task_missed};
        }
      }
    }
    if (in.min_success) return {kube::v1::JOB_PHASE_FAILED, rules.min_success_missed};
    if (succeeded >= in.spec_min_available) return {kube::v1::JOB_PHASE_COMPLETED, rules.met};
    return {kube::v1::JOB_PHASE_FAILED, rules.min_available_missed};
  }
  if (in.counts.pending() > in.total - in.spec_min_available) {
    return {kube::v1::JOB_PHASE_PENDING, "too many pods are pending for minAvailable"};
  }
  return {phase, {}};
}

Outcome Rest(JobPhase phase, const CallbackInput& in) {
  if (in.retry_count >= in.max_retry) return {kube::v1::JOB_PHASE_FAILED, "maxRetry is used up"};
  if (in.total - in.counts.terminating() >= in.status_min_available) {
    return {kube::v1::JOB_PHASE_PENDING, "enough old pods are gone"};
  }
  return {phase, {}};
}

}  // namespace

std::string_view ActionName(Action action) { return kActionNames[static_cast<size_t>(action)]; }

std::optional<Action> ParseAction(std::string_view name) {
  for (size_t i = 0; i < kActionNames.size(); ++i) {
    if (kActionNames[i] == name) return static_cast<Action>(i);
  }
  return std::nullopt;
}

bool IsTargeted(Action action) {
  return action == Action::kRestartTask || action == Action::kRestartPod || action == Action::kRestartPartition;
}

Transition Lookup(JobPhase phase, Action action) {
  const auto row = static_cast<size_t>(phase) < kTable.size() ? static_cast<size_t>(phase) : 0;
  return kTable[row][static_cast<size_t>(action)];
}

bool IsFinished(JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_COMPLETED || phase == kube::v1::JOB_PHASE_TERMINATED ||
         phase == kube::v1::JOB_PHASE_FAILED;
}

bool IsDraining(JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_ABORTING || phase == kube::v1::JOB_PHASE_TERMINATING ||
         phase == kube::v1::JOB_PHASE_COMPLETING;
}

bool MakesPods(JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_PENDING || phase == kube::v1::JOB_PHASE_RUNNING ||
         phase == kube::v1::JOB_PHASE_RESTARTING;
}

bool IsLastRetry(int32_t retry_count, int32_t max_retry) { return retry_count >= int64_t{max_retry} - 1; }

Outcome RunCallback(const Transition& transition, JobPhase phase, const CallbackInput& input) {
  switch (transition.callback) {
    case Callback::kPend:
      return Pend(phase, input);
    case Callback::kRun:
      return Run(phase, input);
    case Callback::kAfterRestart:
      return Rest(phase, input);
    case Callback::kDrain:
      if (input.counts.terminating() == 0 && input.counts.pending() == 0 && input.counts.running() == 0) {
        return {transition.to, "no pod is left alive"};
      }
      return {phase, {}};
    case Callback::kGoTo:
    case Callback::kRetryAndGoTo:
      return {transition.to, {}};
    case Callback::kNone:
      return {phase, {}};
  }
  return {phase, {}};
}

}  // namespace basalt::jobsvc
