// The deletion of jobs that have finished (job spec 12.2).
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

class TtlTest : public ConformanceTest {
 protected:
  static constexpr int kTtl = 60;
  bool IsThere() { return kube().jobs().contains("default/j"); }
  // Begins a running job and records the requested deletions of jobs.
  void Start(int ttl = kTtl) {
    Fresh();
    auto job = MakeJob("j", 1, 1);
    job.mutable_spec()->set_ttl_seconds_after_finished(ttl);
    BeginRunning(job);
    deletions_.clear();
    rig().fate = [this](const gateway::v1::WriteRequest& request) {
      if (request.has_delete_() && request.resource().plural() == "jobs") deletions_.push_back(request.delete_());
      return Fate::kNormal;
    };
  }
  void End(kube::v1::PodPhase phase) {
    kube().SetPodPhase("default/j-t0-0", phase, phase == kPodFailed ? 1 : 0);
    rig().Run(absl::Seconds(10));
  }

  std::vector<gateway::v1::Delete> deletions_;
};

TEST_F(TtlTest, FinishedJobsAreDeletedAndAbortedOnesAreNot) {
  Start();
  End(kPodSucceeded);
  ASSERT_EQ(Phase(), kCompleted);
  rig().Run(absl::Minutes(2));
  EXPECT_FALSE(IsThere());
  Start();
  End(kPodFailed);
  ASSERT_EQ(Phase(), kFailed);
  rig().Run(absl::Minutes(2));
  EXPECT_FALSE(IsThere());
  Start();
  Command("end", "TerminateJob");
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Phase(), kube::v1::JOB_PHASE_TERMINATED);
  rig().Run(absl::Minutes(2));
  EXPECT_FALSE(IsThere());
  Start();
  Command("end", "AbortJob");
  rig().Run(absl::Hours(2));
  EXPECT_EQ(Phase(), kAborted);
}

TEST_F(TtlTest, ItIsOverSoManySecondsAfterTheEnd) {
  Start();
  End(kPodSucceeded);
  // Kubernetes stores whole seconds: the end was within the second that begins then.
  const absl::Time due = absl::FromUnixMillis(Status().last_transition_ms()) + absl::Seconds(1 + kTtl);
  rig().Run(due - kube().Now() - absl::Milliseconds(50));
  EXPECT_TRUE(IsThere());
  rig().Run(absl::Milliseconds(100));
  EXPECT_FALSE(IsThere());
  Start(/*ttl=*/0);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(1));
  EXPECT_FALSE(IsThere()) << "at once";
}

TEST_F(TtlTest, ItsUidIsNamedAndWhatItOwnsGoesFirst) {
  Start();
  const std::string uid = kube().job("default/j").meta().uid();
  End(kPodSucceeded);
  rig().Run(absl::Minutes(2));
  ASSERT_EQ(deletions_.size(), 1u);
  EXPECT_EQ(deletions_[0].propagation_policy(), "Foreground");
  EXPECT_EQ(deletions_[0].uid(), uid);
  EXPECT_NE(deletions_[0].resource_version(), 0) << "what is deleted is what was looked at";
}

TEST_F(TtlTest, AJobThatIsBeingDeletedIsNotDeletedAgain) {
  Start();
  End(kPodSucceeded);
  kube().HoldDeletedJob("default/j");
  rig().Run(absl::Minutes(10));
  EXPECT_TRUE(deletions_.empty());
}

TEST_F(TtlTest, TheTimeOfTheEndDoesNotMove) {
  Start();
  End(kPodSucceeded);
  const int64_t end = Status().last_transition_ms();
  rig().Run(absl::Seconds(30));
  kube().RemovePod("default/j-t0-0");
  kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->set_min_available(0); });
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().last_transition_ms(), end);
  StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Seconds(30));
  EXPECT_FALSE(IsThere());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
