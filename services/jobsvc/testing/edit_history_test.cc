// Edits of the spec in history: the changes, once each, in order with the decisions, also if no process observed the
// edit. Nothing is written to Kubernetes for an edit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/runtime/watch/watch_records.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::Job;
using storage::v1::HistoryRecord;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kKey[] = "default/j";

class EditHistoryTest : public JobTest {
 protected:
  void Begin() {
    Job job = MakeJob("j", 2, 3);
    job.mutable_spec()->set_min_available(1);
    BeginRunning(std::move(job));
    ASSERT_THAT(Edits(), IsEmpty());
  }
  void SetPriority(const std::string& name) {
    EditSpec([&](kube::v1::JobSpec& spec) { spec.set_priority_class_name(name); });
  }
  // Returns the recorded changes, by entry.
  std::vector<std::string> Edits() {
    std::vector<std::string> edits;
    for (const HistoryRecord& entry : History()) {
      if (entry.generation() != 0) edits.push_back(entry.outcome());
    }
    return edits;
  }
  void Restart() {
    StartAgain();
    rig().Run(absl::Seconds(20));
  }
  bool HasSpecRecord() {
    const auto read = ReadSpec(rig().store(), SlotOf(kKey), kKey);
    return read.ok() && read->has_value();
  }
};

TEST_F(EditHistoryTest, AnEditIsToldBehindTheDecisionThatItFoundAndBeforeWhatFollows) {
  Begin();
  const size_t before = History().size();
  const int64_t last = History().back().sequence();
  Scale(5);
  rig().Run(absl::Seconds(20));
  Command("stop", "AbortJob");
  rig().Run(absl::Seconds(5));
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
  rig().Run(absl::Seconds(1));
  SetPriority("high");
  rig().Run(absl::Seconds(1));
  Scale(4);
  rig().Run(absl::Seconds(20));
  const auto expected =
      ElementsAre("task t0: replicas 3 -> 5", "priorityClassName none -> high", "task t0: replicas 5 -> 4");
  EXPECT_THAT(Edits(), expected);
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Minutes(1));
  Restart();
  kube().EditJob(kKey, [](Job&) {});  // A new generation of the same spec.
  rig().Run(absl::Seconds(20));
  Restart();
  EXPECT_THAT(Edits(), expected);
}

TEST_F(EditHistoryTest, TheProcessDyingAnywhereTellsAnEditOnceAllTheSame) {
  for (int point = 1; point <= 12; ++point) {
    Fresh();
    rig().Start();
    kube().PutJob(MakeJob("j", 1, 2));
    rig().Run(absl::Seconds(5));
    rig().KillAt(point);
    Scale(4);
    for (int second = 0; second < 20; ++second) {
      rig().Run(absl::Seconds(1));
      if (!rig().alive()) rig().Start();
    }
    EXPECT_EQ(Edits().size(), 1u) << "point " << point;
  }
}

TEST_F(EditHistoryTest, ARecordThatProvesStaleDoesNotTellAnEditAgain) {
  Begin();
  Scale(5);
  rig().Run(absl::Seconds(20));
  const auto disk = rig().CopyDisk();
  Command("stop", "AbortJob");
  rig().Run(absl::Seconds(20));
  rig().Kill();
  rig().LosePower(disk);
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_THAT(Edits(), ElementsAre("task t0: replicas 3 -> 5"));
  Scale(6);
  rig().Run(absl::Seconds(20));
  EXPECT_THAT(Edits(), ElementsAre("task t0: replicas 3 -> 5", "task t0: replicas 5 -> 6"));
}

// A gateway that lists from a lagging cache shows a job again after its end was recorded, while its pods go on ending.
TEST_F(EditHistoryTest, AJobThatIsShownOnceMoreAfterItsEndLeavesNothing) {
  Begin();
  Scale(5);
  rig().Run(absl::Seconds(20));
  const auto end = [&] {
    kube().ShowJobGone(kKey);
    rig().Run();
  };
  const auto is_reported_as_gone = [&] {
    bool deleted = false;
    kv::Damage damage;
    const absl::Status read = runtime::ForEachShown(
        rig().store(), SlotOf(kKey),
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
