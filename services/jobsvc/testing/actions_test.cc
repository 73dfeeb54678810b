// Actions that meet: what one has begun, and what the next makes of it.
#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/testing/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

// The last restart keeps what has finished, but not what was to be restarted.
TEST(ActionsTest, ATargetThatIsNotGoneYetIsNotKeptByTheKillAfterIt) {
  JobRig rig;
  rig.Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), "PodFailed", "RestartPod");
  job.mutable_spec()->set_max_retry(2);
  rig.kube().PutJob(WithPolicy(std::move(job), "PodEvicted", "RestartJob"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  const std::string failed = rig.kube().pods().at("default/j-t0-0").uid();
  rig.Kill();
  rig.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig.kube().RemovePod("default/j-t1-0");
  rig.Start();
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 1);
  EXPECT_NE(rig.kube().pods().at("default/j-t0-0").uid(), failed);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().failed(), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
