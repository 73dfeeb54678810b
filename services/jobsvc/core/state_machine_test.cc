#include "services/jobsvc/core/state_machine.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
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
  if (t.operation == Operation::kKillJob)
    text += t.retain == Retain::kSoft ? "(soft)" : t.retain == Retain::kSucceeded ? "(succeeded)" : "(none)";
  text += " ";
  text += kCallbacks[static_cast<int>(t.callback)];
  if (t.to != kEmpty) text += " " + std::string(kube::JobPhaseName(t.to));
  return text;
}

// "<phase>_<action>" and the answer of the state machine. EnqueueJob stands for all actions that no row of the
// specification names.
struct Cell {
  std::string name;
  std::string want;
};

constexpr Action kAll[] = {Action::kSyncJob,    Action::kAbortJob,         Action::kRestartJob,   Action::kRestartTask,
                           Action::kRestartPod, Action::kRestartPartition, Action::kTerminateJob, Action::kCompleteJob,
                           Action::kResumeJob,  Action::kEnqueueJob};

class CellTest : public testing::TestWithParam<Cell> {};

TEST_P(CellTest, IsAsSpecified) {
  const std::string& name = GetParam().name;
  const size_t bar = name.find('_');
  const std::string phase_name = name.substr(0, bar);
  const auto phase = phase_name == "New" ? std::optional(kEmpty) : kube::ParseJobPhase(phase_name);
  const auto action = ParseAction(name.substr(bar + 1));
  ASSERT_TRUE(phase.has_value() && action.has_value());
  EXPECT_EQ(Describe(Lookup(*phase, *action)), GetParam().want);
}

const Cell kCells[] = {
    {"New_SyncJob", "Sync PEND"},
    {"New_AbortJob", "Kill(soft) goto Aborting"},
    {"New_RestartJob", "Kill(none) retry Restarting"},
    {"New_RestartTask", "Target retry Restarting"},
    {"New_RestartPod", "Target retry Restarting"},
    {"New_RestartPartition", "Target retry Restarting"},
    {"New_TerminateJob", "Kill(soft) goto Terminating"},
    {"New_CompleteJob", "Kill(soft) goto Completing"},
    {"New_ResumeJob", "Sync PEND"},
    {"New_EnqueueJob", "Sync PEND"},
    {"Pending_SyncJob", "Sync PEND"},
    {"Pending_AbortJob", "Kill(soft) goto Aborting"},
    {"Pending_RestartJob", "Kill(none) retry Restarting"},
    {"Pending_RestartTask", "Target retry Restarting"},
    {"Pending_RestartPod", "Target retry Restarting"},
    {"Pending_RestartPartition", "Target retry Restarting"},
    {"Pending_TerminateJob", "Kill(soft) goto Terminating"},
    {"Pending_CompleteJob", "Kill(soft) goto Completing"},
    {"Pending_ResumeJob", "Sync PEND"},
    {"Pending_EnqueueJob", "Sync PEND"},
    {"Running_SyncJob", "Sync RUN"},
    {"Running_AbortJob", "Kill(soft) goto Aborting"},
    {"Running_RestartJob", "Kill(none) retry Restarting"},
    {"Running_RestartTask", "Target retry Restarting"},
    {"Running_RestartPod", "Target retry Restarting"},
    {"Running_RestartPartition", "Target retry Restarting"},
    {"Running_TerminateJob", "Kill(soft) goto Terminating"},
    {"Running_CompleteJob", "Kill(soft) goto Completing"},
    {"Running_ResumeJob", "Sync RUN"},
    {"Running_EnqueueJob", "Sync RUN"},
    {"Restarting_SyncJob", "Sync REST"},
    {"Restarting_AbortJob", "Kill(soft) goto Aborting"},
    {"Restarting_RestartJob", "Kill(none) REST"},
    {"Restarting_RestartTask", "Target REST"},
    {"Restarting_RestartPod", "Target REST"},
    {"Restarting_RestartPartition", "Target REST"},
    {"Restarting_TerminateJob", "Kill(soft) goto Terminating"},
    {"Restarting_CompleteJob", "Kill(soft) goto Completing"},
    {"Restarting_ResumeJob", "Sync REST"},
    {"Restarting_EnqueueJob", "Kill(none) REST"},
    {"Completing_SyncJob", "Drain DRAIN Completed"},
    {"Completing_AbortJob", "Drain DRAIN Completed"},
    {"Completing_RestartJob", "Drain DRAIN Completed"},
    {"Completing_RestartTask", "Drain DRAIN Completed"},
    {"Completing_RestartPod", "Drain DRAIN Completed"},
    {"Completing_RestartPartition", "Drain DRAIN Completed"},
    {"Completing_TerminateJob", "Drain DRAIN Completed"},
    {"Completing_CompleteJob", "Drain DRAIN Completed"},
    {"Completing_ResumeJob", "Drain DRAIN Completed"},
    {"Completing_EnqueueJob", "Drain DRAIN Completed"},
    {"Terminating_SyncJob", "Drain DRAIN Terminated"},
    {"Terminating_AbortJob", "Drain DRAIN Terminated"},
    {"Terminating_RestartJob", "Drain DRAIN Terminated"},
    {"Terminating_RestartTask", "Drain DRAIN Terminated"},
    {"Terminating_RestartPod", "Drain DRAIN Terminated"},
    {"Terminating_RestartPartition", "Drain DRAIN Terminated"},
    {"Terminating_TerminateJob", "Drain DRAIN Terminated"},
    {"Terminating_CompleteJob", "Drain DRAIN Terminated"},
    {"Terminating_ResumeJob", "Drain DRAIN Terminated"},
    {"Terminating_EnqueueJob", "Drain DRAIN Terminated"},
    {"Aborting_SyncJob", "Drain DRAIN Aborted"},
    {"Aborting_AbortJob", "Drain DRAIN Aborted"},
    {"Aborting_RestartJob", "Drain DRAIN Aborted"},
    {"Aborting_RestartTask", "Drain DRAIN Aborted"},
    {"Aborting_RestartPod", "Drain DRAIN Aborted"},
    {"Aborting_RestartPartition", "Drain DRAIN Aborted"},
    {"Aborting_TerminateJob", "Drain DRAIN Aborted"},
    {"Aborting_CompleteJob", "Drain DRAIN Aborted"},
    {"Aborting_ResumeJob", "Kill(succeeded) goto Restarting"},
    {"Aborting_EnqueueJob", "Drain DRAIN Aborted"},
    {"Aborted_SyncJob", "- -"},
    {"Aborted_AbortJob", "- -"},
    {"Aborted_RestartJob", "- -"},
    {"Aborted_RestartTask", "- -"},
    {"Aborted_RestartPod", "- -"},
    {"Aborted_RestartPartition", "- -"},
    {"Aborted_TerminateJob", "- -"},
    {"Aborted_CompleteJob", "- -"},
    {"Aborted_ResumeJob", "Kill(succeeded) goto Restarting"},
    {"Aborted_EnqueueJob", "- -"},
    {"Completed_SyncJob", "- -"},
    {"Completed_AbortJob", "- -"},
    {"Completed_RestartJob", "- -"},
    {"Completed_RestartTask", "- -"},
    {"Completed_RestartPod", "- -"},
    {"Completed_RestartPartition", "- -"},
    {"Completed_TerminateJob", "- -"},
    {"Completed_CompleteJob", "- -"},
    {"Completed_ResumeJob", "- -"},
    {"Completed_EnqueueJob", "- -"},
    {"Terminated_SyncJob", "- -"},
    {"Terminated_AbortJob", "- -"},
    {"Terminated_RestartJob", "- -"},
    {"Terminated_RestartTask", "- -"},
    {"Terminated_RestartPod", "- -"},
    {"Terminated_RestartPartition", "- -"},
    {"Terminated_TerminateJob", "- -"},
    {"Terminated_CompleteJob", "- -"},
    {"Terminated_ResumeJob", "- -"},
    {"Terminated_EnqueueJob", "- -"},
    {"Failed_SyncJob", "- -"},
    {"Failed_AbortJob", "- -"},
    {"Failed_RestartJob", "- -"},
    {"Failed_RestartTask", "- -"},
    {"Failed_RestartPod", "- -"},
    {"Failed_RestartPartition", "- -"},
    {"Failed_TerminateJob", "- -"},
    {"Failed_CompleteJob", "- -"},
    {"Failed_ResumeJob", "- -"},
    {"Failed_EnqueueJob", "- -"},
};

