// A commit that took effect after its record had given it up: history records its transition once, also if older
// entries have not come yet from the replica that had the slot.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr char kKey[] = "default/j";

std::vector<kube::v1::JobPhase> RecordedPhases(JobRig& rig) {
  std::vector<kube::v1::JobPhase> phases;
  const auto history = HistoryStore(rig.store()).Read(SlotOf(kKey), rig.kube().job(kKey).meta().uid());
  for (const storage::v1::HistoryRecord& entry : *history) phases.push_back(entry.to_phase());
  return phases;
}

void StartRunning(JobRig& rig) {
  rig.Begin(MakeJob("j", 1, 2));
  rig.kube().SetAllPods(kube::v1::POD_PHASE_RUNNING);
  rig.Run(absl::Seconds(20));
  ASSERT_EQ(rig.PhaseOf(kKey), kRunning);
  ASSERT_EQ(RecordedPhases(rig), (std::vector{kube::v1::JOB_PHASE_PENDING, kRunning}));
}

// Removes the history, as if the slot had moved and its history were on its way.
void TakeHistoryAway(JobRig& rig) {
  kv::WriteBatch batch;
  const std::string prefix = history::EntryPrefix(SlotOf(kKey), rig.kube().job(kKey).meta().uid());
  batch.DeleteRange(kv::Family::kHistory, prefix, kv::PrefixEnd(prefix));
  ASSERT_TRUE(rig.store().Write(batch).ok());
}

class LateCommitTest : public JobTest {};

TEST_F(LateCommitTest, ACommitOfCountsAloneLeavesNoEntryOfHistory) {
  StartRunning(rig());
  TakeHistoryAway(rig());
  ASSERT_TRUE(CommitLate(kube(), kKey));
  rig().Run(absl::Seconds(10));
  EXPECT_TRUE(RecordedPhases(rig()).empty()) << "it was told before";
}

TEST_F(LateCommitTest, ACommitOfATransitionLeavesOneEntryOfHistory) {
  for (const bool away : {false, true}) {
    Fresh();
    StartRunning(rig());
    if (away) TakeHistoryAway(rig());
    const size_t before = RecordedPhases(rig()).size();
    ASSERT_TRUE(CommitLate(kube(), kKey, R"({"state":{"phase":"Aborting"},"version":1})"));
    rig().Run(absl::Milliseconds(50));
    const std::vector<kube::v1::JobPhase> phases = RecordedPhases(rig());
    ASSERT_GT(phases.size(), before);
    EXPECT_EQ(phases[before], kube::v1::JOB_PHASE_ABORTING);
    TakeHistoryAway(rig());
    StartAgain();
    ASSERT_TRUE(CommitLate(kube(), kKey));
    rig().Run(absl::Seconds(10));
    for (const kube::v1::JobPhase phase : RecordedPhases(rig())) EXPECT_NE(phase, kube::v1::JOB_PHASE_ABORTING);
  }
}

// The record begins with the present status: older entries were on the disk that is gone.
TEST_F(LateCommitTest, ACommitAfterALostDiskLeavesNoEntryOfBefore) {
  StartRunning(rig());
  StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Seconds(10));
  ASSERT_TRUE(CommitLate(kube(), kKey));
  rig().Run(absl::Seconds(10));
  EXPECT_TRUE(RecordedPhases(rig()).empty());
}

// The snapshot contains the pods but not the job, and absence is not deletion (design rule 1).
TEST_F(LateCommitTest, AJobThatASnapshotLeavesOutKeepsWhatWaitsForItsTime) {
  rig().StartRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob", absl::Seconds(10)));
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(4));
  rig().Kill();
  rig().uncertain.insert(kube().job("default/j").meta().uid());
  rig().Start();
  rig().Run(absl::Seconds(1));
  ASSERT_NE(rig().controller().Find("default/j"), nullptr);
  EXPECT_FALSE(Entry().record.gone());
  kube().EditJob("default/j", [](kube::v1::Job&) {});  // Now the watch shows the job.
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().version(), 1);
}

// W20, with a record that is rebuilt from the observed state: the pod had failed by itself before it was removed.
TEST_F(LateCommitTest, APodThatHadFailedByItselfWasNotEvicted) {
  rig().StartRunning(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartJob"));
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
  rig().Run(absl::Seconds(5));
  kube().EditPod("default/j-t0-0", [&](kube::v1::Pod& pod) {
    pod.set_deletion_ms(absl::ToUnixMillis(rig().time().Now()));  // A finalizer keeps the pod.
  });
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Status().version(), 0);
  ASSERT_TRUE(CommitLate(kube(), kKey));
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().version(), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
