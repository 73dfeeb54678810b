#include "cli/view/job_view.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "cli/view/job_detail.h"
#include "cli/view/table.h"

namespace basalt::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'750'000'100'000;

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

job::v1::Job TestJob() {
  return Parse<job::v1::Job>(R"pb(
    object {
      meta { namespace: "ml" name: "train" uid: "u-1" creation_ms: 1750000000000 }
      spec {
        scheduler_name: "volcano"
        min_available: 3
        queue: "research"
        max_retry: 3
        min_success: 2
        ttl_seconds_after_finished: 600
        priority_class_name: "high"
        volumes { mount_path: "/data" volume_claim_name: "set" }
        volumes { mount_path: "/out" volume_claim_json: "{}" }
        plugins { name: "env" }
        plugins { name: "svc" }
        policies { action: "RestartJob" events: "PodFailed" events: "PodEvicted" }
        tasks { name: "driver" replicas: 1 min_available: 1 }
        tasks {
          name: "worker"
          replicas: 3
          min_available: 2
          depends_on { names: "driver" }
          policies { action: "AbortJob" exit_code: 42 timeout_ms: 90000 }
        }
      }
      status {
        phase: JOB_PHASE_RUNNING
        reason: "SpecWarning"
        message: "spec.x is odd"
        counts { running: 3 failed: 1 }
        task_status_count {
          task: "driver"
          counts { running: 1 }
        }
        task_status_count {
          task: "worker"
          counts { running: 2 failed: 1 }
        }
        version: 1
        retry_count: 1
        conditions { phase: JOB_PHASE_PENDING last_transition_ms: 1750000001000 }
        conditions { phase: JOB_PHASE_RUNNING last_transition_ms: 1750000040000 }
      }
    }
    waiting_for: "1 pods have not started"
    pod_group_phase: "Running"
    total_replicas: 4
    pods {
      name: "train-driver-0"
      task: "driver"
      phase: POD_PHASE_RUNNING
      node_name: "node-0"
      create_time { seconds: 1750000010 }
    }
    pods {
      name: "train-worker-0"
      task: "worker"
      phase: POD_PHASE_FAILED
      exit_code: 7
      node_name: "node-1"
      create_time { seconds: 1750000010 }
      reason: "Error"
    }
    pods {
      name: "train-worker-1"
      task: "worker"
      phase: POD_PHASE_RUNNING
      terminating: true
      create_time { seconds: 1750000010 }
    }
  )pb");
}

std::string FormatOne(const job::v1::Job& job, bool with_namespace, int64_t now_ms, const Look& look = {}) {
  return FormatJobs({&job}, with_namespace, now_ms, look);
}

