// The events of pods and groups, and the policies that answer them.
#include "common/kube/names.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(ConformanceTest, PodsThatRunAreNotPendingAgainForANewProcess) {
  for (const bool lose_disk : {false, true}) {
    Fresh();
    BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodPending", "RestartJob", absl::Minutes(10)));
    StartAgain(lose_disk);
    rig().Run(absl::Minutes(1));
    EXPECT_TRUE(Entry().deadlines.empty());
    rig().Run(absl::Minutes(40));
    EXPECT_EQ(Phase(), kRunning);
    EXPECT_EQ(Status().version(), 0);
  }
}

TEST_F(ConformanceTest, PodsThatEndWhileNobodyLooksAreAnsweredAfterwards) {
  for (const bool lose_disk : {false, true}) {
    Fresh();
    BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
    rig().Kill();
    kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
    StartAgain(lose_disk);
    rig().Run(absl::Seconds(10));
    EXPECT_EQ(Status().version(), 1);
  }
  Fresh();
  BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodEvicted", "RestartJob"));
  rig().Kill();
  kube().RemovePod("default/j-t0-1");
  StartAgain(/*lose_disk=*/false);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().version(), 1);
}

TEST_F(ConformanceTest, TheFailureOfAnotherJobsPodIsNoEvent) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "AbortJob"));
  kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) { pod.set_owner_uid("another job"); });
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kRunning);
}

TEST_F(ConformanceTest, AGroupThatBecomesUnknownIsAnsweredInEveryRun) {
  BeginRunning(WithPolicy(WithPolicy(MakeJob("j", 1, 2), "Unknown", "RestartJob"), "PodFailed", "RestartJob"));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Status().version(), 1);
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Phase(), kRunning);
  kube().SetGroupPhase("default/" + Group().meta().name(), "Unknown");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().version(), 2);
}

TEST_F(ConformanceTest, PodsThatAKillLeavesAloneAreCounted) {
  kube().SchedulePods();
  BeginRunning(WithPolicy(MakeJob("j", 2, 2), "PodFailed", "RestartPod"));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  ASSERT_TRUE(rig().RunUntil([&] { return Phase() == kRestarting; }));
  EXPECT_EQ(Status().counts().running(), 3);
  EXPECT_EQ(Status().counts().terminating(), 1);
  EXPECT_EQ(Status().task_status_count_size(), 2);

  Fresh();
  BeginRunning(MakeJob("j", 1, 3));
  kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  Command("end", "TerminateJob");
  ASSERT_TRUE(rig().RunUntil([&] { return Phase() == kube::v1::JOB_PHASE_TERMINATED; }));
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().task_status_count_size(), 1);
}

TEST_F(ConformanceTest, APodThatIsSeenBeforeItsJobIsAnsweredWithIt) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
  rig().Kill();
  rig().LoseDisk();
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  kube::v1::Object job;
  *job.mutable_job() = kube().job("default/j");
  rig().uncertain = {job.job().meta().uid()};
  rig().Start();
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(Status().version(), 0) << "the pod alone says nothing";
  rig().Show(job);
  rig().Run(absl::Seconds(5));
  EXPECT_EQ(Status().version(), 1);
}

TEST_F(ConformanceTest, APolicyComesBeforeTheEndThatAPlainSyncWouldConclude) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().version(), 1);
  EXPECT_EQ(Phase(), kPending);
}

TEST_F(ConformanceTest, OnlyTheMakingOfPodsWaitsForTheScheduler) {
  BeginRunning(MakeJob("j", 1, 3));
  const std::string group = "default/" + Group().meta().name();
  kube().SetGroupPhase(group, "Pending");
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Status().counts().running(), 1);
  EXPECT_EQ(kube().pods().size(), 2u);
  kube().SetGroupPhase(group, "");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 2u);
  kube().SetGroupPhase(group, "Running");
  rig().Run(absl::Seconds(5));
  EXPECT_EQ(kube().pods().size(), 3u);
  kube().SetGroupPhase(group, "Pending");
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kCompleted);
}

TEST_F(ConformanceTest, AGroupThatSomebodyDeletesIsMadeAgain) {
  BeginRunning(MakeJob("j", 1, 2));
  const std::string uid = Group().meta().uid();
  Write("podgroups", Group().meta().name(),
        [&](gateway::v1::WriteRequest& request) { request.mutable_delete_()->set_uid(uid); });
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(kube().groups().size(), 1u);
  EXPECT_NE(Group().meta().uid(), uid);
}

TEST_F(ConformanceTest, PodsNameTheGroupThatThereIs) {
  kube().PutJob(MakeJob("j", 1, 2));
  podgroup::v1::EnsurePodGroupRequest of_an_older_release;
  of_an_older_release.set_namespace_("default");
  of_an_older_release.set_name("j");
  of_an_older_release.set_job_name("j");
  of_an_older_release.set_job_uid(kube().job("default/j").meta().uid());
  ASSERT_TRUE(kube().EnsurePodGroup(of_an_older_release).ok());
  rig().Start();
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().groups().size(), 1u);
  ASSERT_EQ(kube().pods().size(), 2u);
  for (const auto& [name, pod] : kube().pods()) EXPECT_EQ(pod.group_name(), "j") << name;
}

TEST_F(ConformanceTest, AGroupOfAKubernetesJobOfThatNameIsNobodys) {
  rig().Start();
  kube().PutJob(WithPolicy(MakeJob("j", 1, 2), "Unknown", "AbortJob"));
  // The group is routed to us by group, kind and name of its owner. The version is not served: otherwise the garbage
  // collector would find that no object has that UID, and delete the group.
  const auto made = Write("podgroups", "j", [](gateway::v1::WriteRequest& request) {
    request.mutable_create()->set_body(
        R"({"metadata":{"ownerReferences":[{"apiVersion":"batch.volcano.sh/v9","kind":"Job","name":"j",)"
        R"("uid":"somebody","controller":true}]},"spec":{"minMember":1}})");
  });
  ASSERT_FALSE(made.has_error()) << made.error().message();
  kube().SetGroupPhase("default/j", "Unknown");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().groups().size(), 2u);
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(Phase(), kPending);
  EXPECT_EQ(Status().version(), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
