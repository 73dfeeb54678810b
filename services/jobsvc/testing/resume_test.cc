// A person who resumes a job wants it to run again: succeeded work is done, and everything else is made anew.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

class ResumeTest : public ::testing::Test {
 protected:
  void Begin(kube::v1::Job job) {
    rig_.Start();
    rig_.kube().PutJob(std::move(job));
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(10));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }
  void Command(const std::string& name, const std::string& action) {
    rig_.kube().PutCommand("default", name, action, "j");
    rig_.Run(absl::Seconds(10));
  }
  const kube::v1::JobStatus& Status() { return rig_.kube().job("default/j").status(); }
  std::string UidOf(const std::string& pod) {
    const auto found = rig_.kube().pods().find("default/" + pod);
    return found == rig_.kube().pods().end() ? "" : found->second.uid();
  }

  JobRig rig_;
};

TEST_F(ResumeTest, APodThatFailedIsMadeAnew) {
  for (const bool lose_disk : {false, true}) {
    SCOPED_TRACE(lose_disk);
    JobRig rig;
    rig.Start();
    kube::v1::Job job = WithPolicy(MakeJob("j", 1, 1), "PodFailed", "AbortJob");
    job.mutable_spec()->set_ttl_seconds_after_finished(5);
    rig.kube().PutJob(std::move(job));
    rig.Run();
    rig.kube().SetAllPods(kPodRunning);
    rig.Run(absl::Seconds(10));
    rig.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
    rig.Run(absl::Seconds(30));
    ASSERT_EQ(rig.PhaseOf("default/j"), kAborted);
    ASSERT_EQ(rig.kube().pods().size(), 1u) << "it is there to be looked at";
    const std::string failed = rig.kube().pods().at("default/j-t0-0").uid();
    if (lose_disk) {
      rig.Kill();
      rig.LoseDisk();
      rig.Start();
      rig.Run();
    }
    rig.kube().PutCommand("default", "go", "ResumeJob", "j");
    rig.Run(absl::Seconds(30));
    ASSERT_EQ(rig.PhaseOf("default/j"), kPending) << "it waits for its new pod, and is not deleted";
    ASSERT_EQ(rig.kube().pods().size(), 1u);
    EXPECT_NE(rig.kube().pods().at("default/j-t0-0").uid(), failed);
    EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 0);
    rig.kube().SetAllPods(kPodRunning);
    rig.Run(absl::Seconds(10));
    rig.kube().SetAllPods(kPodSucceeded);
    rig.Run(absl::Seconds(3));
    EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
    rig.Run(absl::Seconds(20));
    EXPECT_TRUE(rig.kube().jobs().empty()) << "its time to live counts from the new end";
  }
}

TEST_F(ResumeTest, WhatSucceededIsKeptAndAGangIsWholeAgain) {
  Begin(WithPolicy(MakeJob("j", 3, 1), "PodFailed", "AbortJob"));
  rig_.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  const std::string done = UidOf("j-t0-0");
  const std::string failed = UidOf("j-t1-0");
  rig_.kube().SetPodPhase("default/j-t1-0", kPodFailed, 1);
  rig_.Run(absl::Seconds(10));
  ASSERT_EQ(rig_.PhaseOf("default/j"), kAborted);
  Command("go", "ResumeJob");
  ASSERT_EQ(rig_.kube().pods().size(), 3u);
  EXPECT_EQ(UidOf("j-t0-0"), done);
  EXPECT_NE(UidOf("j-t1-0"), failed);
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().counts().failed(), 0);
  for (const char* pod : {"default/j-t1-0", "default/j-t2-0"}) rig_.kube().SetPodPhase(pod, kPodRunning);
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  for (const char* pod : {"default/j-t1-0", "default/j-t2-0"}) rig_.kube().SetPodPhase(pod, kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kCompleted);
}

TEST_F(ResumeTest, ManyThatFailedGoInOneCallThatLeavesOutWhatSucceeded) {
  Begin(MakeJob("j", 1, 6));
  rig_.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  for (const char* pod : {"default/j-t0-1", "default/j-t0-2", "default/j-t0-3"}) {
    rig_.kube().SetPodPhase(pod, kPodFailed, 1);
  }
  rig_.Run(absl::Seconds(10));
  const std::string done = UidOf("j-t0-0");
  Command("stop", "AbortJob");
  ASSERT_EQ(rig_.PhaseOf("default/j"), kAborted);
  ASSERT_EQ(rig_.kube().pods().size(), 4u);
  rig_.kube().ClearLog();
  Command("go", "ResumeJob");
  EXPECT_EQ(rig_.kube().Count("deletecollection", "pods"), 1);
  EXPECT_EQ(rig_.kube().Count("delete", "pods"), 0);
  ASSERT_EQ(rig_.kube().pods().size(), 6u);
  EXPECT_EQ(UidOf("j-t0-0"), done);
}

// The kill that spends the last retry keeps failed pods, since the job ends with it. A kill of a job that is already
// restarting spends none.
TEST_F(ResumeTest, ARestartOfAJobThatRestartsForTheLastTimeMakesAnewWhatFailed) {
  kube::v1::Job job = MakeJob("j", 1, 3);
  job.mutable_spec()->set_max_retry(2);
  Begin(std::move(job));
  rig_.kube().SchedulePods();
  Command("first", "RestartJob");
  ASSERT_EQ(rig_.PhaseOf("default/j"), kRestarting);
  ASSERT_EQ(Status().retry_count(), 1) << "the next restart is the last";
  rig_.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig_.Run();
  Command("second", "RestartJob");
  rig_.kube().FinishDeletions();
  rig_.Run(absl::Seconds(10));
  rig_.kube().FinishDeletions();
  rig_.Run(absl::Seconds(10));
  rig_.kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
