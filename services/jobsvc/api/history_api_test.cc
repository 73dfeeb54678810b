// The entries of history, and how long they are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/kube/timestamp.h"
#include "services/jobsvc/api/job_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(JobApiTest, HistoryOutlivesTheJobAndIsToldByUid) {
  Put("j");
  Run();
  RigOf("j").kube().SetAllPods(kube::v1::POD_PHASE_SUCCEEDED);
  Run(absl::Seconds(30));
  const auto history = History("j");
  ASSERT_TRUE(history.ok()) << history.status();
  const std::string first = history->uid();
  ASSERT_GE(history->entries_size(), 2);
  for (int i = 0; i < history->entries_size(); ++i) {
    EXPECT_EQ(history->entries(i).sequence(), i + 1);
    EXPECT_TRUE(history->entries(i).committed());
  }
  EXPECT_EQ(history->entries().rbegin()->to_phase(), kube::v1::JOB_PHASE_COMPLETED);
  EXPECT_FALSE(history->has_gone_time()) << "it is there";
  EXPECT_TRUE(Delete("j").ok());
  Run(absl::Seconds(5));
  EXPECT_GT(kube::ToMs(History("j")->gone_time()), kube::ToMs(history->entries().rbegin()->time()) + 20'000);
  EXPECT_EQ(Get("j").status().code(), absl::StatusCode::kNotFound);
  Put("j");
  Run(absl::Seconds(5));
  EXPECT_NE(History("j")->uid(), first);
  EXPECT_EQ(History("j", first)->entries_size(), history->entries_size());
  EXPECT_EQ(History("j", "no-such-uid").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ToStd(History("other").status().message()), "there is no history of a job default/other");
}

TEST_F(JobApiTest, HistoryEndsSomeTimeAfterItsJobAndNotBefore) {
  Put("gone");
  Put("stays");
  Run(absl::Seconds(5));
  Run(absl::Hours(24 * 9));
  EXPECT_TRUE(Delete("gone").ok());
  Run(absl::Hours(24 * 6));
  EXPECT_TRUE(History("gone").ok());
  Run(absl::Hours(26));
  EXPECT_EQ(History("gone").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(History("stays").ok()) << "it has decided nothing for a week, and is there";
}

// Returns the newest entry with that action.
job::v1::HistoryEntry EntryOf(const absl::StatusOr<job::v1::JobHistory>& history, std::string_view action) {
  job::v1::HistoryEntry found;
  for (const job::v1::HistoryEntry& entry : history->entries()) {
    if (entry.action() == action) found = entry;
  }
  return found;
}

TEST_F(JobApiTest, AKillIsToldWithWhatWasSeenOfThePodAndHowItEnded) {
  JobRig& rig = RigOf("j");
  rig.kube().SchedulePods();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
  Run();
  rig.kube().SetAllPods(kPodRunning);
  Run();
  rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 137);
  Run(absl::Seconds(5));
  job::v1::HistoryEntry entry = EntryOf(History("j"), "RestartJob");
  EXPECT_EQ(entry.subject(), "pod j-t0-1");
  EXPECT_EQ(entry.pod_phase(), kPodFailed);
  EXPECT_EQ(entry.exit_code(), 137);
  EXPECT_EQ(entry.outcome(), "kill of all pods; version 1");
  Restart();
  Run(absl::Seconds(20));
  EXPECT_EQ(EntryOf(History("j"), "RestartJob").outcome(), entry.outcome()) << "it has not ended";
  const int writes = rig.kube().WritesButEvents();
  rig.kube().FinishDeletions();
  Run(absl::Milliseconds(50));
  const auto history = History("j");
  const int64_t seconds = (absl::ToUnixMillis(rig.time().Now()) - kube::ToMs(entry.time())) / 1000 - 1;
  EXPECT_EQ(EntryOf(history, "RestartJob").outcome(),
            entry.outcome() + "; gone after " + std::to_string(seconds) + "s");
  Run(absl::Minutes(5));
  EXPECT_EQ(EntryOf(History("j"), "RestartJob").outcome(), EntryOf(history, "RestartJob").outcome()) << "once";
  EXPECT_GT(rig.kube().WritesButEvents(), writes);
}

TEST_F(JobApiTest, HistoryRecordsWhenThePodsLeftByAnEndAreGone) {
  JobRig& rig = RigOf("j");
  rig.kube().SchedulePods();
  kube::v1::Job job = MakeJob("j", 1, 2);
  job.mutable_spec()->set_min_success(1);
  rig.kube().PutJob(job);
  Run();
  rig.kube().SetAllPods(kPodRunning);
  Run();
  rig.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  Run(absl::Seconds(10));
  EXPECT_EQ(History("j")->entries().rbegin()->outcome(), "Running -> Completed");
  rig.kube().FinishDeletions();
  Run();
  EXPECT_THAT(History("j")->entries().rbegin()->outcome(),
              ::testing::StartsWith("Running -> Completed; what was left is gone after 1"));
  Put("k");
  Run();
  RigOf("k").kube().SetAllPods(kPodSucceeded);
  Run(absl::Seconds(30));
  EXPECT_EQ(History("k")->entries().rbegin()->outcome(), "Running -> Completed") << "nothing was left";
}