INSTANTIATE_TEST_SUITE_P(Cells, CellTest, testing::ValuesIn(kCells), [](const auto& cell) { return cell.param.name; });

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

// A step of a callback (job spec 8.2), with the values around each bound.
struct Step {
  std::string name;
  std::function<void()> expect;
};

class CallbackTest : public testing::TestWithParam<Step> {};

TEST_P(CallbackTest, Decides) { GetParam().expect(); }

CallbackInput TwoTasks(int min_available, int succeeded_a, int succeeded_b) {
  const int succeeded = succeeded_a + succeeded_b;
  CallbackInput in = Input(4, min_available, 0, 0, succeeded, 4 - succeeded);
  in.tasks = {{true, 2, succeeded_a}, {true, 2, succeeded_b}};
  return in;
}

CallbackInput WithMinSuccess(CallbackInput in, int min_success) {
  in.min_success = min_success;
  return in;
}

CallbackInput WithRetries(CallbackInput in, int retries) {
  in.retry_count = retries;
  return in;
}

INSTANTIATE_TEST_SUITE_P(
    Steps, CallbackTest,
    testing::Values(Step{"PEND",
                         [] {
                           EXPECT_EQ(After(kPending, Input(4, 4, 1, 3, 0, 0)), kPending);
                           EXPECT_EQ(After(kPending, Input(4, 4, 0, 2, 1, 1)), kRunning);
                           EXPECT_EQ(After(kPending, Input(4, 3, 1, 1, 1, 1)), kRunning);
                           EXPECT_EQ(After(kPending, Input(4, 0, 0, 0, 0, 0)), kRunning)
                               << "minAvailable 0: with no pods";
                           EXPECT_EQ(After(kEmpty, Input(4, 4, 0, 4, 0, 0)), kRunning);
                         }},
                    Step{"NothingWanted",
                         [] {
                           EXPECT_EQ(After(kRunning, Input(0, 0, 0, 0, 0, 0)), kRunning);
                           EXPECT_EQ(After(kRunning, WithMinSuccess(Input(0, 0, 0, 0, 1, 0), 1)), kRunning);
                         }},
                    Step{"MinSuccess",
                         [] {
                           EXPECT_EQ(After(kRunning, WithMinSuccess(Input(4, 4, 0, 2, 2, 0), 2)), kCompleted);
                           EXPECT_EQ(After(kRunning, WithMinSuccess(Input(4, 4, 0, 3, 1, 0), 2)), kRunning);
                           EXPECT_EQ(After(kRunning, WithMinSuccess(Input(4, 4, 0, 0, 2, 2), 2)), kCompleted);
                         }},
                    Step{"TaskMinimums",
                         [] {
                           EXPECT_EQ(After(kRunning, TwoTasks(4, 2, 2)), kCompleted);
                           EXPECT_EQ(After(kRunning, TwoTasks(4, 2, 1)), kFailed);
                           EXPECT_EQ(After(kRunning, TwoTasks(3, 2, 1)), kCompleted) << "below the sum of the minimums";
                           CallbackInput in = TwoTasks(4, 2, 1);
                           in.spec_min_available = 3;
                           in.task_minimum = 3;
                           EXPECT_EQ(After(kRunning, in), kFailed) << "as much as the sum";
                           in.tasks[1].checks_minimum = false;
                           EXPECT_EQ(After(kRunning, in), kCompleted)
                               << "without a minimum or pods a task is not judged";
                         }},
                    Step{"MinSuccessMissed",
                         [] {
                           EXPECT_EQ(After(kRunning, WithMinSuccess(Input(4, 1, 0, 0, 1, 3), 2)), kFailed);
                           EXPECT_EQ(After(kRunning, Input(4, 1, 0, 0, 1, 3)), kCompleted);
                         }},
                    Step{"MinAvailableMet",
                         [] {
                           EXPECT_EQ(After(kRunning, Input(4, 2, 0, 0, 2, 2)), kCompleted);
                           EXPECT_EQ(After(kRunning, Input(4, 2, 0, 1, 2, 1)), kRunning) << "not all are finished";
                         }},
                    Step{"MinAvailableMissed", [] { EXPECT_EQ(After(kRunning, Input(4, 2, 0, 0, 1, 3)), kFailed); }},
                    Step{"TooManyPending",
                         [] {
                           EXPECT_EQ(After(kRunning, Input(3, 2, 2, 1, 0, 0)), kPending);
                           EXPECT_EQ(After(kRunning, Input(3, 2, 1, 2, 0, 0)), kRunning);
                         }},
                    Step{"RunNoChange", [] { EXPECT_EQ(After(kRunning, Input(3, 3, 0, 2, 1, 0)), kRunning); }},
                    Step{"RetriesUsedUp",
                         [] {
                           EXPECT_EQ(After(kRestarting, WithRetries(Input(3, 3, 0, 0, 0, 0, 0), 3)), kFailed);
                           EXPECT_EQ(After(kRestarting, WithRetries(Input(3, 3, 0, 0, 0, 0, 1), 3)), kFailed);
                           EXPECT_EQ(After(kRestarting, WithRetries(Input(3, 3, 0, 0, 0, 0, 0), 2)), kPending);
                         }},
                    Step{"EnoughHaveGone",
                         [] {
                           EXPECT_EQ(After(kRestarting, Input(3, 3, 0, 0, 0, 0, 0)), kPending);
                           EXPECT_EQ(After(kRestarting, Input(3, 2, 0, 0, 0, 0, 1)), kPending);
                           CallbackInput in = Input(3, 3, 0, 0, 0, 0, 1);
                           in.status_min_available = 2;
                           EXPECT_EQ(After(kRestarting, in), kPending) << "of the status, not of the spec";
                         }},
                    Step{"NoChange", [] { EXPECT_EQ(After(kRestarting, Input(3, 3, 0, 0, 0, 0, 1)), kRestarting); }},
                    Step{"DRAIN",
                         [] {
                           EXPECT_EQ(After(kAborting, Input(3, 3, 0, 0, 1, 1, 1)), kAborting);
                           EXPECT_EQ(After(kAborting, Input(3, 3, 0, 1, 1, 1, 0)), kAborting);
                           EXPECT_EQ(After(kAborting, Input(3, 3, 1, 0, 1, 1, 0)), kAborting);
                           EXPECT_EQ(After(kAborting, Input(3, 3, 0, 0, 2, 1, 0)), kAborted);
                           EXPECT_EQ(After(kTerminating, Input(3, 3, 0, 0, 2, 1, 0)), kTerminated);
                           EXPECT_EQ(After(kCompleting, Input(3, 3, 0, 0, 2, 1, 0)), kCompleted);
                         }}),
    [](const auto& step) { return step.param.name; });

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
