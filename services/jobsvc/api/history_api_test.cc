// What history tells, and how long it is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/status.h"
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
  EXPECT_TRUE(Delete("j").ok());
  Run(absl::Seconds(5));
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

TEST_F(JobApiTest, ALongHistoryLosesItsBeginning) {
  JobRig& rig = RigOf("j");
  rig.options.history_entries = 10;
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

TEST_F(JobApiTest, OfJobsThatAreGoneTheNewestHistoryIsKeptAsFarAsItsBoundAllows) {
  for (JobRig& rig : rigs_) {
    rig.options.history_bytes = 4096;
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
  // A lap measures, the next one knows what all slots have.
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