TEST_F(JobApiTest, AnEditThatIsRefusedAndItsMendingAreTold) {
  JobRig& rig = RigOf("j");
  Put("j");
  Run();
  rig.kube().SetAllPods(kPodRunning);
  Run(absl::Seconds(20));
  const int before = History("j")->entries_size();
  const int writes = rig.kube().WritesButEvents();
  const auto edit = [&](int min_available) {
    rig.kube().EditJob("default/j", [&](kube::v1::Job& job) {
      job.mutable_spec()->set_min_available(min_available);
      job.mutable_meta()->set_generation(job.meta().generation() + 1);
    });
    Run(absl::Seconds(20));
  };
  edit(7);
  auto history = History("j");
  ASSERT_EQ(history->entries_size(), before + 2) << "the edit, and what follows from it";
  EXPECT_EQ(history->entries(before).outcome(), "minAvailable 2 -> 7");
  EXPECT_EQ(history->entries(before).generation(), 2);
  EXPECT_EQ(history->entries().rbegin()->rule(), "the spec is refused");
  EXPECT_THAT(history->entries().rbegin()->outcome(), ::testing::HasSubstr("spec.minAvailable"));
  edit(2);
  history = History("j");
  ASSERT_EQ(history->entries_size(), before + 4);
  EXPECT_EQ(history->entries(before + 2).outcome(), "minAvailable 7 -> 2");
  EXPECT_EQ(history->entries().rbegin()->rule(), "the spec is accepted again");
  EXPECT_EQ(rig.kube().WritesButEvents(), writes + 2) << "the writes of the words themselves";
}

TEST_F(JobApiTest, HistoryHasTheResultOfACommandForPrograms) {
  Put("j");
  Run();
  RigOf("j").kube().SetAllPods(kPodRunning);
  Run(absl::Seconds(20));
  for (const char* action : {"ResumeJob", "Nonsense", "TerminateJob"}) {
    RigOf("j").kube().PutCommand("default", "by-hand", action, "j");
    Run(absl::Seconds(5));
  }
  const auto history = History("j");
  EXPECT_EQ(EntryOf(history, "ResumeJob").result(), job::v1::HistoryEntry::RESULT_NOTHING_TO_DO);
  EXPECT_EQ(EntryOf(history, "Nonsense").result(), job::v1::HistoryEntry::RESULT_REFUSED);
  EXPECT_EQ(EntryOf(history, "TerminateJob").result(), job::v1::HistoryEntry::RESULT_CARRIED_OUT);
  EXPECT_EQ(EntryOf(history, "SyncJob").result(), job::v1::HistoryEntry::RESULT_UNSPECIFIED);
  EXPECT_EQ(EntryOf(history, "SyncJob").generation(), 0);
}

TEST_F(JobApiTest, ALongHistoryLosesItsBeginning) {
  JobRig& rig = RigOf("j");
  rig.options.history_limits.entries = 10;
  rig.Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 1), "PodFailed", "RestartPod");
  job.mutable_spec()->set_max_retry(1000);
  rig.kube().PutJob(job);
  for (int i = 0; i < 12; ++i) {
    rig.Run();
    rig.kube().SetAllPods(kPodRunning);
    rig.Run();
    rig.kube().SetAllPods(kPodFailed);
  }
  rig.Run(absl::Seconds(5));
  const auto history = History("j");
  ASSERT_TRUE(history.ok());
  EXPECT_LE(history->entries_size(), 10);
  EXPECT_GE(history->entries_size(), 8);
  EXPECT_EQ(history->entries().rbegin()->sequence() - history->entries(0).sequence() + 1, history->entries_size())
      << "without a gap";
}

TEST_F(JobApiTest, HistoryOfGoneJobsIsKeptUpToItsBound) {
  for (JobRig& rig : rigs_) {
    rig.options.history_limits.bytes = 4096;
    rig.Start();
  }
  std::vector<std::string> gone;
  for (int i = 0; i < 60; ++i) {
    gone.push_back("gone-" + std::to_string(i));
    Put(gone.back());
    Run(absl::Seconds(2));
    EXPECT_TRUE(Delete(gone.back()).ok());
    Run(absl::Seconds(2));
  }
  Put("stays");
  Run(absl::Hours(1));
  const auto known = [&] {
    std::vector<bool> found;
    for (const std::string& name : gone) found.push_back(History(name).ok());
    return found;
  };
  // One round over the slots measures. The next one knows the sizes of all slots.
  Run(absl::Hours(3));
  const std::vector<bool> kept = known();
  const auto count = std::count(kept.begin(), kept.end(), true);
  EXPECT_GT(count, 0);
  EXPECT_LT(count, 60);
  EXPECT_TRUE(History("stays").ok());
  Run(absl::Hours(5));
  EXPECT_EQ(known(), kept) << "no more goes than has to";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
