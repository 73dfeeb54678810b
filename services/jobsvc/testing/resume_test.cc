// A person who resumes a job wants it to run again: succeeded work is done, and everything else is made anew.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class ResumeTest : public JobTest {
 protected:
  void Begin(kube::v1::Job job) {
    rig().StartRunning(std::move(job), absl::Seconds(10));
    ASSERT_EQ(Phase(), kRunning);
  }
  void Command(const std::string& name, const std::string& action) {
    JobTest::Command(name, action);
    rig().Run(absl::Seconds(10));
  }
  std::string UidOf(const std::string& pod) {
    const auto found = kube().pods().find("default/" + pod);
    return found == kube().pods().end() ? "" : found->second.uid();
  }
};

TEST_F(ResumeTest, APodThatFailedIsMadeAnew) {
  for (const bool lose_disk : {false, true}) {
    SCOPED_TRACE(lose_disk);
    Fresh();
    rig().Start();
    kube::v1::Job job = WithPolicy(MakeJob("j", 1, 1), "PodFailed", "AbortJob");
    job.mutable_spec()->set_ttl_seconds_after_finished(5);
    kube().PutJob(std::move(job));
    rig().Run();
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(10));
    kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
    rig().Run(absl::Seconds(30));
    ASSERT_EQ(Phase(), kAborted);
    ASSERT_EQ(kube().pods().size(), 1u) << "it is there to be looked at";
    const std::string failed = kube().pods().at("default/j-t0-0").uid();
    if (lose_disk) {
      StartAgain(/*lose_disk=*/true);
      rig().Run();
    }
    Command("go", "ResumeJob");
    rig().Run(absl::Seconds(30));
    ASSERT_EQ(Phase(), kPending) << "it waits for its new pod, and is not deleted";
    ASSERT_EQ(kube().pods().size(), 1u);
    EXPECT_NE(kube().pods().at("default/j-t0-0").uid(), failed);
    EXPECT_EQ(Status().retry_count(), 0);
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(10));
    kube().SetAllPods(kPodSucceeded);
    rig().Run(absl::Seconds(3));
    EXPECT_EQ(Phase(), kCompleted);
    rig().Run(absl::Seconds(20));
    EXPECT_TRUE(kube().jobs().empty()) << "its time to live counts from the new end";
  }
}

TEST_F(ResumeTest, ASuccessIsKeptAndTheGangIsWholeAgain) {
  Begin(WithPolicy(MakeJob("j", 3, 1), "PodFailed", "AbortJob"));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Run(absl::Seconds(10));
  const std::string done = UidOf("j-t0-0");
  const std::string failed = UidOf("j-t1-0");
  kube().SetPodPhase("default/j-t1-0", kPodFailed, 1);
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Phase(), kAborted);
  Command("go", "ResumeJob");
  ASSERT_EQ(kube().pods().size(), 3u);
  EXPECT_EQ(UidOf("j-t0-0"), done);
  EXPECT_NE(UidOf("j-t1-0"), failed);
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().counts().failed(), 0);
  for (const char* pod : {"default/j-t1-0", "default/j-t2-0"}) kube().SetPodPhase(pod, kPodRunning);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kRunning);
  for (const char* pod : {"default/j-t1-0", "default/j-t2-0"}) kube().SetPodPhase(pod, kPodSucceeded);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kCompleted);
}

TEST_F(ResumeTest, ManyThatFailedGoInOneCallThatLeavesOutWhatSucceeded) {
  Begin(MakeJob("j", 1, 6));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  for (const char* pod : {"default/j-t0-1", "default/j-t0-2", "default/j-t0-3"}) {
    kube().SetPodPhase(pod, kPodFailed, 1);
  }
  rig().Run(absl::Seconds(10));
  const std::string done = UidOf("j-t0-0");
  Command("stop", "AbortJob");
  ASSERT_EQ(Phase(), kAborted);
  ASSERT_EQ(kube().pods().size(), 4u);
  kube().ClearLog();
  Command("go", "ResumeJob");
  EXPECT_EQ(kube().Count("deletecollection", "pods"), 1);
  EXPECT_EQ(kube().Count("delete", "pods"), 0);
  ASSERT_EQ(kube().pods().size(), 6u);
  EXPECT_EQ(UidOf("j-t0-0"), done);
}

// The kill that spends the last retry keeps failed pods, since the job ends with it. A kill of a job that is already
// restarting spends none.
TEST_F(ResumeTest, ARestartOfAJobThatRestartsForTheLastTimeMakesAnewWhatFailed) {
  kube::v1::Job job = MakeJob("j", 1, 3);
  job.mutable_spec()->set_max_retry(2);
  Begin(std::move(job));
  kube().SchedulePods();
  Command("first", "RestartJob");
  ASSERT_EQ(Phase(), kRestarting);
  ASSERT_EQ(Status().retry_count(), 1) << "the next restart is the last";
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run();
  Command("second", "RestartJob");
  kube().FinishDeletions();
  rig().Run(absl::Seconds(10));
  kube().FinishDeletions();
  rig().Run(absl::Seconds(10));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kRunning);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