job::v1::JobHistory TestHistory(int entries) {
  job::v1::JobHistory history;
  for (int i = 0; i < entries; ++i) {
    job::v1::HistoryEntry& entry = *history.add_entries();
    entry.set_sequence(i + 1);
    entry.mutable_time()->set_seconds(1'750'000'000 + i);
    entry.set_from_phase(kube::v1::JOB_PHASE_PENDING);
    entry.set_to_phase(kube::v1::JOB_PHASE_RUNNING);
    entry.set_event("PodFailed");
    entry.set_subject("p");
    entry.set_pod_phase(kube::v1::POD_PHASE_FAILED);
    entry.set_exit_code(7);
    entry.set_pod_reason("Error");
    entry.set_rule("spec.policies[0]");
    entry.set_action("SyncJob");
    entry.set_outcome("done");
    entry.set_committed(i != 0);
  }
  return history;
}

TEST(WarningsTest, EachIsALineThatNamesItsDocument) {
  job::v1::Job job;
  EXPECT_EQ(FormatWarnings("a.yaml", job), "");
  job.add_warnings("spec.policies[0] never acts");
  job.add_warnings("spec.tasks[0]\x1b is odd");
  EXPECT_EQ(FormatWarnings("a.yaml, document 2", job),
            "warning: a.yaml, document 2: spec.policies[0] never acts\n"
            "warning: a.yaml, document 2: spec.tasks[0]? is odd\n");
}

TEST(JobDetailTest, TellsAllThatIsKnown) {
  EXPECT_EQ(
      FormatJob(TestJob(), TestHistory(2), kNow),
      "Name:         train\n"
      "Namespace:    ml\n"
      "UID:          u-1\n"
      "Phase:        Running\n"
      "Waiting for:  1 pods have not started\n"
      "Reason:       SpecWarning: spec.x is odd\n"
      "Pods:         0 pending, 3 running, 0 succeeded, 1 failed, 4 wanted\n"
      "Gang:         3 of 4 pods, 2 successes suffice\n"
      "Restarts:     1 of 3, version 1\n"
      "Queue:        research\n"
      "PodGroup:     Running\n"
      "Scheduler:    volcano\n"
      "Priority:     high\n"
      "Plugins:      env, svc\n"
      "Policies:     PodFailed or PodEvicted → RestartJob\n"
      "              task worker: exit code 42 → AbortJob after 1m30s\n"
      "Volumes:      /data from claim set\n"
      "              /out from a claim of the job's own\n"
      "Deleted:      10m after its end\n"
      "Age:          100s\n"
      "\n"
      "TASK     WANTED   MIN   PENDING   RUNNING   SUCCEEDED   FAILED   AFTER\n"
      "driver   1        1     0         1         0           0\n"
      "worker   3        2     0         2         0           1        driver\n"
      "\n"
      "POD              TASK     PHASE         EXIT   RESTARTS   NODE     AGE   REASON\n"
      "train-driver-0   driver   Running              0          node-0   90s\n"
      "train-worker-0   worker   Failed        7      0          node-1   90s   Error\n"
      "train-worker-1   worker   Terminating          0                   90s\n"
      "\n"
      "CONDITION   LAST CHANGE\n"
      "Pending     99s ago\n"
      "Running     60s ago\n"
      "\n"
      "TIME                      DECISION            SEEN                                  RULE               ACTION  "
      "  OUTCOME\n"
      "2025-06-15 15:06:40.000   Pending → Running   PodFailed p (Failed, exit 7, Error)   spec.policies[0]   SyncJob "
      "  not acknowledged\n"
      "2025-06-15 15:06:41.000   Pending → Running   PodFailed p (Failed, exit 7, Error)   spec.policies[0]   SyncJob "
      "  done\n");
}

TEST(JobDetailTest, ALongHistoryIsShownByItsNewestEntries) {
  const std::string text = FormatJob(TestJob(), TestHistory(8), kNow);
  EXPECT_THAT(text, HasSubstr("15:06:47.000"));
  EXPECT_THAT(text, HasSubstr("15:06:43.000"));
  EXPECT_THAT(text, Not(HasSubstr("15:06:42.000")));
  EXPECT_THAT(text, HasSubstr("\n3 earlier ones: basaltctl job history train -n ml\n"));
}

// The exit code of an earlier run of a container is no exit code of its pod.
TEST(JobDetailTest, APodThatHasNotFinishedHasNoExitCode) {
  job::v1::Job job;
  job::v1::PodSummary& pod = *job.add_pods();
  pod.set_name("p");
  const auto row = [&](kube::v1::PodPhase phase, int32_t code) {
    pod.set_phase(phase);
    pod.set_exit_code(code);
    const std::string text = FormatJob(job, {}, 0);
    const size_t at = text.find("\np ");
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  EXPECT_EQ(row(kube::v1::POD_PHASE_RUNNING, 1), "p            Running          0                 0s");
  EXPECT_EQ(row(kube::v1::POD_PHASE_SUCCEEDED, 0), "p            Succeeded   0      0                 0s");
  EXPECT_EQ(row(kube::v1::POD_PHASE_FAILED, 137), "p            Failed   137    0                 0s");
}

TEST(JobDetailTest, WordsAreWrappedWhereTheyAreWiderThanTheTerminal) {
  job::v1::Job job = TestJob();
  job.set_waiting_for("its PodGroup has not been admitted by the scheduler, which says that there is no room");
  const std::string text = FormatJob(job, TestHistory(8), kNow, {.width = 60});
  EXPECT_THAT(text, HasSubstr("Waiting for:  its PodGroup has not been admitted by the\n"
                              "              scheduler, which says that there is no room\n"
                              "Reason:"));
  EXPECT_LE(TableWidth(text), 60u) << text;
}

TEST(JobDetailTest, FieldsThatAJobLacksAreLeftOut) {
  const std::string text =
      FormatJob(Parse<job::v1::Job>(R"pb(object { meta { name: "j" namespace: "default" } })pb"), {}, kNow);
  for (const char* word :
       {"Waiting", "Reason", "Plugins", "Policies", "Deleted", "TASK", "POD ", "CONDITION", "TIME"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(JobDetailTest, TablesFitTheTerminalAndColoursAreForPhases) {
  const std::string text = FormatJob(TestJob(), TestHistory(2), kNow, {.width = 60});
  EXPECT_THAT(text.substr(text.find("TASK")), HasSubstr("…"));
  EXPECT_LE(TableWidth(text.substr(text.find("TASK"))), 60u);
  const std::string painted = FormatJob(TestJob(), TestHistory(2), kNow, {.colours = true});
  EXPECT_THAT(painted, HasSubstr("\x1b[31mFailed\x1b[0m        7"));
  EXPECT_THAT(painted, HasSubstr("\x1b[33mTerminating\x1b[0m          0"));
  EXPECT_THAT(painted, HasSubstr("Phase:        Running\n"));
}

TEST(JobViewTest, JobsAreARowEach) {
  EXPECT_EQ(
      FormatOne(TestJob(), true, kNow),
      "NAMESPACE   NAME    PHASE     PENDING   RUNNING   SUCCEEDED   FAILED   TOTAL   QUEUE      AGE    WHY\n"
      "ml          train   Running   0         3         0           1        4       research   100s   1 pods have "
      "not started\n");
  EXPECT_EQ(FormatOne(TestJob(), false, kNow, {.width = 101}),
            "NAME    PHASE     PENDING   RUNNING   SUCCEEDED   FAILED   TOTAL   QUEUE      AGE    WHY\n"
            "train   Running   0         3         0           1        4       research   100s   1 pods have not…\n");
}

TEST(JobViewTest, WhereThereIsLittleRoomTheCountsStandTogether) {
  EXPECT_EQ(FormatOne(TestJob(), false, kNow, {.width = 80}),
            "NAME    PHASE     P/R/S/F   TOTAL   QUEUE      AGE    WHY\n"
            "train   Running   0/3/0/1   4       research   100s   1 pods have not started\n");
}

TEST(JobViewTest, AnErrorOfTheJobComesBeforeItsWait) {
  job::v1::Job job = TestJob();
  job.mutable_object()->mutable_status()->set_reason("PVCError");
  job.mutable_object()->mutable_status()->set_message("claim set does not exist");
  EXPECT_THAT(FormatOne(job, false, kNow), HasSubstr("100s   PVCError: claim set does not exist\n"));
  EXPECT_THAT(FormatOne(TestJob(), false, kNow), HasSubstr("100s   1 pods have not started\n"));
}

TEST(JobViewTest, WhereThereIsLittleRoomDecisionsGoWithoutWhatSaysLeast) {
  const auto of_width = [](size_t width) { return FormatDecisions(TestHistory(1), {.width = width}); };
  EXPECT_EQ(of_width(120),
            "TIME             DECISION            SEEN                                  RULE               ACTION    "
            "OUTCOME\n"
            "06-15 15:06:40   Pending → Running   PodFailed p (Failed, exit 7, Error)   spec.policies[0]   SyncJob   "
            "not acknowledged\n");
  EXPECT_EQ(of_width(112),
            "TIME             DECISION            SEEN                                  RULE               OUTCOME\n"
            "06-15 15:06:40   Pending → Running   PodFailed p (Failed, exit 7, Error)   spec.policies[0]   not "
            "acknowledged\n");
  EXPECT_EQ(of_width(95),
            "TIME             DECISION            SEEN                                  OUTCOME\n"
            "06-15 15:06:40   Pending → Running   PodFailed p (Failed, exit 7, Error)   not acknowledged\n");
}

TEST(JobViewTest, HistoryTellsTheDayWhatWasSeenOfThePodAndThePods) {
  EXPECT_EQ(
      FormatHistory(TestHistory(1)),
      "#   TIME                      PHASE               SEEN                                  RULE               "
      "ACTION    PODS                                          OUTCOME\n"
      "1   2025-06-15 15:06:40.000   Pending → Running   PodFailed p (Failed, exit 7, Error)   spec.policies[0]   "
      "SyncJob   0 pending, 0 running, 0 succeeded, 0 failed   not acknowledged\n");
  EXPECT_EQ(
      FormatHistory(TestHistory(1), {.width = 120}),
      "#   TIME             PHASE               SEEN                                  RULE               OUTCOME\n"
      "1   06-15 15:06:40   Pending → Running   PodFailed p (Failed, exit 7, Error)   spec.policies[0]   not "
      "acknowledged\n");
}

TEST(JobViewTest, HistoryOfAJobThatIsGoneTellsSinceWhen) {
  job::v1::JobHistory history = TestHistory(1);
  history.mutable_gone_time()->set_seconds(history.entries(0).time().seconds() + 61);
  EXPECT_THAT(FormatHistory(history, {.width = 120}),
              testing::EndsWith("not acknowledged\nGone since 06-15 15:07:41\n"));
}

TEST(JobViewTest, OnANarrowTerminalADecisionStandsInSeveralLinesUncut) {
  EXPECT_EQ(FormatHistory(TestHistory(1), {.width = 80}),
            "TIME             PHASE               SEEN\n"
            "    RULE: OUTCOME\n"
            "06-15 15:06:40   Pending → Running   PodFailed p (Failed, exit 7, Error)\n"
            "    spec.policies[0]: not acknowledged\n");
  EXPECT_EQ(FormatHistory(TestHistory(2), {.width = 40}),
            "06-15 15:06:40  Pending → Running\n"
            "    PodFailed p (Failed, exit 7, Error)\n"
            "    spec.policies[0]: not acknowledged\n"
            "06-15 15:06:41  Pending → Running\n"
            "    PodFailed p (Failed, exit 7, Error)\n"
            "    spec.policies[0]: done\n");
  EXPECT_THAT(FormatDecisions(TestHistory(1), {.width = 80}), HasSubstr("TIME             DECISION            SEEN\n"));
  EXPECT_THAT(FormatHistory(TestHistory(1), {.width = 30, .colours = true}),
              HasSubstr("06-15 15:06:40\n  Pending → Running\n    PodFailed p (Failed, exit\n    7, Error)\n"));
  job::v1::JobHistory one_is_long = TestHistory(2);
  one_is_long.mutable_entries(1)->set_pod_reason("DeadlineExceeded");
  EXPECT_EQ(FormatHistory(one_is_long, {.width = 72}),
            "TIME             PHASE               SEEN\n"
            "    RULE: OUTCOME\n"
            "06-15 15:06:40   Pending → Running   PodFailed p (Failed, exit 7, Error)\n"
            "    spec.policies[0]: not acknowledged\n"
            "06-15 15:06:41   Pending → Running\n"
            "    PodFailed p (Failed, exit 7, DeadlineExceeded)\n"
            "    spec.policies[0]: done\n");
  job::v1::JobHistory longest = TestHistory(1);
  longest.mutable_entries(0)->set_from_phase(kube::v1::JOB_PHASE_TERMINATING);
  longest.mutable_entries(0)->set_to_phase(kube::v1::JOB_PHASE_TERMINATED);
  for (const size_t width : {40, 60, 80, 100, 120}) {
    const std::string text = FormatHistory(longest, {.width = width});
    EXPECT_THAT(text, HasSubstr("06-15 15:06:40  ")) << width;
    EXPECT_THAT(text, HasSubstr("Terminating → Terminated")) << width;
    EXPECT_LE(TableWidth(text), width) << text;
  }
}

TEST(JobViewTest, OnANarrowTerminalNamePhaseCountsAndReasonAreLeftAndThePhaseIsWhole) {
  EXPECT_EQ(FormatOne(TestJob(), false, kNow, {.width = 40}),
            "NAME    PHASE     P/R/S/F   WHY\n"
            "train   Running   0/3/0/1   1 pods have…\n");
  EXPECT_EQ(FormatOne(TestJob(), true, kNow, {.width = 44}),
            "NAME       PHASE     P/R/S/F   WHY\n"
            "ml/train   Running   0/3/0/1   1 pods have …\n");
  job::v1::Job job = TestJob();
  job.mutable_object()->mutable_meta()->set_name("train-with-a-long-name");
  job.mutable_object()->mutable_status()->set_phase(kube::v1::JOB_PHASE_COMPLETING);
  EXPECT_THAT(FormatOne(job, false, kNow, {.width = 40}), HasSubstr("Completing   0/3/0/1   "));
}

TEST(JobViewTest, SeveralPhasesCanBeGiven) {
  const auto phases = ParsePhases("--phase", {"Running", "Deleted", "Aborted"}, "Deleted");
  ASSERT_TRUE(phases.ok()) << phases.status();
  EXPECT_EQ(*phases, (std::vector<kube::v1::JobPhase>{kube::v1::JOB_PHASE_RUNNING, kube::v1::JOB_PHASE_ABORTED}));
  for (const char* wrong : {"Runing", "", "Deleted"}) {
    const absl::Status status = ParsePhases("--phase", {"Running", wrong}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("--phase: '") + wrong +
                                                         "' is no phase of a job; use one or several of {Pending"));
  }
}

TEST(JobViewTest, ThePhasesThatCanBeNamed) {
  EXPECT_EQ(PhaseSet("Deleted"),
            "{Pending,Running,Restarting,Completing,Terminating,Aborting,Aborted,Completed,Terminated,Failed,Deleted}");
}

}  // namespace
}  // namespace basalt::cli
