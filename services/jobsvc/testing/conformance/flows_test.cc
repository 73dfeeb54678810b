// Flows in which the two texts behind the specification differ (job spec 14).
#include <algorithm>
#include <string>

#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(ConformanceTest, AFullKillIsWrittenFirstAndTakesTheGroupATargetedOneKeepsIt) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartPod"));
  const std::string group = Group().meta().uid();
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().retry_count(), 1);
  EXPECT_EQ(Group().meta().uid(), group);
  kube().ClearLog();
  Command("again", "RestartJob");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().version(), 1);
  ASSERT_EQ(kube().groups().size(), 1u);
  EXPECT_NE(Group().meta().uid(), group);
  const auto first = [&](std::string_view verb, std::string_view plural) {
    const auto it = std::find_if(kube().log().begin(), kube().log().end(), [&](const JobKube::Logged& write) {
      return write.verb == verb && write.plural == plural;
    });
    EXPECT_NE(it, kube().log().end()) << verb << " " << plural;
    return it;
  };
  EXPECT_LT(first("patch", "jobs/status"), first("deletecollection", "pods"));
  EXPECT_LT(first("patch", "jobs/status"), first("delete", "podgroups"));
  EXPECT_LT(first("delete", "podgroups"), first("create", "podgroups"));
}

TEST_F(ConformanceTest, NothingOfAJobThatIsBeingDeletedIsTouched) {
  BeginRunning(WithPlugins(MakeJob("j", 1, 3), {"svc"}));
  kube().HoldDeletedJob("default/j");
  kube().RemovePod("default/j-t0-1");
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().WritesButEvents(), 0);
  kube().DeleteJob("default/j");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

TEST_F(ConformanceTest, JobsOfEverySchedulerAreCarriedOut) {
  auto job = MakeJob("j", 1, 2);
  job.mutable_spec()->set_scheduler_name("another");
  BeginRunning(job);
  EXPECT_EQ(kube().pod_body("default/j-t0-0").at("spec").at("schedulerName"), "another");
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kCompleted);
  Fresh();
  rig().options.defaults.scheduler_name = "ours";
  job.mutable_spec()->clear_scheduler_name();
  BeginRunning(job);
  EXPECT_EQ(kube().pod_body("default/j-t0-0").at("spec").at("schedulerName"), "ours");
}

// Job spec, appendix B: the policy PodFailed -> RestartJob, and how often it helps.
TEST_F(ConformanceTest, TheRestartBudget) {
  for (int max_retry = 1; max_retry <= 3; ++max_retry) {
    Fresh();
    auto job = WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob");
    job.mutable_spec()->set_max_retry(max_retry);
    Begin(job);
    for (int failure = 1; failure <= max_retry; ++failure) {
      ASSERT_EQ(Phase(), kPending);
      kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
      rig().Run(absl::Seconds(20));
      EXPECT_EQ(Status().retry_count(), failure);
      EXPECT_EQ(Status().version(), failure);
      EXPECT_EQ(Phase(), failure < max_retry ? kPending : kFailed) << failure << " of " << max_retry;
      EXPECT_EQ(Status().counts().failed(), failure < max_retry ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
