// Jobs that another controller has carried so far: its writes stand, and no record of ours contains them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

kube::v1::Job JobWithObjects() {
  kube::v1::Job job = MakeJob("j", 1, 2);
  for (const char* name : {"ssh", "svc"}) job.mutable_spec()->add_plugins()->set_name(name);
  return job;
}

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
  rig.Start();
  rig.kube().PutJob(std::move(job));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
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

TEST(TakeOverTest, FinishedAndAbortedJobsOfAnotherControllerAreNotWritten) {
  for (const std::string_view phase : {"Completed", "Failed", "Terminated", "Aborted"}) {
    JobRig rig;
    LeaveRunning(rig, MakeJob("j", 1, 2));
    FinishAsUpstreamDoes(rig, phase);
    gateway::v1::WriteRequest group;
    group.mutable_resource()->set_plural("podgroups");
    group.set_namespace_("default");
    group.set_name(rig.kube().groups().begin()->second.meta().name());
    group.mutable_delete_()->set_uid(rig.kube().groups().begin()->second.meta().uid());
    rig.kube().Write(group);
    TakeOver(rig);
    EXPECT_EQ(rig.kube().WritesButEvents(), 0) << phase;
    EXPECT_EQ(rig.kube().pods().size(), 2u) << phase;
  }
}

TEST(TakeOverTest, AJobOfOursThatAnotherControllerHasWrittenAfterItsEndIsNotWritten) {
  JobRig rig;
  LeaveRunning(rig, MakeJob("j", 1, 2));
  rig.Start();
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Minutes(1));
  ASSERT_EQ(rig.PhaseOf("default/j"), kube::v1::JOB_PHASE_COMPLETED);
  rig.Kill();
  rig.LoseDisk();
  FinishAsUpstreamDoes(rig, "Completed");
  TakeOver(rig);
  EXPECT_EQ(rig.kube().WritesButEvents(), 0);
}

// Upstream does not check the action of an exit code: such a job runs, and the policy does nothing.
TEST(TakeOverTest, AJobThatOnlyOurOwnRulesRefuseGoesOn) {
  JobRig rig;
  LeaveRunning(rig, MakeJob("j", 1, 2));
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) {
    auto* policy = job.mutable_spec()->add_policies();
    policy->set_exit_code(3);
    policy->set_action("NoSuchAction");
  });
  TakeOver(rig);
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "");
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kube::v1::JOB_PHASE_COMPLETED);
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

TEST(TakeOverTest, ARefusedJobThatHasRunEndsAsItsPodsEnd) {
  struct Row {
    kube::v1::PodPhase second;
    kube::v1::JobPhase end;
  };
  for (const Row& row : {Row{kPodSucceeded, kube::v1::JOB_PHASE_COMPLETED},
                         Row{kube::v1::POD_PHASE_FAILED, kube::v1::JOB_PHASE_FAILED}}) {
    JobRig rig;
    LeaveRunning(rig, MakeJob("j", 1, 2));
    GiveAnotherPlugin(rig);
    TakeOver(rig);
    ASSERT_EQ(rig.PhaseOf("default/j"), kRunning);
    ASSERT_EQ(rig.kube().job("default/j").status().reason(), "InvalidJob");
    rig.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
    rig.kube().SetPodPhase("default/j-t0-1", row.second, 1);
    rig.Run(absl::Seconds(30));
    EXPECT_EQ(rig.PhaseOf("default/j"), row.end);
    EXPECT_EQ(rig.kube().job("default/j").status().reason(), "InvalidJob");
    EXPECT_NE(rig.kube().job("default/j").status().message().find("torch"), std::string::npos);
    EXPECT_TRUE(rig.kube().groups().empty());
    EXPECT_EQ(rig.kube().pods().size(), 2u);
    EXPECT_EQ(rig.kube().Count("create"), rig.kube().Count("create", "events"));
  }
}

TEST(TakeOverTest, ARefusedJobWhosePodsStartIsRunning) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run();
  rig.Kill();
  rig.LoseDisk();
  PatchStatus(rig, R"({"controlledResources":{"basalt":null}})");
  GiveAnotherPlugin(rig);
  TakeOver(rig);
  ASSERT_EQ(rig.PhaseOf("default/j"), kube::v1::JOB_PHASE_PENDING);
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kRunning);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kube::v1::JOB_PHASE_COMPLETED);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
