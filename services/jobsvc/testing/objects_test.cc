// Objects of plugins whose identity differs from the recorded one: removed and made again, or somebody else's.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr std::string_view kNames[] = {"services/default/j", "configmaps/default/j-svc", "networkpolicies/default/j"};

class ObjectsTest : public JobTest {
 protected:
  // Counts the objects of the plugin.
  size_t CountObjects() {
    return static_cast<size_t>(std::count_if(std::begin(kNames), std::end(kNames), [&](std::string_view name) {
      return kube().others().contains(std::string(name));
    }));
  }
  // Runs a job with the svc plugin until its pods run and its status names the objects.
  void StartRunning() {
    rig().StartRunning(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
    ASSERT_EQ(CountObjects(), std::size(kNames));
  }
  void CommandAndWait(const char* name, const char* action) {
    Command(name, action);
    rig().Run(absl::Seconds(10));
  }
  std::string Hosts() {
    return std::string(kube().others().at("configmaps/default/j-svc").at("data").at("VC_T0_NUM").as_string());
  }
};

TEST_F(ObjectsTest, PodsOfAResumedJobWaitForWhatTheProcessBeforeHasRemoved) {
  StartRunning();
  Command("stop", "AbortJob");
  ASSERT_TRUE(rig().RunUntil([&] { return CountObjects() == 0 && kube().commands().empty(); }));
  rig().Kill();  // The status still names them.
  Command("go", "ResumeJob");
  kube().ClearLog();
  rig().Start();
  ASSERT_TRUE(rig().RunUntil([&] { return kube().pods().size() == 2; }, absl::Seconds(20)));
  EXPECT_EQ(CountObjects(), std::size(kNames));
  rig().Run(absl::Seconds(10));
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_EQ(CountObjects(), 0u);
}

// The status names an object before the answer confirms its creation: the process may die in between.
TEST_F(ObjectsTest, ANewProcessRemovesWhatAResumedJobWasMaking) {
  StartRunning();
  CommandAndWait("stop", "AbortJob");
  ASSERT_EQ(CountObjects(), 0U);
  rig().answers_late = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() != "pods" ? absl::Minutes(10) : absl::ZeroDuration();
  };
  CommandAndWait("go", "ResumeJob");
  ASSERT_EQ(CountObjects(), std::size(kNames));
  CommandAndWait("stop-again", "AbortJob");
  ASSERT_EQ(Phase(), kAborted);
  rig().Kill();
  rig().LoseDisk();
  rig().answers_late = nullptr;
  rig().Start();
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(CountObjects(), 0U);
}

// A pod reads its environment from the ConfigMap once, when it starts (job spec 9.12).
TEST_F(ObjectsTest, PodsOfALargerTaskWaitForTheirHosts) {
  StartRunning();
  kube().RefuseWrites(
      [](const auto& request) { return request.has_patch() && request.resource().plural() == "configmaps"; }, 403,
      "patching is forbidden");
  Scale(4);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(Status().reason(), "PluginError");
  EXPECT_EQ(Status().message(), "plugin svc: ConfigMap j-svc: patching is forbidden");
  kube().SetRefuse(nullptr);
  ASSERT_TRUE(rig().RunUntil([&] { return kube().pods().size() > 2; }, absl::Minutes(1)));
  EXPECT_EQ(Hosts(), "4");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().pods().size(), 4u);
  EXPECT_EQ(Status().reason(), "");
}

// A user who edits a job may read the ConfigMap at once. The edit changes the group, too, and counts become due.
TEST_F(ObjectsTest, AnEditReachesTheHostsFirstAndWithoutARead) {
  StartRunning();
  rig().Run(absl::Minutes(1));
  kube().ClearLog();
  const int reads = kube().gets();
  Scale(4, 2);
  rig().Run(absl::Seconds(10));
  ASSERT_GT(kube().log().size(), 3U) << "the ConfigMap, the group, two pods";
  EXPECT_EQ(kube().log().front().plural, "configmaps");
  EXPECT_EQ(kube().gets(), reads);
}

// The values of a ConfigMap have a megabyte at most: the hosts of 50 000 pods never fit, however often they are sent.
TEST_F(ObjectsTest, HostsThatDoNotFitAreNotTriedUntilTheSpecChanges) {
  kube::v1::Job job = MakeJob("j", 1, 2);
  kube::v1::JobPlugin* const svc = job.mutable_spec()->add_plugins();
  svc->set_name("svc");
  svc->add_arguments("--inject-hosts-env=false");
  rig().StartRunning(std::move(job));
  Scale(50'000);
  kube().ClearLog();
  rig().Run(absl::Minutes(10));
  for (const auto& request : kube().log()) EXPECT_NE(request.plural, "configmaps");
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(Status().reason(), "PluginError");
  const std::string message = Status().message();
  EXPECT_TRUE(message.starts_with("plugin svc: ConfigMap j-svc would have ")) << message;
  EXPECT_TRUE(message.ends_with(" bytes, and Kubernetes takes at most 1048576")) << message;
  Scale(3);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Hosts(), "3");
  EXPECT_EQ(kube().pods().size(), 3u);
  EXPECT_EQ(Status().reason(), "");
}

TEST_F(ObjectsTest, HostsAreMadeAgainUnlessSomebodyElseHasTheName) {
  for (const bool taken : {false, true}) {
    SCOPED_TRACE(taken);
    Fresh();
    StartRunning();
    const auto write = [&](gateway::v1::WriteRequest& request) {
      request.mutable_delete_()->set_uid(kube().UidOf("configmaps/default/j-svc"));
    };
    ASSERT_EQ(Write("configmaps", "j-svc", write).error().code(), 0);
    if (taken) {
      Write("configmaps", "j-svc", [](gateway::v1::WriteRequest& request) {
        request.mutable_create()->set_body(R"({"metadata":{"name":"j-svc"},"data":{"VC_T0_NUM":"mine"}})");
      });
    }
    Scale(3);
    rig().Run(absl::Minutes(1));
    EXPECT_EQ(Hosts(), taken ? "mine" : "3");
    EXPECT_EQ(kube().pods().size(), taken ? 2u : 3u);
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
