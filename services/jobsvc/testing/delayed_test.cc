// Delayed actions (job spec 7, W15): deadlines that are set, cancelled, cleaned up and carried out, over restarts of
// the process and lost disks.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

class DelayedTest : public ::testing::Test {
 protected:
  const kube::v1::JobStatus& Status() { return rig_->kube().job("default/j").status(); }
  const DeadlineSet& Deadlines() { return rig_->controller().Find("default/j")->deadlines; }
  size_t Remembered() { return ReadControlledState(Status()).deadlines.size(); }
  // Returns how often history records that the action was carried out.
  int Done(std::string_view action) {
    const auto history =
        HistoryStore(rig_->store()).Read(SlotOf("default/j"), rig_->kube().job("default/j").meta().uid());
    return static_cast<int>(std::count_if(history->begin(), history->end(), [&](const auto& entry) {
      return entry.action() == action && entry.outcome().starts_with("kill");
    }));
  }
  void Begin(kube::v1::Job job, bool pods_run = true) {
    rig_->Start();
    rig_->kube().PutJob(std::move(job));
    rig_->Run();
    if (!pods_run) return;
    rig_->kube().SetAllPods(kPodRunning);
    rig_->Run(absl::Seconds(10));
    ASSERT_EQ(rig_->PhaseOf("default/j"), kRunning);
  }
  void StartAgain(bool lose_disk) {
    rig_->Kill();
    if (lose_disk) rig_->LoseDisk();
    rig_->Start();
  }

  std::unique_ptr<JobRig> rig_ = std::make_unique<JobRig>();
};

TEST_F(DelayedTest, APodThatStaysPendingHasItsActionAtTheDeadlineAndNotBefore) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodPending", "AbortJob", absl::Minutes(10)), /*pods_run=*/false);
  EXPECT_EQ(Deadlines().size(), 2u);
  rig_->Run(absl::Minutes(10) - absl::Seconds(2));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kPending);
  EXPECT_EQ(Status().version(), 0);
  rig_->Run(absl::Seconds(3));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kAborted);
  rig_->Run(absl::Minutes(30));
  EXPECT_EQ(Done("AbortJob"), 1) << "the deadlines of both pods are over with the first";
  EXPECT_EQ(Status().version(), 1);
}

TEST_F(DelayedTest, APodThatStartsInTimeHasNone) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodPending", "AbortJob", absl::Minutes(10)), /*pods_run=*/false);
  rig_->Run(absl::Minutes(9));
  rig_->kube().SetAllPods(kPodRunning);
  rig_->Run(absl::Minutes(5));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kRunning);
  EXPECT_EQ(Deadlines().size(), 0u);
}

TEST_F(DelayedTest, ADeadlineIsKeptOverARestartAndOverALostDisk) {
  for (const bool lose_disk : {false, true}) {
    for (const std::string event : {"PodPending", "PodFailed", "PodEvicted", "TaskCompleted", "Unknown"}) {
      SCOPED_TRACE(event + (lose_disk ? ", empty disk" : ", same disk"));
      rig_ = std::make_unique<JobRig>();
      kube::v1::Job job = MakeJob("j", 2, 2);
      job.mutable_spec()->set_min_available(1);
      Begin(WithPolicy(std::move(job), event, "AbortJob", absl::Minutes(10)), event != "PodPending");
      const absl::Time begin = rig_->time().Now();
      if (event == "PodFailed") rig_->kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
      if (event == "PodEvicted") rig_->kube().RemovePod("default/j-t0-1");
      if (event == "TaskCompleted") {
        rig_->kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
        rig_->kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
      }
      if (event == "Unknown") rig_->kube().SetGroupPhase(rig_->kube().groups().begin()->first, "Unknown");
      rig_->Run(absl::Minutes(4));
      ASSERT_GE(Deadlines().size(), 1u);
      EXPECT_EQ(Remembered(), event == "PodPending" || event == "PodFailed" ? 0u : 1u);
      StartAgain(lose_disk);
      ASSERT_TRUE(rig_->RunUntil([&] { return rig_->PhaseOf("default/j") == kAborted; }, absl::Minutes(20)));
      EXPECT_GE(rig_->time().Now() - begin, absl::Minutes(10) - absl::Seconds(2));
      EXPECT_LE(rig_->time().Now() - begin, absl::Minutes(10) + absl::Seconds(2));
      rig_->Run(absl::Minutes(30));
      EXPECT_EQ(Done("AbortJob"), 1);
      EXPECT_EQ(Status().version(), 1);
      EXPECT_EQ(Remembered(), 0u);
    }
  }
}

