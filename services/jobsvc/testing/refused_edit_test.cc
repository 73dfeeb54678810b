// A running job that is changed to something invalid: its pods stay and are counted as before, whichever process
// observes the job, until the change is corrected.
#include <gtest/gtest.h>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

enum class Restart { kNone, kSameDisk, kEmptyDisk };

class RefusedEditTest : public JobTest, public ::testing::WithParamInterface<Restart> {
 protected:
  void Begin() { BeginRunning(MakeJob("j", 1, 3)); }
  void Edit(int32_t replicas, int32_t min_available) {
    Scale(replicas, min_available);
    rig().Run(absl::Seconds(10));
  }
  void StartAgain() {
    if (GetParam() == Restart::kNone) return;
    JobTest::StartAgain(GetParam() == Restart::kEmptyDisk);
    rig().Run(absl::Seconds(20));
  }
};

// The status has the minimum with which the job ran, and the end is decided by that.
TEST_P(RefusedEditTest, PodsBeyondANewSizeStayAndCount) {
  Begin();
  Edit(/*replicas=*/1, /*min_available=*/9);
  EXPECT_EQ(Status().reason(), "InvalidJob");
  StartAgain();
  EXPECT_EQ(kube().pods().size(), 3U);
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_EQ(Status().counts().running(), 3);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_EQ(Status().counts().succeeded(), 3);
}

TEST_P(RefusedEditTest, ACorrectionScalesIt) {
  Begin();
  Edit(/*replicas=*/1, /*min_available=*/3);
  StartAgain();
  Edit(/*replicas=*/1, /*min_available=*/1);
  EXPECT_EQ(Status().reason(), "");
  EXPECT_EQ(kube().pods().size(), 1U);
  EXPECT_EQ(Phase(), kRunning);
}

TEST_P(RefusedEditTest, ASuccessThatWasRemovedStillCounts) {
  Begin();
  kube().SetPodPhase("default/j-t0-2", kPodSucceeded);
  rig().Run(absl::Seconds(10));
  kube().RemovePod("default/j-t0-2");
  rig().Run(absl::Seconds(10));
  Edit(/*replicas=*/1, /*min_available=*/3);
  StartAgain();
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().counts().running(), 2);
  EXPECT_EQ(Phase(), kRunning);
}

std::string NameOf(const ::testing::TestParamInfo<Restart>& row) {
  constexpr const char* kNames[] = {"None", "SameDisk", "EmptyDisk"};
  return kNames[static_cast<size_t>(row.param)];
}

INSTANTIATE_TEST_SUITE_P(Restarts, RefusedEditTest,
                         ::testing::Values(Restart::kNone, Restart::kSameDisk, Restart::kEmptyDisk), NameOf);

class RefusedSpecTest : public JobTest {};

TEST_F(RefusedSpecTest, AJobThatIsPutRightStartsWithTheAcceptedMinimum) {
  for (const bool restarted : {false, true}) {
    Fresh();
    rig().Start();
    auto job = MakeJob("j", 2, 2);
    job.mutable_spec()->clear_min_available();
    job.mutable_spec()->mutable_tasks(0)->set_min_available(9);
    kube().PutJob(job);
    rig().Run(absl::Seconds(10));
    ASSERT_EQ(Status().reason(), "InvalidJob");
    ASSERT_EQ(Status().min_available(), 11);
    if (restarted) rig().Kill();
    EditSpec([](kube::v1::JobSpec& spec) { spec.mutable_tasks(0)->clear_min_available(); });
    if (restarted) rig().Start();
    rig().Run(absl::Seconds(10));
    EXPECT_EQ(Status().reason(), "");
    EXPECT_EQ(Status().min_available(), 4);
    EXPECT_EQ(kube().pods().size(), 4u);
    EXPECT_EQ(Group().spec().min_member(), 4);
  }
}

TEST_F(RefusedSpecTest, ATimeToLiveThatCannotBeMeantDeletesNothing) {
  BeginRunning(MakeJob("j", 1, 3));
  EditSpec([](kube::v1::JobSpec& spec) { spec.set_ttl_seconds_after_finished(-1); });
  rig().Run(absl::Seconds(10));
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Minutes(10));
  ASSERT_TRUE(kube().jobs().contains("default/j"));
  EXPECT_EQ(Phase(), kCompleted);
}

TEST_F(RefusedSpecTest, ANumberOfRetriesThatCannotBeMeantFailsNothing) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartPod"));
  EditSpec([](kube::v1::JobSpec& spec) { spec.set_max_retry(-1); });
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Status().reason(), "InvalidJob");
  EXPECT_NE(Phase(), kFailed);
  EditSpec([](kube::v1::JobSpec& spec) { spec.set_max_retry(3); });
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 3u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
