// The consequences of a change of each kind of object that jobsvc watches (job spec 3.3).
#include <string>

#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

class HandlerTest : public ConformanceTest {};

TEST_F(HandlerTest, AJobThatIsAddedIsLookedAt) {
  rig().Start();
  kube().PutJob(MakeJob("j", 1, 2));
  Wait();
  EXPECT_EQ(Phase(), kPending);
  EXPECT_EQ(kube().pods().size(), 2u);
  rig().Kill();
  kube().PutJob(MakeJob("k", 1, 2));
  rig().Start();
  Wait();
  EXPECT_EQ(rig().PhaseOf("default/k"), kPending) << "what was there before";
}

TEST_F(HandlerTest, AJobWhoseSpecChangesIsLookedAtAndItsMetadataMatterToNobody) {
  BeginRunning(MakeJob("j", 1, 2));
  kube().EditJob("default/j", [](kube::v1::Job& job) {
    auto* label = job.mutable_meta()->add_labels();
    label->set_key("a");
    label->set_value("b");
  });
  Wait();
  EXPECT_EQ(kube().WritesButEvents(), 0);
  kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(3); });
  Wait();
  EXPECT_EQ(kube().pods().size(), 3u);
}

TEST_F(HandlerTest, AJobThatIsDeletedLeavesNothingBehindAndCostsNothing) {
  BeginRunning(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
  kube().DeleteJob("default/j");
  Wait();
  EXPECT_EQ(kube().WritesButEvents(), 0);
  EXPECT_EQ(rig().controller().Find("default/j"), nullptr);
}

TEST_F(HandlerTest, APodThatChangesCarriesItsTaskPartitionAndExitCode) {
  kube::v1::Job job = MakeJob("j", 2, 4);
  auto* policy = job.mutable_spec()->add_policies();
  policy->set_exit_code(3);
  policy->set_action("RestartPartition");
  for (auto& task : *job.mutable_spec()->mutable_tasks()) {
    task.mutable_partition_policy()->set_total_partitions(2);
    task.mutable_partition_policy()->set_partition_size(2);
  }
  BeginRunning(job);
  kube().SetPodPhase("default/j-t1-0", kPodFailed, 4);
  Wait();
  EXPECT_EQ(Status().retry_count(), 0) << "another exit code";
  kube().SetPodPhase("default/j-t1-3", kPodFailed, 3);
  Wait();
  EXPECT_EQ(Status().retry_count(), 1);
  EXPECT_EQ(kube().Count("create", "pods"), 2);
  EXPECT_EQ(kube().Count("create", "pods", "j-t1-2"), 1);
  EXPECT_EQ(kube().Count("create", "pods", "j-t1-3"), 1);
}

TEST_F(HandlerTest, AClaimThatAppearsWakesTheJobThatWaitsForIt) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_volumes()->set_mount_path("/data");
  job.mutable_spec()->mutable_volumes(0)->set_volume_claim_name("data");
  Begin(job);
  Wait(absl::Hours(1));
  EXPECT_TRUE(kube().pods().empty());
  const int gets = kube().gets();
  Write("persistentvolumeclaims", "data", [](gateway::v1::WriteRequest& request) {
    request.mutable_create()->set_body(R"({"metadata":{"name":"data"}})");
  });
  Wait(absl::Milliseconds(20));
  EXPECT_EQ(kube().pods().size(), 2u) << "at once";
  EXPECT_EQ(kube().gets(), gets) << "it was told, and did not look";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
