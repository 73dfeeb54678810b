// Edits of the spec in history: the changes, once each, in order with the decisions, also if no process observed the
// edit. Nothing is written to Kubernetes for an edit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/runtime/watch/watch_records.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::Job;
using storage::v1::HistoryRecord;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kKey[] = "default/j";

class EditHistoryTest : public ::testing::Test {
 protected:
  void Begin() {
    rig_.Start();
    Job job = MakeJob("j", 2, 3);
    job.mutable_spec()->set_min_available(1);
    rig_.kube().PutJob(job);
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
    ASSERT_EQ(rig_.PhaseOf(kKey), kRunning);
    ASSERT_THAT(Edits(), IsEmpty());
  }
  void Scale(int32_t replicas) {
    rig_.kube().EditJob(kKey, [&](Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(replicas); });
  }
  void SetPriority(const std::string& name) {
    rig_.kube().EditJob(kKey, [&](Job& job) { job.mutable_spec()->set_priority_class_name(name); });
  }
  std::vector<HistoryRecord> History() {
    return *HistoryStore(rig_.store()).Read(SlotOf(kKey), rig_.kube().job(kKey).meta().uid());
  }
  // Returns the recorded changes, by entry.
  std::vector<std::string> Edits() {
    std::vector<std::string> edits;
    for (const HistoryRecord& entry : History()) {
      if (entry.generation() != 0) edits.push_back(entry.outcome());
    }
    return edits;
  }
  void Restart(bool lose_disk = false) {
    rig_.Kill();
    if (lose_disk) rig_.LoseDisk();
    rig_.Start();
    rig_.Run(absl::Seconds(20));
  }
  bool HasSpecRecord() {
    const auto read = ReadSpec(rig_.store(), SlotOf(kKey), kKey);
    return read.ok() && read->has_value();
  }

  JobRig rig_;
};

TEST_F(EditHistoryTest, AnEditIsToldBehindTheDecisionThatItFoundAndBeforeWhatFollows) {
  Begin();
  const size_t before = History().size();
  const int64_t last = History().back().sequence();
  Scale(5);
  rig_.Run(absl::Seconds(20));
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(5));
  const std::vector<HistoryRecord> history = History();
  ASSERT_GT(history.size(), before + 1);
  const HistoryRecord& edit = history[before];
  EXPECT_EQ(edit.outcome(), "task t0: replicas 3 -> 5");
  EXPECT_EQ(edit.rule(), "the spec was edited");
  EXPECT_EQ(edit.event(), "OutOfSync");
  EXPECT_EQ(edit.generation(), 2);
  EXPECT_EQ(edit.from_phase(), kRunning);
  EXPECT_EQ(edit.to_phase(), kRunning);
  EXPECT_EQ(edit.counts().running(), 6);
  EXPECT_TRUE(edit.committed());
  EXPECT_GE(edit.sequence(), last);
  EXPECT_LT(edit.sequence(), history[before + 1].sequence());
  EXPECT_EQ(history[before + 1].action(), "AbortJob");
}

TEST_F(EditHistoryTest, EachChangeIsToldOnce) {
  Begin();
  Scale(5);
  rig_.Run(absl::Seconds(1));
  SetPriority("high");
  rig_.Run(absl::Seconds(1));
  Scale(4);
  rig_.Run(absl::Seconds(20));
  const auto expected =
      ElementsAre("task t0: replicas 3 -> 5", "priorityClassName none -> high", "task t0: replicas 5 -> 4");
  EXPECT_THAT(Edits(), expected);
  rig_.kube().SetAllPods(kPodRunning);
  rig_.Run(absl::Minutes(1));
  Restart();
  rig_.kube().EditJob(kKey, [](Job&) {});  // A new generation of the same spec.
  rig_.Run(absl::Seconds(20));
  Restart();
  EXPECT_THAT(Edits(), expected);
}

TEST(EditHistoryCrashTest, TheProcessDyingAnywhereTellsAnEditOnceAllTheSame) {
  for (int point = 1; point <= 12; ++point) {
    JobRig rig;
    rig.Start();
    rig.kube().PutJob(MakeJob("j", 1, 2));
    rig.Run(absl::Seconds(5));
    rig.KillAt(point);
    rig.kube().EditJob(kKey, [](Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(4); });
    for (int second = 0; second < 20; ++second) {
      rig.Run(absl::Seconds(1));
      if (!rig.alive()) rig.Start();
    }
    int edits = 0;
    const auto history = HistoryStore(rig.store()).Read(SlotOf(kKey), rig.kube().job(kKey).meta().uid());
    for (const HistoryRecord& entry : *history) {
      edits += entry.generation() != 0 ? 1 : 0;
    }
    EXPECT_EQ(edits, 1) << "point " << point;
  }
}

TEST_F(EditHistoryTest, ARecordThatProvesStaleDoesNotTellAnEditAgain) {
  Begin();
  Scale(5);
  rig_.Run(absl::Seconds(20));
  const auto disk = rig_.CopyDisk();
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig_.Run(absl::Seconds(20));
  rig_.Kill();
  rig_.LosePower(disk);
  rig_.Start();
  rig_.Run(absl::Seconds(20));
  EXPECT_THAT(Edits(), ElementsAre("task t0: replicas 3 -> 5"));
  Scale(6);
  rig_.Run(absl::Seconds(20));
  EXPECT_THAT(Edits(), ElementsAre("task t0: replicas 3 -> 5", "task t0: replicas 5 -> 6"));
}

// A gateway that lists from a lagging cache shows a job again after its end was recorded, while its pods go on ending.
TEST_F(EditHistoryTest, AJobThatIsShownOnceMoreAfterItsEndLeavesNothing) {
  Begin();
  Scale(5);
  rig_.Run(absl::Seconds(20));
  const auto end = [&] {
    rig_.kube().ShowJobGone(kKey);
    rig_.Run();
  };
  const auto is_reported_as_gone = [&] {
    bool deleted = false;
    kv::Damage damage;
    const absl::Status read = runtime::ForEachShown(
        rig_.store(), SlotOf(kKey),
        [&](const std::string&, const storage::v1::PublishedObject& shown) { deleted = shown.deleted(); }, damage);
    return read.ok() && deleted;
  };
  end();
  ASSERT_FALSE(HasSpecRecord());
  ASSERT_TRUE(is_reported_as_gone());
  Restart();
  ASSERT_TRUE(HasSpecRecord());
  ASSERT_FALSE(is_reported_as_gone());
  end();
  EXPECT_FALSE(HasSpecRecord());
  EXPECT_TRUE(is_reported_as_gone());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
