// A running job that is changed to something invalid: its pods stay and are counted as before, whichever process
// observes the job, until the change is corrected.
#include <gtest/gtest.h>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

enum class Restart { kNone, kSameDisk, kEmptyDisk };

class RefusedEditTest : public ::testing::TestWithParam<Restart> {
 protected:
  void Begin() {
    kube::v1::Job job = MakeJob("j", 1, 3);
    job.mutable_spec()->set_min_available(3);
    rig_.Start();
    rig_.kube().PutJob(std::move(job));
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
  }
  void Edit(int32_t replicas, int32_t min_available) {
    rig_.kube().EditJob("default/j", [&](kube::v1::Job& job) {
      job.mutable_spec()->set_min_available(min_available);
      job.mutable_spec()->mutable_tasks(0)->set_replicas(replicas);
    });
    rig_.Run(absl::Seconds(10));
  }
  void StartAgain() {
    if (GetParam() == Restart::kNone) return;
    rig_.Kill();
    if (GetParam() == Restart::kEmptyDisk) rig_.LoseDisk();
    rig_.Start();
    rig_.Run(absl::Seconds(20));
  }
  const kube::v1::JobStatus& Status() { return rig_.kube().job("default/j").status(); }

  JobRig rig_;
};

TEST_P(RefusedEditTest, PodsBeyondANewSizeStayAndCount) {
  Begin();
  Edit(/*replicas=*/1, /*min_available=*/3);
  EXPECT_EQ(Status().reason(), "InvalidJob");
  StartAgain();
  EXPECT_EQ(rig_.kube().pods().size(), 3U);
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  EXPECT_EQ(Status().counts().running(), 3);
  rig_.kube().SetAllPods(kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kCompleted);
  EXPECT_EQ(Status().counts().succeeded(), 3);
}

TEST_P(RefusedEditTest, ACorrectionScalesIt) {
  Begin();
  Edit(/*replicas=*/1, /*min_available=*/3);
  StartAgain();
  Edit(/*replicas=*/1, /*min_available=*/1);
  EXPECT_EQ(Status().reason(), "");
  EXPECT_EQ(rig_.kube().pods().size(), 1U);
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
}

TEST_P(RefusedEditTest, WhatHadSucceededAndWasRemovedCountsStill) {
  Begin();
  rig_.kube().SetPodPhase("default/j-t0-2", kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  rig_.kube().RemovePod("default/j-t0-2");
  rig_.Run(absl::Seconds(10));
  Edit(/*replicas=*/1, /*min_available=*/3);
  StartAgain();
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().counts().running(), 2);
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
}

std::string NameOf(const ::testing::TestParamInfo<Restart>& row) {
  switch (row.param) {
    case Restart::kNone:
      return "None";
    case Restart::kSameDisk:
      return "SameDisk";
    case Restart::kEmptyDisk:
      break;
  }
  return "EmptyDisk";
}

INSTANTIATE_TEST_SUITE_P(Restarts, RefusedEditTest,
                         ::testing::Values(Restart::kNone, Restart::kSameDisk, Restart::kEmptyDisk), NameOf);

TEST(RefusedSpecTest, AJobThatIsPutRightStartsWithTheMinimumOfTheSpecThatIsAccepted) {
  for (const bool restarted : {false, true}) {
    JobRig rig;
    rig.Start();
    auto job = MakeJob("j", 2, 2);
    job.mutable_spec()->clear_min_available();
    job.mutable_spec()->mutable_tasks(0)->set_min_available(9);
    rig.kube().PutJob(job);
    rig.Run(absl::Seconds(10));
    ASSERT_EQ(rig.kube().job("default/j").status().reason(), "InvalidJob");
    ASSERT_EQ(rig.kube().job("default/j").status().min_available(), 11);
    if (restarted) rig.Kill();
    rig.kube().EditJob("default/j",
                       [](kube::v1::Job& edited) { edited.mutable_spec()->mutable_tasks(0)->clear_min_available(); });
    if (restarted) rig.Start();
    rig.Run(absl::Seconds(10));
    EXPECT_EQ(rig.kube().job("default/j").status().reason(), "");
    EXPECT_EQ(rig.kube().job("default/j").status().min_available(), 4);
    EXPECT_EQ(rig.kube().pods().size(), 4u);
    EXPECT_EQ(rig.kube().groups().begin()->second.spec().min_member(), 4);
  }
}

// Runs the job until its pods run.
void BeginRunning(JobRig& rig, const kube::v1::Job& job) {
  rig.Start();
  rig.kube().PutJob(job);
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  ASSERT_EQ(rig.PhaseOf("default/j"), kRunning);
}

TEST(RefusedSpecTest, ATimeToLiveThatCannotBeMeantDeletesNothing) {
  JobRig rig;
  BeginRunning(rig, MakeJob("j", 1, 3));
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->set_ttl_seconds_after_finished(-1); });
  rig.Run(absl::Seconds(10));
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Minutes(10));
  ASSERT_TRUE(rig.kube().jobs().contains("default/j"));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
}

TEST(RefusedSpecTest, ANumberOfRetriesThatCannotBeMeantFailsNothing) {
  JobRig rig;
  BeginRunning(rig, WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartPod"));
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->set_max_retry(-1); });
  rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "InvalidJob");
  EXPECT_NE(rig.PhaseOf("default/j"), kFailed);
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->set_max_retry(3); });
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.kube().pods().size(), 3u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
