// How the end of a kill is recorded, and when a kill has ended.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "services/jobsvc/control/history/history_fixture.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc::testing {
namespace {

class RecordKillEndTest : public HistoryTest {
 protected:
  // Begins with a kill that began so long ago with decision 3, and of which no pod is left.
  void Begin(const std::string& action, absl::Duration ago) {
    ForgetAll();
    storage::v1::HistoryRecord decision;
    decision.set_sequence(3);
    decision.set_time_ms(absl::ToUnixMillis(host.Now() - ago));
    decision.set_action(action);
    decision.set_outcome("3 pods go");
    AddEntry(decision);
    job.record.set_open_kill(3);
    job.record_dirty = false;
    job.persisted = {};
    job.pods.Reset("j", kJobUid);
    job.pods.SetTasks({{"w", 2}});
  }
  // Puts a kill that does not name the pod into the status.
  void Kill(const std::string& group_uid) { job.persisted.kill.emplace().group_uid = group_uid; }
  void AddMarkedPod() {
    kube::v1::Pod pod = MakePod("j-w-0", "a", kube::v1::POD_PHASE_RUNNING);
    pod.set_out_of_sync(true);
    job.pods.Apply(pod);
  }
  void RecordEnd() {
    kv::WriteBatch batch;
    job_history.RecordKillEnd(job, batch);
    Write(batch);
    EXPECT_TRUE(context.failure().ok()) << context.failure();
  }
};

TEST_F(RecordKillEndTest, AKillIsOverOnceItsPodsAreGone) {
  struct Case {
    const char* what;
    const char* action;
    absl::Duration ago;
    std::function<void()> become;
    const char* outcome;
    bool is_open;
  };
  const absl::Duration ago = absl::Seconds(90);
  const Case cases[] = {
      {"nothing is left", "RestartJob", ago, [] {}, "3 pods go; gone after 1m30s", false},
      {"after a sync", "SyncJob", ago, [] {}, "3 pods go; what was left is gone after 1m30s", false},
      {"the clock was set back", "RestartJob", -ago, [] {}, "3 pods go; gone after 0s", false},
      {"a pod is still going", "RestartJob", ago,
       [this] {
         kube::v1::Pod pod = MakePod("j-w-0", "a", kube::v1::POD_PHASE_RUNNING);
         pod.set_deletion_ms(1);
         job.pods.Apply(pod);
       },
       "3 pods go", true},
      {"a pod is to be deleted", "RestartJob", ago,
       [this] {
         Kill("");
         AddMarkedPod();
       },
       "3 pods go", true},
      {"the PodGroup is to go", "RestartJob", ago, [this] { Kill("group-uid"); }, "3 pods go; gone after 1m30s", false},
      {"another kill of nothing", "RestartJob", ago, [this] { Kill(""); }, "3 pods go; gone after 1m30s", false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin(test.action, test.ago);
    test.become();
    RecordEnd();
    ASSERT_EQ(Entries().size(), 1U);
    EXPECT_EQ(Entries()[0].outcome(), test.outcome);
    EXPECT_EQ(job.record.open_kill(), test.is_open ? 3 : 0);
    EXPECT_EQ(job.record_dirty, !test.is_open);
  }
}

TEST_F(RecordKillEndTest, ADecisionThatHistoryHasNotGetsNoEnd) {
  Begin("RestartJob", absl::Seconds(90));
  ForgetAll();
  RecordEnd();
  EXPECT_TRUE(Entries().empty());
  EXPECT_EQ(job.record.open_kill(), 0);
}

TEST_F(RecordKillEndTest, ADecisionThatCannotBeReadIsDroppedAndCounted) {
  Begin("RestartJob", absl::Seconds(90));
  kv::WriteBatch damage;
  damage.Put(kv::Family::kHistory, history::EntryKey(job.slot, "job-uid", {3}), "\xff");
  Write(damage);
  RecordEnd();
  EXPECT_TRUE(Entries().empty());
  EXPECT_EQ(Damaged("history"), 1);
  EXPECT_EQ(job.record.open_kill(), 0);
}

TEST_F(RecordKillEndTest, TheNextKillTakesOverWhatIsNotOver) {
  Begin("RestartJob", absl::Seconds(90));
  job.record.set_open_kill(0);
  kv::WriteBatch first;
  job_history.OpenKill(job, 3, first);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(job.record.open_kill(), 3);
  kv::WriteBatch second;
  job_history.OpenKill(job, 4, second);
  Write(second);
  EXPECT_EQ(job.record.open_kill(), 4);
  ASSERT_EQ(Entries().size(), 1U);
  EXPECT_EQ(Entries()[0].outcome(), "3 pods go; taken over by the next kill");
}

}  // namespace
}  // namespace basalt::jobsvc::testing