// The events on that disk are over and answered: only the present state raises events.
TEST_F(DelayedTest, ADeadlineThatWasCarriedOutIsNotSetAgainByTheDiskOfBefore) {
  for (const std::string event : {"TaskCompleted", "PodFailed"}) {
    SCOPED_TRACE(event);
    rig_ = std::make_unique<JobRig>();
    kube::v1::Job job = MakeJob("j", 2, 1);
    job.mutable_spec()->set_max_retry(9);
    Begin(WithPolicy(std::move(job), event, "RestartTask", absl::Seconds(10)));
    rig_->kube().SetPodPhase("default/j-t0-0", event == "PodFailed" ? kPodFailed : kPodSucceeded, 0);
    rig_->Run(absl::Seconds(6));
    const auto before = rig_->CopyDisk();
    rig_->Run(absl::Seconds(10));
    rig_->kube().SetAllPods(kPodRunning);
    rig_->Run(absl::Seconds(10));
    ASSERT_EQ(Status().retry_count(), 1);
    ASSERT_EQ(rig_->PhaseOf("default/j"), kRunning);
    rig_->Kill();
    rig_->LosePower(before);
    rig_->Start();
    rig_->Run(absl::Minutes(5));
    EXPECT_EQ(Status().retry_count(), 1);
  }
}

TEST_F(DelayedTest, TheSuccessorThatDoesNotComeUpIsWhatARestartPodIsAbout) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartPod", absl::Minutes(10)));
  rig_->kube().RemovePod("default/j-t0-1");
  rig_->Run(absl::Minutes(1));
  const std::string successor = rig_->kube().pods().at("default/j-t0-1").uid();
  const std::string other = rig_->kube().pods().at("default/j-t0-0").uid();
  rig_->Run(absl::Minutes(10));
  EXPECT_NE(rig_->kube().pods().at("default/j-t0-1").uid(), successor);
  EXPECT_EQ(rig_->kube().pods().at("default/j-t0-0").uid(), other);
  EXPECT_EQ(Done("RestartPod"), 1);
}

TEST_F(DelayedTest, ADeadlineOfAJobIsNotOneOfAnotherOfItsName) {
  for (const auto& [event, lose_disk] :
       {std::pair("PodEvicted", false), {"PodEvicted", true}, {"TaskCompleted", false}, {"TaskCompleted", true}}) {
    rig_ = std::make_unique<JobRig>();
    const kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), event, "AbortJob", absl::Minutes(10));
    Begin(job);
    if (event == std::string_view("PodEvicted")) {
      rig_->kube().RemovePod("default/j-t0-0");
    } else {
      rig_->kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
    }
    rig_->Run(absl::Minutes(1));
    ASSERT_EQ(Deadlines().size(), 1u);
    rig_->kube().DeleteJob("default/j");
    if (lose_disk) rig_->Run(absl::Minutes(1));  // Otherwise no process has observed that the job was gone.
    rig_->kube().PutJob(job);
    rig_->Run(absl::Seconds(5));
    if (lose_disk) StartAgain(true);
    rig_->kube().SetAllPods(kPodRunning);
    rig_->Run(absl::Minutes(20));
    EXPECT_EQ(rig_->PhaseOf("default/j"), kRunning);
  }
}

TEST_F(DelayedTest, AFinishedJobKeepsNoneAndIsNotWrittenForIt) {
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), "TaskCompleted", "RestartJob", absl::Minutes(10));
  Begin(std::move(job));
  rig_->kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig_->Run(absl::Minutes(1));
  ASSERT_EQ(Remembered(), 1u);
  rig_->kube().SetPodPhase("default/j-t1-0", kPodSucceeded);
  rig_->Run(absl::Minutes(1));
  ASSERT_EQ(rig_->PhaseOf("default/j"), kCompleted);
  EXPECT_EQ(Remembered(), 0u);
  rig_->kube().ClearLog();
  rig_->Run(absl::Minutes(30));
  EXPECT_EQ(rig_->kube().WritesButEvents(), 0);
  EXPECT_EQ(rig_->PhaseOf("default/j"), kCompleted);
}

