// Jobs that another controller has carried so far: its writes stand, and no record of ours contains them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

void PatchStatus(JobRig& rig, std::string_view status) {
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_plural("jobs");
  request.set_subresource("status");
  request.set_namespace_("default");
  request.set_name("j");
  request.mutable_patch()->set_body(fmt::format(R"({{"status":{}}})", status));
  ASSERT_EQ(rig.kube().Write(request).error().code(), 0);
}

// Runs a job until its pods run, ends the process, loses its disk and removes our part of the status.
void LeaveRunning(JobRig& rig, kube::v1::Job job) {
  rig.StartRunning(std::move(job));
  ASSERT_EQ(rig.PhaseOf("default/j"), kRunning);
  rig.Kill();
  rig.LoseDisk();
  PatchStatus(rig, R"({"controlledResources":{"basalt":null}})");
}

void TakeOver(JobRig& rig, absl::Duration time = absl::Minutes(1)) {
  rig.kube().ClearLog();
  rig.Start();
  rig.Run(time);
}

// Writes the status that upstream's last kill leaves: retained pods are not counted either, and the version has grown.
void FinishAsUpstreamDoes(JobRig& rig, std::string_view phase) {
  rig.kube().SetAllPods(kPodSucceeded);
  PatchStatus(rig, fmt::format(R"({{"state":{{"phase":"{}"}},"version":3,"runningDuration":"12.5s","running":null,
      "succeeded":null,"taskStatusCount":null}})",
                               phase));
}

class TakeOverTest : public JobTest {};

TEST_F(TakeOverTest, FinishedAndAbortedJobsOfAnotherControllerAreNotWritten) {
  for (const std::string_view phase : {"Completed", "Failed", "Terminated", "Aborted"}) {
    Fresh();
    LeaveRunning(rig(), MakeJob("j", 1, 2));
    FinishAsUpstreamDoes(rig(), phase);
    gateway::v1::WriteRequest group;
    group.mutable_resource()->set_plural("podgroups");
    group.set_namespace_("default");
    group.set_name(Group().meta().name());
    group.mutable_delete_()->set_uid(Group().meta().uid());
    kube().Write(group);
    TakeOver(rig());
    EXPECT_EQ(kube().WritesButEvents(), 0) << phase;
    EXPECT_EQ(kube().pods().size(), 2u) << phase;
  }
}

TEST_F(TakeOverTest, AnEndThatAnotherControllerHasWrittenIsNotWritten) {
  LeaveRunning(rig(), MakeJob("j", 1, 2));
  rig().Start();
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Minutes(1));
  ASSERT_EQ(Phase(), kCompleted);
  rig().Kill();
  rig().LoseDisk();
  FinishAsUpstreamDoes(rig(), "Completed");
  TakeOver(rig());
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

// Upstream does not check the action of an exit code: such a job runs, and the policy does nothing.
TEST_F(TakeOverTest, AJobThatOnlyOurOwnRulesRefuseGoesOn) {
  LeaveRunning(rig(), MakeJob("j", 1, 2));
  kube().EditJob("default/j", [](kube::v1::Job& job) {
    auto* policy = job.mutable_spec()->add_policies();
    policy->set_exit_code(3);
    policy->set_action("NoSuchAction");
  });
  TakeOver(rig());
  EXPECT_EQ(Status().reason(), "");
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kCompleted);
}

// Returns a job with a plugin that nobody here knows: its pods were made with the plugin and need nothing more of it.
kube::v1::Job JobWithAnotherPlugin() {
  kube::v1::Job job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_plugins()->set_name("torch");
  return job;
}

void GiveAnotherPlugin(JobRig& rig) {
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) { *job.mutable_spec() = JobWithAnotherPlugin().spec(); });
}

TEST_F(TakeOverTest, ARefusedJobThatHasRunEndsAsItsPodsEnd) {
  struct Row {
    kube::v1::PodPhase second;
    kube::v1::JobPhase end;
  };
  for (const Row& row : {Row{kPodSucceeded, kCompleted}, Row{kPodFailed, kFailed}}) {
    Fresh();
    LeaveRunning(rig(), MakeJob("j", 1, 2));
    GiveAnotherPlugin(rig());
    TakeOver(rig());
    ASSERT_EQ(Phase(), kRunning);
    ASSERT_EQ(Status().reason(), "InvalidJob");
    kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
    kube().SetPodPhase("default/j-t0-1", row.second, 1);
    rig().Run(absl::Seconds(30));
    EXPECT_EQ(Phase(), row.end);
    EXPECT_EQ(Status().reason(), "InvalidJob");
    EXPECT_NE(Status().message().find("torch"), std::string::npos);
    EXPECT_TRUE(kube().groups().empty());
    EXPECT_EQ(kube().pods().size(), 2u);
    EXPECT_EQ(kube().Count("create"), kube().Count("create", "events"));
  }
}

TEST_F(TakeOverTest, ARefusedJobWhosePodsStartIsRunning) {
  Begin(MakeJob("j", 1, 2));
  rig().Kill();
  rig().LoseDisk();
  PatchStatus(rig(), R"({"controlledResources":{"basalt":null}})");
  GiveAnotherPlugin(rig());
  TakeOver(rig());
  ASSERT_EQ(Phase(), kPending);
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kRunning);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kCompleted);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
