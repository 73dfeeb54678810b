// Actions that meet: what becomes of a begun action when the next one comes.
#include <gtest/gtest.h>

#include <string>

#include "common/kube/names.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class ActionsTest : public JobTest {};

// The last restart keeps finished pods, but not pods that were to be restarted.
TEST_F(ActionsTest, ATargetThatIsNotGoneYetIsNotKeptByTheKillAfterIt) {
  rig().Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), "PodFailed", "RestartPod");
  job.mutable_spec()->set_max_retry(2);
  kube().PutJob(WithPolicy(std::move(job), "PodEvicted", "RestartJob"));
  rig().Run();
  kube().SetAllPods(kPodRunning);
  rig().Run();
  const std::string failed = kube().pods().at("default/j-t0-0").uid();
  rig().Kill();
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  kube().RemovePod("default/j-t1-0");
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().version(), 1);
  EXPECT_NE(kube().pods().at("default/j-t0-0").uid(), failed);
  EXPECT_EQ(Status().counts().failed(), 0);
}

// A restart repeats finished work, also if its pod succeeded and somebody has removed it since (W19 keeps it
// otherwise).
TEST_F(ActionsTest, ARestartOfATaskOrPartitionDoesAgainWhatWasDoneAndRemoved) {
  struct Row {
    const char* action;
    const char* target;
    size_t pods;  // Number of pods after the restart.
    int32_t succeeded;
  };
  const Row rows[] = {
      {"RestartTask", R"({"task":"t0"})", 6, 0},
      {"RestartPartition", R"({"task":"t0","partition":1})", 4, 2},
      {"RestartPod", R"({"pod":"j-t0-3"})", 3, 3},
      {"RestartTask", R"({"task":"t1"})", 2, 4},
  };
  for (const Row& row : rows) {
    for (const bool lose_disk : {false, true}) {
      SCOPED_TRACE(std::string(row.action) + row.target + (lose_disk ? ", empty disk" : ""));
      Fresh();
      rig().Start();
      kube::v1::Job job = MakeJob("j", 2, 4);
      job.mutable_spec()->mutable_tasks(1)->set_replicas(2);
      job.mutable_spec()->set_min_available(1);
      auto& partitions = *job.mutable_spec()->mutable_tasks(0)->mutable_partition_policy();
      partitions.set_total_partitions(2);
      partitions.set_partition_size(2);
      kube().PutJob(std::move(job));
      rig().Run();
      kube().SetAllPods(kPodRunning);
      rig().Run(absl::Seconds(10));
      for (const char* pod : {"default/j-t0-0", "default/j-t0-1", "default/j-t0-2", "default/j-t0-3"}) {
        kube().SetPodPhase(pod, kPodSucceeded);
        rig().Run();
        kube().RemovePod(pod);
      }
      rig().Run(absl::Seconds(10));
      ASSERT_EQ(kube().pods().size(), 2U);
      if (lose_disk) {
        StartAgain(/*lose_disk=*/true);
        rig().Run();
      }
      kube().PutCommand("default", "again", row.action, "j", [&](kube::v1::Command& command) {
        auto& annotation = *command.mutable_meta()->add_annotations();
        annotation.set_key(std::string(kube::kCommandTargetKey));
        annotation.set_value(row.target);
      });
      rig().Run(absl::Seconds(10));
      EXPECT_EQ(kube().pods().size(), row.pods);
      EXPECT_EQ(Status().counts().succeeded(), row.succeeded);
      EXPECT_EQ(Status().retry_count(), 1);
      StartAgain();
      kube().SetAllPods(kPodSucceeded);
      rig().Run(absl::Seconds(20));
      EXPECT_EQ(Phase(), kCompleted);
      EXPECT_EQ(Status().counts().succeeded(), 6);
    }
  }
}

// The targets of a targeted kill are not kept, even if they are the last pods of the job (S40).
TEST_F(ActionsTest, TheRestartThatUsesUpMaxRetryTakesItsTargetsAllTheSame) {
  rig().Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 2), "PodFailed", "RestartTask");
  job.mutable_spec()->set_max_retry(1);
  kube().PutJob(std::move(job));
  rig().Run();
  kube().SetAllPods(kPodRunning);
  rig().Run();
  for (const std::string pod : {"default/j-t0-0", "default/j-t1-0"}) kube().SetPodPhase(pod, kPodSucceeded);
  rig().Run(absl::Seconds(20));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 1);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kFailed);
  ASSERT_EQ(kube().pods().size(), 1U);
  EXPECT_EQ(kube().pods().begin()->first, "default/j-t1-0") << "of the other task, and finished";
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().counts().failed(), 0);
}

// Both actions are due at once, and the first one takes the pod of the second one.
TEST_F(ActionsTest, APendingPodThatIsBeingRestartedIsNotWaitedForAnyLonger) {
  rig().Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartTask", absl::Seconds(10));
  job.mutable_spec()->set_min_available(1);
  kube().PutJob(WithPolicy(std::move(job), "PodPending", "RestartJob", absl::Minutes(1)));
  rig().Run();
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run();
  rig().Kill();
  rig().Run(absl::Minutes(2));
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().retry_count(), 1);
  EXPECT_EQ(Status().version(), 0) << "nothing but the task was restarted";
}

// An eviction removes a pod or a task, but no partition if there are none (W32, 9.4).
TEST_F(ActionsTest, AnEvictionFromATaskWithoutPartitionsRestartsNone) {
  rig().Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 2), "PodEvicted", "RestartPartition");
  job.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_total_partitions(2);
  job.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_partition_size(1);
  kube().PutJob(std::move(job));
  rig().Run();
  kube().SetAllPods(kPodRunning);
  rig().Run();
  kube().RemovePod("default/j-t1-0");
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().retry_count(), 0);
  EXPECT_EQ(kube().pods().size(), 4U);
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().retry_count(), 1) << "a partition of one pod";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
