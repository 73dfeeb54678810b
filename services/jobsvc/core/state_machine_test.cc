#include "services/jobsvc/core/state_machine.h"

#include <gtest/gtest.h>

#include <string>

#include "common/kube/text.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::JobPhase;

constexpr auto kPending = kube::v1::JOB_PHASE_PENDING;
constexpr auto kRunning = kube::v1::JOB_PHASE_RUNNING;
constexpr auto kRestarting = kube::v1::JOB_PHASE_RESTARTING;
constexpr auto kCompleting = kube::v1::JOB_PHASE_COMPLETING;
constexpr auto kTerminating = kube::v1::JOB_PHASE_TERMINATING;
constexpr auto kAborting = kube::v1::JOB_PHASE_ABORTING;
constexpr auto kAborted = kube::v1::JOB_PHASE_ABORTED;
constexpr auto kCompleted = kube::v1::JOB_PHASE_COMPLETED;
constexpr auto kTerminated = kube::v1::JOB_PHASE_TERMINATED;
constexpr auto kFailed = kube::v1::JOB_PHASE_FAILED;
constexpr auto kEmpty = kube::v1::JOB_PHASE_UNSPECIFIED;

std::string Describe(const Transition& t) {
  constexpr std::string_view kOperations[] = {"Sync", "Kill", "Target", "Drain", "-"};
  constexpr std::string_view kCallbacks[] = {"PEND", "RUN", "REST", "DRAIN", "goto", "retry", "-"};
  std::string text(kOperations[static_cast<int>(t.operation)]);
  if (t.operation == Operation::kKillJob) text += t.retain == Retain::kSoft ? "(soft)" : "(none)";
  text += " ";
  text += kCallbacks[static_cast<int>(t.callback)];
  if (t.to != kEmpty) text += " " + std::string(kube::JobPhaseName(t.to));
  return text;
}

struct Cell {
  JobPhase phase;
  Action action;
  std::string_view want;
};

constexpr Action kAll[] = {Action::kSyncJob,    Action::kAbortJob,         Action::kRestartJob,   Action::kRestartTask,
                           Action::kRestartPod, Action::kRestartPartition, Action::kTerminateJob, Action::kCompleteJob,
                           Action::kResumeJob,  Action::kEnqueueJob};

TEST(StateMachineTest, EveryCellOfTheTableIsAsSpecified) {
  const Cell cells[] = {
      {kPending, Action::kSyncJob, "Sync PEND"},
      {kPending, Action::kAbortJob, "Kill(soft) goto Aborting"},
      {kPending, Action::kRestartJob, "Kill(none) retry Restarting"},
      {kPending, Action::kRestartTask, "Target retry Restarting"},
      {kPending, Action::kRestartPod, "Target retry Restarting"},
      {kPending, Action::kRestartPartition, "Target retry Restarting"},
      {kPending, Action::kTerminateJob, "Kill(soft) goto Terminating"},
      {kPending, Action::kCompleteJob, "Kill(soft) goto Completing"},
      {kPending, Action::kResumeJob, "Sync PEND"},
      {kPending, Action::kEnqueueJob, "Sync PEND"},
      {kEmpty, Action::kSyncJob, "Sync PEND"},
      {kEmpty, Action::kAbortJob, "Kill(soft) goto Aborting"},
      {kRunning, Action::kSyncJob, "Sync RUN"},
      {kRunning, Action::kAbortJob, "Kill(soft) goto Aborting"},
      {kRunning, Action::kRestartJob, "Kill(none) retry Restarting"},
      {kRunning, Action::kRestartTask, "Target retry Restarting"},
      {kRunning, Action::kRestartPod, "Target retry Restarting"},
      {kRunning, Action::kRestartPartition, "Target retry Restarting"},
      {kRunning, Action::kTerminateJob, "Kill(soft) goto Terminating"},
      {kRunning, Action::kCompleteJob, "Kill(soft) goto Completing"},
      {kRunning, Action::kResumeJob, "Sync RUN"},
      {kRunning, Action::kEnqueueJob, "Sync RUN"},
      {kRestarting, Action::kSyncJob, "Sync REST"},
      {kRestarting, Action::kAbortJob, "Kill(soft) goto Aborting"},         // W12
      {kRestarting, Action::kTerminateJob, "Kill(soft) goto Terminating"},  // W12
      {kRestarting, Action::kCompleteJob, "Kill(soft) goto Completing"},    // W12
      {kRestarting, Action::kRestartJob, "Kill(none) REST"},
      {kRestarting, Action::kRestartTask, "Target REST"},
      {kRestarting, Action::kRestartPod, "Target REST"},
      {kRestarting, Action::kRestartPartition, "Target REST"},
      {kRestarting, Action::kResumeJob, "Kill(none) REST"},
      {kRestarting, Action::kEnqueueJob, "Kill(none) REST"},
      {kAborting, Action::kResumeJob, "Kill(soft) goto Restarting"},  // W14
      {kAborted, Action::kResumeJob, "Kill(soft) goto Restarting"},   // W14
  };
  for (const Cell& cell : cells) {
    EXPECT_EQ(Describe(Lookup(cell.phase, cell.action)), cell.want)
        << kube::JobPhaseName(cell.phase) << " x " << ActionName(cell.action);
  }
  for (Action action : kAll) {
    EXPECT_EQ(Describe(Lookup(kCompleting, action)), "Drain DRAIN Completed") << ActionName(action);
    EXPECT_EQ(Describe(Lookup(kTerminating, action)), "Drain DRAIN Terminated") << ActionName(action);
    for (JobPhase finished : {kCompleted, kTerminated, kFailed}) {
      EXPECT_EQ(Describe(Lookup(finished, action)), "- -") << ActionName(action);
    }
    if (action == Action::kResumeJob) continue;
    EXPECT_EQ(Describe(Lookup(kAborting, action)), "Drain DRAIN Aborted") << ActionName(action);
    EXPECT_EQ(Describe(Lookup(kAborted, action)), "- -") << ActionName(action);
  }
}

