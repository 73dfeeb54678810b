// Delayed actions (job spec 7, W15): deadlines that are set, cancelled, cleaned up and carried out, over restarts of
// the process and lost disks.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class DelayedTest : public JobTest {
 protected:
  const DeadlineSet& Deadlines() { return Entry().deadlines; }
  size_t Remembered() { return ReadControlledState(Status()).deadlines.size(); }
  // Returns how often history records that the action was carried out.
  int Done(std::string_view action) {
    const auto history = History();
    return static_cast<int>(std::count_if(history.begin(), history.end(), [&](const auto& entry) {
      return entry.action() == action && entry.outcome().starts_with("kill");
    }));
  }
  void Begin(kube::v1::Job job, bool pods_run = true) {
    if (!pods_run) return JobTest::Begin(std::move(job));
    rig().StartRunning(std::move(job), absl::Seconds(10));
    ASSERT_EQ(Phase(), kRunning);
  }
};

TEST_F(DelayedTest, APodThatStaysPendingHasItsActionAtTheDeadlineAndNotBefore) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodPending", "AbortJob", absl::Minutes(10)), /*pods_run=*/false);
  EXPECT_EQ(Deadlines().size(), 2u);
  rig().Run(absl::Minutes(10) - absl::Seconds(2));
  EXPECT_EQ(Phase(), kPending);
  EXPECT_EQ(Status().version(), 0);
  rig().Run(absl::Seconds(3));
  EXPECT_EQ(Phase(), kAborted);
  rig().Run(absl::Minutes(30));
  EXPECT_EQ(Done("AbortJob"), 1) << "the deadlines of both pods are over with the first";
  EXPECT_EQ(Status().version(), 1);
}

TEST_F(DelayedTest, ADeadlineIsKeptOverARestartAndOverALostDisk) {
  for (const bool lose_disk : {false, true}) {
    for (const std::string event :
         {"PodPending", "PodFailed", "PodEvicted", "TaskCompleted", "TaskFailed", "Unknown"}) {
      SCOPED_TRACE(event + (lose_disk ? ", empty disk" : ", same disk"));
      Fresh();
      kube::v1::Job job = MakeJob("j", 2, 2);
      job.mutable_spec()->set_min_available(1);
      Begin(WithPolicy(std::move(job), event, "AbortJob", absl::Minutes(10)), event != "PodPending");
      const absl::Time begin = rig().time().Now();
      if (event == "PodFailed") kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
      if (event == "PodEvicted") kube().RemovePod("default/j-t0-1");
      if (event == "TaskCompleted") {
        kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
        kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
      }
      if (event == "TaskFailed") kube().EditPod("default/j-t0-1", [](kube::v1::Pod& pod) { pod.set_restarts(5); });
      if (event == "Unknown") kube().SetGroupPhase(kube().groups().begin()->first, "Unknown");
      rig().Run(absl::Minutes(4));
      ASSERT_GE(Deadlines().size(), 1u);
      EXPECT_EQ(Remembered(), event == "PodPending" || event == "PodFailed" ? 0u : 1u);
      StartAgain(lose_disk);
      ASSERT_TRUE(rig().RunUntil([&] { return Phase() == kAborted; }, absl::Minutes(20)));
      EXPECT_GE(rig().time().Now() - begin, absl::Minutes(10) - absl::Seconds(2));
      EXPECT_LE(rig().time().Now() - begin, absl::Minutes(10) + absl::Seconds(2));
      rig().Run(absl::Minutes(30));
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
    Fresh();
    kube::v1::Job job = MakeJob("j", 2, 1);
    job.mutable_spec()->set_max_retry(9);
    Begin(WithPolicy(std::move(job), event, "RestartTask", absl::Seconds(10)));
    kube().SetPodPhase("default/j-t0-0", event == "PodFailed" ? kPodFailed : kPodSucceeded, 0);
    rig().Run(absl::Seconds(6));
    const auto before = rig().CopyDisk();
    rig().Run(absl::Seconds(10));
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(10));
    ASSERT_EQ(Status().retry_count(), 1);
    ASSERT_EQ(Phase(), kRunning);
    rig().Kill();
    rig().LosePower(before);
    rig().Start();
    rig().Run(absl::Minutes(5));
    EXPECT_EQ(Status().retry_count(), 1);
  }
}

TEST_F(DelayedTest, TheSuccessorThatDoesNotComeUpIsWhatARestartPodIsAbout) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartPod", absl::Minutes(10)));
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Minutes(1));
  const std::string successor = kube().pods().at("default/j-t0-1").uid();
  const std::string other = kube().pods().at("default/j-t0-0").uid();
  rig().Run(absl::Minutes(10));
  EXPECT_NE(kube().pods().at("default/j-t0-1").uid(), successor);
  EXPECT_EQ(kube().pods().at("default/j-t0-0").uid(), other);
  EXPECT_EQ(Done("RestartPod"), 1);
}

