// Objects of plugins whose identity differs from the recorded one: removed and made again, or somebody else's.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr std::string_view kNames[] = {"services/default/j", "configmaps/default/j-svc", "networkpolicies/default/j"};

// Counts the objects of the plugin.
size_t CountObjects(JobRig& rig) {
  return static_cast<size_t>(std::count_if(std::begin(kNames), std::end(kNames), [&](std::string_view name) {
    return rig.kube().others().contains(std::string(name));
  }));
}

// Runs a job with the svc plugin until its pods run and its status names the objects.
void StartRunning(JobRig& rig) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_plugins()->set_name("svc");
  rig.StartRunning(std::move(job));
  ASSERT_EQ(CountObjects(rig), std::size(kNames));
}

void Finish(JobRig& rig) {
  rig.Run(absl::Seconds(10));
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
}

std::string UidOf(JobRig& rig, const std::string& object) {
  return std::string(rig.kube().others().at(object).at("metadata").at("uid").as_string());
}

// Puts another object under the name.
void Replace(JobRig& rig, const std::string& object, const std::string& body) {
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_plural(object.substr(0, object.find('/')));
  request.set_namespace_("default");
  request.set_name(object.substr(object.rfind('/') + 1));
  request.mutable_delete_()->set_uid(UidOf(rig, object));
  ASSERT_EQ(rig.kube().Write(request).error().code(), 0);
  request.mutable_create()->set_body(body);
  ASSERT_EQ(rig.kube().Write(request).error().code(), 0);
}

TEST(ObjectsTest, PodsOfAResumedJobWaitForWhatTheProcessBeforeHasRemoved) {
  JobRig rig;
  StartRunning(rig);
  rig.kube().PutCommand("default", "stop", "AbortJob", "j");
  ASSERT_TRUE(rig.RunUntil([&] { return CountObjects(rig) == 0 && rig.kube().commands().empty(); }));
  rig.Kill();  // The status still names them.
  rig.kube().PutCommand("default", "go", "ResumeJob", "j");
  rig.kube().ClearLog();
  rig.Start();
  ASSERT_TRUE(rig.RunUntil([&] { return rig.kube().pods().size() == 2; }, absl::Seconds(20)));
  EXPECT_EQ(CountObjects(rig), std::size(kNames));
  Finish(rig);
  EXPECT_EQ(CountObjects(rig), 0u);
}

// The status names an object before the answer confirms its creation: the process may die in between.
TEST(ObjectsTest, WhatAResumedJobIsMakingIsRemovedByTheNextProcessOnAnEmptyDisk) {
  JobRig rig;
  StartRunning(rig);
  const auto command = [&rig](const char* name, const char* action) {
    rig.kube().PutCommand("default", name, action, "j");
    rig.Run(absl::Seconds(10));
  };
  command("stop", "AbortJob");
  ASSERT_EQ(CountObjects(rig), 0U);
  rig.answers_late = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() != "pods" ? absl::Minutes(10) : absl::ZeroDuration();
  };
  command("go", "ResumeJob");
  ASSERT_EQ(CountObjects(rig), std::size(kNames));
  command("stop-again", "AbortJob");
  ASSERT_EQ(rig.PhaseOf("default/j"), kAborted);
  rig.Kill();
  rig.LoseDisk();
  rig.answers_late = nullptr;
  rig.Start();
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(CountObjects(rig), 0U);
}

void Scale(JobRig& rig, int replicas) {
  rig.kube().EditJob("default/j",
                     [&](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(replicas); });
}

std::string HostsOf(JobRig& rig) {
  return std::string(rig.kube().others().at("configmaps/default/j-svc").at("data").at("VC_T0_NUM").as_string());
}

// A pod reads its environment from the ConfigMap once, when it starts (job spec 9.12).
TEST(ObjectsTest, PodsOfALargerTaskWaitForTheirHosts) {
  JobRig rig;
  StartRunning(rig);
  bool refuse = true;
  rig.kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!refuse || !request.has_patch() || request.resource().plural() != "configmaps") return false;
    error.set_code(403);
    error.set_message("patching is forbidden");
    return true;
  });
  Scale(rig, 4);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "PluginError");
  EXPECT_EQ(rig.kube().job("default/j").status().message(), "plugin svc: ConfigMap j-svc: patching is forbidden");
  refuse = false;
  ASSERT_TRUE(rig.RunUntil([&] { return rig.kube().pods().size() > 2; }, absl::Minutes(1)));
  EXPECT_EQ(HostsOf(rig), "4");
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().pods().size(), 4u);
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "");
}

// A user who edits a job may read the ConfigMap at once. The edit changes the group, too, and counts become due.
TEST(ObjectsTest, AnEditReachesTheHostsBeforeAnythingElseIsWrittenAndWithoutARead) {
  JobRig rig;
  StartRunning(rig);
  rig.Run(absl::Minutes(1));
  rig.kube().ClearLog();
  const int reads = rig.kube().gets();
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->set_min_available(2);
    job.mutable_spec()->mutable_tasks(0)->set_replicas(4);
  });
  rig.Run(absl::Seconds(10));
  ASSERT_GT(rig.kube().log().size(), 3U) << "the ConfigMap, the group, two pods";
  EXPECT_EQ(rig.kube().log().front().plural, "configmaps");
  EXPECT_EQ(rig.kube().gets(), reads);
}

// The values of a ConfigMap have a megabyte at most: the hosts of 50 000 pods never fit, however often they are sent.
TEST(ObjectsTest, WhatCannotFitIsToldAndNotTriedUntilTheSpecChanges) {
  JobRig rig;
  kube::v1::Job job = MakeJob("j", 1, 2);
  kube::v1::JobPlugin* const svc = job.mutable_spec()->add_plugins();
  svc->set_name("svc");
  svc->add_arguments("--inject-hosts-env=false");
  rig.StartRunning(std::move(job));
  Scale(rig, 50'000);
  rig.kube().ClearLog();
  rig.Run(absl::Minutes(10));
  for (const auto& request : rig.kube().log()) EXPECT_NE(request.plural, "configmaps");
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "PluginError");
  const std::string message = rig.kube().job("default/j").status().message();
  EXPECT_TRUE(message.starts_with("plugin svc: ConfigMap j-svc would have ")) << message;
  EXPECT_TRUE(message.ends_with(" bytes, and Kubernetes takes at most 1048576")) << message;
  Scale(rig, 3);
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(HostsOf(rig), "3");
  EXPECT_EQ(rig.kube().pods().size(), 3u);
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "");
}

TEST(ObjectsTest, HostsThatAreGoneAreMadeAgainAndThoseOfSomebodyElseAreLeftAlone) {
  for (const bool taken : {false, true}) {
    SCOPED_TRACE(taken);
    JobRig rig;
    StartRunning(rig);
    Replace(rig, "configmaps/default/j-svc", R"({"metadata":{"name":"j-svc"},"data":{"VC_T0_NUM":"mine"}})");
    if (!taken) {
      gateway::v1::WriteRequest request;
      request.mutable_resource()->set_plural("configmaps");
      request.set_namespace_("default");
      request.set_name("j-svc");
      request.mutable_delete_()->set_uid(UidOf(rig, "configmaps/default/j-svc"));
      ASSERT_EQ(rig.kube().Write(request).error().code(), 0);
    }
    Scale(rig, 3);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(HostsOf(rig), taken ? "mine" : "3");
    EXPECT_EQ(rig.kube().pods().size(), taken ? 2u : 3u);
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