TEST(StateMachineTest, ActionNamesAreThoseOfTheWire) {
  for (Action action : kAll) EXPECT_EQ(ParseAction(ActionName(action)), action);
  EXPECT_FALSE(ParseAction("OpenQueue").has_value());
  EXPECT_FALSE(ParseAction("").has_value());
}

CallbackInput Input(int total, int min, int pending, int running, int succeeded, int failed, int terminating = 0) {
  CallbackInput in;
  in.total = total;
  in.spec_min_available = min;
  in.status_min_available = min;
  in.task_minimum = total;
  in.counts.set_pending(pending);
  in.counts.set_running(running);
  in.counts.set_succeeded(succeeded);
  in.counts.set_failed(failed);
  in.counts.set_terminating(terminating);
  return in;
}

JobPhase After(JobPhase phase, const CallbackInput& in) {
  return RunCallback(Lookup(phase, Action::kSyncJob), phase, in).phase;
}

TEST(StateMachineTest, PendingBecomesRunningWhenMinAvailablePodsHaveStarted) {
  EXPECT_EQ(After(kPending, Input(4, 4, 1, 3, 0, 0)), kPending);
  EXPECT_EQ(After(kPending, Input(4, 4, 0, 2, 1, 1)), kRunning);
  EXPECT_EQ(After(kPending, Input(4, 0, 0, 0, 0, 0)), kRunning);  // minAvailable 0: running with no pods.
}

TEST(StateMachineTest, RunningFollowsTheVectorsOfTheSpecification) {
  // Two tasks of two, each with minAvailable 2.
  auto in = Input(4, 4, 0, 0, 4, 0);
  in.task_minimum = 4;
  in.tasks = {{true, 2, 2}, {true, 2, 2}};
  EXPECT_EQ(After(kRunning, in), kCompleted);
  in = Input(4, 4, 0, 0, 3, 1);
  in.tasks = {{true, 2, 2}, {true, 2, 1}};
  EXPECT_EQ(After(kRunning, in), kFailed);
  in.spec_min_available = 3;  // Below the sum of the tasks' minimums: the tasks are not judged.
  EXPECT_EQ(After(kRunning, in), kCompleted);
  in = Input(4, 4, 0, 2, 2, 0);
  in.min_success = 2;
  EXPECT_EQ(After(kRunning, in), kCompleted);
  in = Input(4, 2, 0, 0, 1, 3);
  in.task_minimum = 4;
  in.min_success = 2;
  EXPECT_EQ(After(kRunning, in), kFailed);
  EXPECT_EQ(After(kRunning, Input(4, 2, 0, 0, 1, 3)), kFailed);
  EXPECT_EQ(After(kRunning, Input(0, 0, 0, 0, 0, 0)), kRunning);  // Scaled to zero: stays.
  EXPECT_EQ(After(kRunning, Input(3, 2, 2, 1, 0, 0)), kPending);  // 2 > 3 - 2
  EXPECT_EQ(After(kRunning, Input(3, 2, 1, 2, 0, 0)), kRunning);
}

TEST(StateMachineTest, RestartingWaitsForOldPodsOrGivesUp) {
  EXPECT_EQ(After(kRestarting, Input(3, 3, 0, 0, 0, 0, 1)), kRestarting);
  EXPECT_EQ(After(kRestarting, Input(3, 3, 0, 0, 0, 0, 0)), kPending);
  EXPECT_EQ(After(kRestarting, Input(3, 2, 0, 0, 0, 0, 1)), kPending);
  auto in = Input(3, 3, 0, 0, 0, 0, 0);
  in.retry_count = 3;
  EXPECT_EQ(After(kRestarting, in), kFailed);
}

TEST(StateMachineTest, DrainingEndsWhenNothingIsAlive) {
  EXPECT_EQ(After(kAborting, Input(3, 3, 0, 0, 1, 1, 1)), kAborting);
  EXPECT_EQ(After(kAborting, Input(3, 3, 0, 1, 1, 1, 0)), kAborting);
  EXPECT_EQ(After(kAborting, Input(3, 3, 0, 0, 2, 1, 0)), kAborted);
  EXPECT_EQ(After(kTerminating, Input(3, 3, 0, 0, 2, 1, 0)), kTerminated);
  EXPECT_EQ(After(kCompleting, Input(3, 3, 0, 0, 2, 1, 0)), kCompleted);
}

TEST(StateMachineTest, TheLastRetryKeepsWhatFinished) {
  // Restart budget vectors: maxRetry 3 kills everything twice, then keeps.
  EXPECT_TRUE(IsLastRetry(0, 1));
  EXPECT_FALSE(IsLastRetry(0, 2));
  EXPECT_TRUE(IsLastRetry(1, 2));
  EXPECT_FALSE(IsLastRetry(1, 3));
  EXPECT_TRUE(IsLastRetry(2, 3));
}

}  // namespace
}  // namespace basalt::jobsvc
