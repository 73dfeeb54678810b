#include "services/jobsvc/core/decide.h"

#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

// What is observed and recorded is shared, also with those who read it meanwhile.
TEST(DecideTest, S21ADecisionLeavesWhatItFollowsFromAlone) {
  kube::v1::Job job;
  job.mutable_meta()->set_name("j");
  job.mutable_status()->set_phase(kube::v1::JOB_PHASE_RUNNING);
  job.mutable_status()->set_version(4);
  kube::v1::JobSpec spec;
  spec.set_max_retry(3);
  spec.add_tasks()->set_name("t");
  spec.mutable_tasks(0)->set_replicas(1);
  PodSet pods;
  pods.Reset("j", "job-uid");
  pods.Reshape({{"t", 1, 0}});
  kube::v1::Pod pod;
  pod.set_name("j-t-0");
  pod.set_uid("u");
  pod.set_owner_uid("job-uid");
  pod.set_task("t");
  pod.set_job_version(4);
  pod.set_phase(kube::v1::POD_PHASE_FAILED);
  pods.Apply(pod);
  PendingActions pending;
  auto* action = pending.Add();
  action->set_event("PodFailed");
  action->set_action("RestartJob");
  action->set_version(4);
  const ControlledState own;
  const DeadlineSet deadlines;
  const Words words;
  const std::map<std::string, std::string> none;
  const DecideInput input{.job = job,
                          .spec = spec,
                          .own = own,
                          .pods = pods,
                          .pending = pending,
                          .deadlines = deadlines,
                          .words = words,
                          .objects = none,
                          .markers = none,
                          .now_ms = 1000};
  const std::string before = job.SerializeAsString() + spec.SerializeAsString() + pending.Get(0).SerializeAsString();
  const Decision first = Decide(input);
  const Decision second = Decide(input);
  EXPECT_EQ(first.status.version(), 5);
  EXPECT_EQ(first.status.retry_count(), 1);
  EXPECT_EQ(first.status.SerializeAsString(), second.status.SerializeAsString());
  EXPECT_EQ(job.SerializeAsString() + spec.SerializeAsString() + pending.Get(0).SerializeAsString(), before);
  EXPECT_EQ(pods.counts().failed(), 1);
}

}  // namespace
}  // namespace basalt::jobsvc