// The scheduler updates a condition in its place: the last one of the list may be hours old.
TEST_F(DelayedTest, ADeadlineOfUnknownCountsFromWhenTheGroupBecameSo) {
  for (const bool seen : {true, false}) {
    rig_ = std::make_unique<JobRig>();
    Begin(WithPolicy(MakeJob("j", 1, 2), "Unknown", "AbortJob", absl::Minutes(10)));
    rig_->Run(absl::Hours(3));
    if (!seen) rig_->Kill();
    const std::string group = rig_->kube().groups().begin()->first;
    const int64_t now_ms = absl::ToUnixMillis(rig_->time().Now());
    rig_->kube().EditGroup(group, [&](kube::v1::PodGroup& edited) {
      edited.set_phase("Unknown");
      edited.add_conditions()->set_last_transition_ms(now_ms);
      edited.add_conditions()->set_last_transition_ms(now_ms - absl::ToInt64Milliseconds(absl::Hours(3)));
    });
    if (!seen) {
      rig_->LoseDisk();
      rig_->Start();
    }
    rig_->Run(absl::Minutes(9));
    EXPECT_EQ(rig_->PhaseOf("default/j"), kRunning);
    rig_->Run(absl::Minutes(2));
    EXPECT_EQ(rig_->PhaseOf("default/j"), kAborted);
  }
}

// On an empty disk, pods are handled in the order of their names.
TEST_F(DelayedTest, ADeadlineOfATaskCountsFromThePodThatCompletedItAlsoOverALostDisk) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  Begin(WithPolicy(std::move(job), "TaskCompleted", "AbortJob", absl::Minutes(30)));
  rig_->kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig_->Run(absl::Hours(2));
  rig_->kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig_->Run(absl::Minutes(5));
  StartAgain(/*lose_disk=*/true);
  rig_->Run(absl::Minutes(24));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kRunning);
  EXPECT_EQ(Deadlines().size(), 1u);
  rig_->Run(absl::Minutes(2));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Done("AbortJob"), 1);
}

TEST_F(DelayedTest, AFailedPodThatIsRemovedAfterwardsStillHasItsAction) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->set_min_available(1);
  Begin(WithPolicy(std::move(job), "PodFailed", "AbortJob", absl::Minutes(10)));
  rig_->kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig_->Run(absl::Minutes(1));
  rig_->kube().RemovePod("default/j-t0-1");
  rig_->Run(absl::Minutes(1));
  StartAgain(/*lose_disk=*/false);
  rig_->Run(absl::Minutes(7));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kRunning);
  rig_->Run(absl::Minutes(2));
  EXPECT_EQ(rig_->PhaseOf("default/j"), kAborted);
}

// The process may die at any point; the action is carried out once.
TEST_F(DelayedTest, ItIsCarriedOutOnceWhereverTheProcessIsKilled) {
  basalt::testing::KillAtEachPoint(10, [this](basalt::testing::KillPoint& kill) {
    rig_ = std::make_unique<JobRig>();
    Begin(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartJob", absl::Minutes(1)));
    kill.Arm(*rig_);
    rig_->kube().RemovePod("default/j-t0-1");
    for (int i = 0; i < 90; ++i) {
      rig_->Run(absl::Seconds(2));
      kill.Restart(*rig_);
    }
    rig_->KillAt(0);
    rig_->kube().SetAllPods(kPodRunning);
    rig_->Run(absl::Minutes(5));
    // An eviction that has not been recorded yet may be lost with the disk.
    EXPECT_LE(Status().version(), 1);
    EXPECT_GE(Status().version(), kill.was_killed() && kill.loses_disk() ? 0 : 1);
    EXPECT_EQ(Status().retry_count(), Status().version());
    EXPECT_EQ(rig_->PhaseOf("default/j"), kRunning);
  });
}

}  // namespace
}  // namespace basalt::jobsvc::testing