TEST_F(DelayedTest, ADeadlineOfAJobIsNotOneOfAnotherOfItsName) {
  for (const auto& [event, lose_disk] :
       {std::pair("PodEvicted", false), {"PodEvicted", true}, {"TaskCompleted", false}, {"TaskCompleted", true}}) {
    Fresh();
    const kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), event, "AbortJob", absl::Minutes(10));
    Begin(job);
    if (event == std::string_view("PodEvicted")) {
      kube().RemovePod("default/j-t0-0");
    } else {
      kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
    }
    rig().Run(absl::Minutes(1));
    ASSERT_EQ(Deadlines().size(), 1u);
    kube().DeleteJob("default/j");
    if (lose_disk) rig().Run(absl::Minutes(1));  // Otherwise no process has observed that the job was gone.
    kube().PutJob(job);
    rig().Run(absl::Seconds(5));
    if (lose_disk) StartAgain(true);
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Minutes(20));
    EXPECT_EQ(Phase(), kRunning);
  }
}

TEST_F(DelayedTest, AFinishedJobKeepsNoneAndIsNotWrittenForIt) {
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), "TaskCompleted", "RestartJob", absl::Minutes(10));
  Begin(std::move(job));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Run(absl::Minutes(1));
  ASSERT_EQ(Remembered(), 1u);
  kube().SetPodPhase("default/j-t1-0", kPodSucceeded);
  rig().Run(absl::Minutes(1));
  ASSERT_EQ(Phase(), kCompleted);
  EXPECT_EQ(Remembered(), 0u);
  kube().ClearLog();
  rig().Run(absl::Minutes(30));
  EXPECT_EQ(kube().WritesButEvents(), 0);
  EXPECT_EQ(Phase(), kCompleted);
}

// The scheduler updates a condition in its place: the last one of the list may be hours old.
TEST_F(DelayedTest, ADeadlineOfUnknownCountsFromWhenTheGroupBecameSo) {
  for (const bool seen : {true, false}) {
    Fresh();
    Begin(WithPolicy(MakeJob("j", 1, 2), "Unknown", "AbortJob", absl::Minutes(10)));
    rig().Run(absl::Hours(3));
    if (!seen) rig().Kill();
    const std::string group = kube().groups().begin()->first;
    const int64_t now_ms = absl::ToUnixMillis(rig().time().Now());
    kube().EditGroup(group, [&](kube::v1::PodGroup& edited) {
      edited.set_phase("Unknown");
      edited.add_conditions()->set_last_transition_ms(now_ms);
      edited.add_conditions()->set_last_transition_ms(now_ms - absl::ToInt64Milliseconds(absl::Hours(3)));
    });
    if (!seen) {
      rig().LoseDisk();
      rig().Start();
    }
    rig().Run(absl::Minutes(9));
    EXPECT_EQ(Phase(), kRunning);
    rig().Run(absl::Minutes(2));
    EXPECT_EQ(Phase(), kAborted);
  }
}

// On an empty disk, pods are handled in the order of their names.
TEST_F(DelayedTest, ADeadlineOfATaskCountsFromThePodThatCompletedIt) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  Begin(WithPolicy(std::move(job), "TaskCompleted", "AbortJob", absl::Minutes(30)));
  kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig().Run(absl::Hours(2));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Run(absl::Minutes(5));
  StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Minutes(24));
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_EQ(Deadlines().size(), 1u);
  rig().Run(absl::Minutes(2));
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Done("AbortJob"), 1);
}

TEST_F(DelayedTest, AFailedPodThatIsRemovedAfterwardsStillHasItsAction) {
  kube::v1::Job job = MakeJob("j", 2, 2);
  job.mutable_spec()->set_min_available(1);
  Begin(WithPolicy(std::move(job), "PodFailed", "AbortJob", absl::Minutes(10)));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Minutes(1));
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Minutes(1));
  StartAgain(/*lose_disk=*/false);
  rig().Run(absl::Minutes(7));
  EXPECT_EQ(Phase(), kRunning);
  rig().Run(absl::Minutes(2));
  EXPECT_EQ(Phase(), kAborted);
}

// The process may die at any point; the action is carried out once.
TEST_F(DelayedTest, ItIsCarriedOutOnceWhereverTheProcessIsKilled) {
  basalt::testing::KillAtEachPoint(10, [this](basalt::testing::KillPoint& kill) {
    Fresh();
    Begin(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartJob", absl::Minutes(1)));
    kill.Arm(rig());
    kube().RemovePod("default/j-t0-1");
    for (int i = 0; i < 90; ++i) {
      rig().Run(absl::Seconds(2));
      kill.Restart(rig());
    }
    rig().KillAt(0);
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Minutes(5));
    // An eviction that has not been recorded yet may be lost with the disk.
    EXPECT_LE(Status().version(), 1);
    EXPECT_GE(Status().version(), kill.was_killed() && kill.loses_disk() ? 0 : 1);
    EXPECT_EQ(Status().retry_count(), Status().version());
    EXPECT_EQ(Phase(), kRunning);
  });
}

}  // namespace
}  // namespace basalt::jobsvc::testing
