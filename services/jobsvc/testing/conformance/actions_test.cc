// Commands, and actions that meet a problem or a phase of their own.
#include <string>

#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(ConformanceTest, ACommandIsCarriedOutOnceWhereverTheProcessIsKilled) {
  basalt::testing::KillAtEachPoint(10, [this](basalt::testing::KillPoint& kill) {
    Fresh();
    BeginRunning(MakeJob("j", 1, 2));
    kill.Arm(rig());
    Command("stop", "AbortJob");
    for (int i = 0; i < 20; ++i) {
      rig().Run(absl::Seconds(1));
      kill.Restart(rig());
    }
    EXPECT_EQ(Phase(), kAborted);
    EXPECT_EQ(Status().version(), 1);
    EXPECT_TRUE(kube().commands().empty());
  });
}

TEST_F(ConformanceTest, ACommandIsCarriedOutWhateverPoliciesSay) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 2), "*", "TerminateJob"));
  Command("stop", "AbortJob");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kAborted);
}

TEST_F(ConformanceTest, ARestartCanBeAbortedTerminatedAndCompleted) {
  const std::pair<const char*, kube::v1::JobPhase> rows[] = {
      {"AbortJob", kAborted}, {"TerminateJob", kube::v1::JOB_PHASE_TERMINATED}, {"CompleteJob", kCompleted}};
  for (const auto& [action, end] : rows) {
    Fresh();
    kube().SchedulePods();
    BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
    kube().HoldPod("default/j-t0-1");
    kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
    rig().Run(absl::Seconds(10));
    ASSERT_EQ(Phase(), kRestarting);
    Command("end", action);
    rig().Run(absl::Seconds(10));
    kube().FinishDeletions();
    rig().Run(absl::Seconds(30));
    EXPECT_EQ(Phase(), end) << action;
    EXPECT_EQ(kube().Count("create", "pods"), 0) << action;
    EXPECT_TRUE(kube().groups().empty()) << action;
  }
}

TEST_F(ConformanceTest, WaitingIsNoErrorHoweverLongItTakesAndEndsWithItsCause) {
  auto job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_volumes()->set_mount_path("/data");
  job.mutable_spec()->mutable_volumes(0)->set_volume_claim_name("data");
  rig().Start();
  kube().PutJob(job);
  rig().Run(absl::Hours(3));
  EXPECT_EQ(Phase(), kPending);
  EXPECT_EQ(Status().version(), 0);
  EXPECT_EQ(Status().reason(), "PVCError");
  EXPECT_TRUE(kube().pods().empty());
  Write("persistentvolumeclaims", "data", [](gateway::v1::WriteRequest& request) {
    request.mutable_create()->set_body(R"({"metadata":{"name":"data"}})");
  });
  bool refuse = true;
  int refused = 0;
  kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!refuse || request.resource().plural() != "pods") return false;
    ++refused;
    error.set_code(403);
    error.set_reason("Forbidden");
    error.set_message("exceeded quota");
    return true;
  });
  rig().Run(absl::Milliseconds(20));
  EXPECT_GT(refused, 0) << "the claim wakes it";
  rig().Run(absl::Hours(3));
  EXPECT_EQ(Phase(), kPending);
  EXPECT_EQ(Status().version(), 0);
  EXPECT_EQ(Status().reason(), "FailedCreate");
  refuse = false;
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 2u);
}

TEST_F(ConformanceTest, AnEndIsCountedOnceItIsWritten) {
  BeginRunning(MakeJob("j", 1, 2));
  int refused = 0;
  rig().fate = [&](const gateway::v1::WriteRequest& request) {
    return request.subresource() == "status" && refused < 3 && ++refused > 0 ? Fate::kNotSent : Fate::kNormal;
  };
  const std::string series = "volcano_job_completed_phase_count{queue_name=\"default\"}";
  kube().SetAllPods(kPodSucceeded);
  ASSERT_TRUE(rig().RunUntil([&] { return refused == 3; }));
  EXPECT_EQ(rig().prometheus->Text().find(series), std::string::npos);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_NE(rig().prometheus->Text().find(series + " 1\n"), std::string::npos);
}

TEST_F(ConformanceTest, AKillThatIsNotWrittenAtOnceCountsOnce) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
  int refused = 0;
  rig().fate = [&](const gateway::v1::WriteRequest& request) {
    return request.subresource() == "status" && refused++ < 3 ? Fate::kNotSent : Fate::kNormal;
  };
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Minutes(1));
  EXPECT_GT(refused, 3);
  EXPECT_EQ(Status().version(), 1);
  EXPECT_EQ(Status().retry_count(), 1);
}

TEST_F(ConformanceTest, AJobThatCannotMakeAllItsPodsIsTerminatedAsAWhole) {
  rig().Start();
  kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_create() || request.name() != "j-t0-3") return false;
    error.set_code(403);
    error.set_reason("Forbidden");
    error.set_message("exceeded quota");
    return true;
  });
  kube().PutJob(MakeJob("j", 1, 4));
  rig().Run(absl::Minutes(10));
  ASSERT_EQ(kube().pods().size(), 3u);
  Command("end", "TerminateJob");
  rig().Run(absl::Seconds(2));
  EXPECT_TRUE(kube().pods().empty());
  EXPECT_EQ(Phase(), kube::v1::JOB_PHASE_TERMINATED);
}

TEST_F(ConformanceTest, AnActionWithoutATargetDisturbsNothing) {
  BeginRunning(WithPolicy(WithPlugins(MakeJob("j", 1, 2), {"svc"}), "Unknown", "RestartPod"));
  const auto objects = kube().others().size();
  for (const char* action : {"RestartTask", "RestartPod", "RestartPartition"}) {
    Command("again", action);
    rig().Run(absl::Seconds(10));
    EXPECT_TRUE(kube().commands().empty()) << action;
  }
  kube().SetGroupPhase("default/" + Group().meta().name(), "Unknown");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_EQ(Status().retry_count(), 0);
  EXPECT_EQ(Status().counts().running(), 2);
  EXPECT_EQ(kube().Count("delete"), 3) << "the commands";
  EXPECT_GE(kube().others().size(), objects);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
