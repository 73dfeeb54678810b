// Whole lives of jobs: controller, store and a small API server under simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class LifeCycleTest : public JobTest {};

TEST_F(LifeCycleTest, AJobRunsToCompletedWithTheWritesThatItNeedsAndNoMore) {
  rig().Start();
  kube().PutJob(MakeJob("j", 2, 3));
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(Phase(), kPending);
  ASSERT_EQ(kube().pods().size(), 6u);
  EXPECT_TRUE(kube().pods().contains("default/j-t0-0"));
  EXPECT_TRUE(kube().pods().contains("default/j-t1-2"));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_EQ(Status().counts().running(), 6);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kCompleted);
  const auto& status = Status();
  EXPECT_EQ(status.counts().succeeded(), 6);
  EXPECT_EQ(status.task_status_count_size(), 2);
  EXPECT_EQ(status.min_available(), 6);
  EXPECT_EQ(status.version(), 0);
  EXPECT_EQ(status.conditions_size(), 3);
  EXPECT_TRUE(kube().groups().empty());
  EXPECT_EQ(kube().pods().size(), 6u);  // Finished pods stay.
  EXPECT_EQ(kube().Count("create", "pods"), 6);
  EXPECT_EQ(kube().Count("create", "podgroups"), 1);
  EXPECT_EQ(kube().Count("delete", "podgroups"), 1);
  EXPECT_LE(kube().WritesButEvents(), 6 + 2 + 5);
  for (const auto& entry : kube().log()) EXPECT_EQ(entry.code, 0) << entry.verb << " " << entry.plural;
  // Every transition has exactly one entry of history, and it is committed.
  const auto history = History();
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].to_phase(), kPending);
  EXPECT_EQ(history[1].to_phase(), kRunning);
  EXPECT_EQ(history[2].to_phase(), kCompleted);
  for (const auto& entry : history) EXPECT_TRUE(entry.committed());
}

TEST_F(LifeCycleTest, ARestartWithFinishedJobsWritesNothing) {
  rig().Start();
  for (int i = 0; i < 5; ++i) kube().PutJob(MakeJob("j" + std::to_string(i), 1, 3));
  rig().Run(absl::Seconds(1));
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(60));
  ASSERT_EQ(rig().PhaseOf("default/j4"), kCompleted);
  for (bool lose : {false, true}) {
    rig().Kill();
    if (lose) rig().LoseDisk();
    kube().ClearLog();
    rig().Start();
    rig().Run(absl::Minutes(2));
    EXPECT_EQ(kube().WritesButEvents(), 0) << (lose ? "empty disk" : "same disk");
  }
}

TEST_F(LifeCycleTest, PodsAreMadeOnlyAfterTheSchedulerAdmitsTheGroup) {
  kube().new_group_phase = "Pending";
  rig().Start();
  kube().PutJob(MakeJob("j", 1, 2));
  rig().Run(absl::Seconds(30));
  EXPECT_TRUE(kube().pods().empty());
  ASSERT_EQ(kube().groups().size(), 1u);
  kube().SetGroupPhase(kube().groups().begin()->first, "Inqueue");
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(kube().pods().size(), 2u);
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(Phase(), kRunning);
}

TEST_F(LifeCycleTest, FinishedWorkIsNotDoneAgainWhenItsPodIsRemoved) {
  rig().StartRunning(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartJob"), absl::Seconds(1));
  kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig().Run(absl::Seconds(1));
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 1u);
  EXPECT_EQ(Status().counts().succeeded(), 1);
  // A new owner on an empty disk learns that from the status.
  StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 1u);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_EQ(Status().counts().succeeded(), 2);
}

TEST_F(LifeCycleTest, ScalingDownMarksPodsBeforeItDeletesThemAndFiresNoPolicy) {
  rig().StartRunning(WithPolicy(MakeJob("j", 1, 4), "PodEvicted", "RestartJob"), absl::Seconds(1));
  Scale(2, 2);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(kube().Count("patch", "pods"), 2);
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_EQ(Status().retry_count(), 0);
  EXPECT_EQ(Group().spec().min_member(), 2);
  Scale(3);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().pods().size(), 3u);
}

// The API server refuses a template by its profile, and only an edit cures that.
TEST_F(LifeCycleTest, ARefusedTemplateIsToldInWordsAndAnEditOfItHeals) {
  rig().Start();
  kube().RefuseWrites(
      [](const auto& request) {
        return request.has_create() && request.resource().plural() == "pods" &&
               request.create().body().find("runAsNonRoot") == std::string::npos;
      },
      403, "violates PodSecurity \"restricted:latest\": runAsNonRoot != true", "Forbidden");
  kube().PutJob(MakeJob("j", 1, 2));
  rig().Run(absl::Minutes(10));
  const auto& status = Status();
  EXPECT_EQ(status.phase(), kPending);
  EXPECT_EQ(status.reason(), "FailedCreate");
  EXPECT_NE(status.message().find("violates PodSecurity"), std::string::npos) << status.message();
  EXPECT_EQ(kube().Count("create", "events"), 1);
  EXPECT_LT(kube().log().size(), 200u);  // The creation backs off.
  // An edit that cures nothing is refused again.
  EditSpec([](kube::v1::JobSpec& spec) { spec.set_priority_class_name("high"); });
  rig().Run(absl::Minutes(10));
  EXPECT_TRUE(kube().pods().empty());
  EXPECT_EQ(Status().reason(), "FailedCreate");
  kube().EditJob("default/j", [](kube::v1::Job& job) {
    std::string& pod = *job.mutable_spec()->mutable_tasks(0)->mutable_template_json();
    const size_t spec = pod.find(R"("spec":{)");
    ASSERT_NE(spec, std::string::npos) << pod;
    pod.insert(spec + 8, R"("securityContext":{"runAsNonRoot":true},)");
  });
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(kube().pods().size(), 2u) << "without the rest of the pause";
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().reason(), "");
}

TEST_F(LifeCycleTest, AnInvalidJobGetsWordsAndHarmsNobody) {
  rig().Start();
  auto bad = MakeJob("bad", 1, 2);
  bad.mutable_spec()->mutable_tasks(0)->set_replicas(1'000'000'000);
  kube().PutJob(bad);
  // The list of hosts that svc makes, with one for each pod, would not fit into memory.
  auto huge = MakeJob("huge", 1, 2);
  huge.mutable_spec()->mutable_tasks(0)->set_replicas(2'147'483'647);
  huge.mutable_spec()->add_plugins()->set_name("svc");
  kube().PutJob(huge);
  auto broken = MakeJob("broken", 1, 2);
  broken.set_decode_error("two");
  kube().PutJob(broken);
  kube().PutJob(MakeJob("good", 1, 2));
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().job("default/bad").status().reason(), "InvalidJob");
  EXPECT_NE(kube().job("default/bad").status().message(), "");
  EXPECT_NE(kube().job("default/huge").status().message().find("at most 200000"), std::string::npos);
  EXPECT_EQ(kube().job("default/broken").status().message(),
            "spec.tasks[0].replicas: expected a number, found a string");
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_GE(kube().Count("create", "events"), 2);
}

// The pods would run without what the plugin adds to them.
TEST_F(LifeCycleTest, AJobWithAPluginThatDoesNotExistWaitsAndSaysSo) {
  for (const int minimum : {0, 2}) {
    SCOPED_TRACE(minimum);
    Fresh();
    kube::v1::Job job = WithPlugins(MakeJob("j", 1, 2), {"torch"});
    job.mutable_spec()->set_min_available(minimum);
    Begin(std::move(job));
    rig().Run(absl::Minutes(10));
    EXPECT_EQ(Phase(), kPending);
    EXPECT_EQ(Status().reason(), "InvalidJob");
    EXPECT_NE(Status().message().find("spec.plugins.torch"), std::string::npos) << Status().message();
    EXPECT_EQ(kube().Count("create"), 1) << "an Event, and nothing else";
    EXPECT_EQ(kube().Count("create", "events"), 1);
  }
}

TEST_F(LifeCycleTest, ASuspendedJobDrainsAndResumesWithoutARetry) {
  rig().StartRunning(MakeJob("j", 1, 2), absl::Seconds(1));
  Command("stop", "AbortJob");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_TRUE(kube().pods().empty());
  EXPECT_TRUE(kube().groups().empty());
  EXPECT_TRUE(kube().commands().empty());
  EXPECT_EQ(Status().version(), 1);
  Command("go", "ResumeJob");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().retry_count(), 0);
  EXPECT_EQ(kube().pods().size(), 2u);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kCompleted);
}

TEST_F(LifeCycleTest, PluginObjectsAreMadeBeforePodsAndRemovedOnce) {
  Begin(WithPlugins(MakeJob("j", 1, 2), {"env", "ssh", "svc"}));
  EXPECT_EQ(kube().pods().size(), 2u);
  const auto& log = kube().log();
  const auto writes = [](const char* plural) { return [plural](const auto& write) { return write.plural == plural; }; };
  const auto first_pod = std::find_if(log.begin(), log.end(), writes("pods"));
  for (const char* plural : {"services", "configmaps", "secrets", "networkpolicies"}) {
    EXPECT_NE(std::find_if(log.begin(), first_pod, writes(plural)), first_pod) << plural;
  }
  EXPECT_TRUE(kube().others().contains("services/default/j"));
  EXPECT_TRUE(kube().others().contains("configmaps/default/j-svc"));
  EXPECT_TRUE(kube().others().contains("secrets/default/j-ssh"));
  EXPECT_TRUE(kube().others().contains("networkpolicies/default/j"));
  kube().SetAllPods(kPodRunning);
  rig().Run();
  EXPECT_NE(FindResource(Status(), "plugin-svc"), nullptr);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_FALSE(kube().others().contains("services/default/j"));
  EXPECT_FALSE(kube().others().contains("secrets/default/j-ssh"));
  EXPECT_EQ(FindResource(Status(), "plugin-svc"), nullptr);
  EXPECT_LE(kube().WritesButEvents(), 2 + 2 + 2 * 4 + 5);
  rig().Kill();
  rig().LoseDisk();
  kube().ClearLog();
  rig().Start();
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

TEST_F(LifeCycleTest, ANameHeldByAForeignPodIsWaitedFor) {
  rig().Start();
  kube().PutForeignPod("default", "j-t0-1", "j");
  kube().PutJob(MakeJob("j", 1, 2));
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().Count("create", "pods"), 1);
  EXPECT_EQ(Status().counts().pending(), 1);
  EXPECT_EQ(Status().reason(), "FailedCreate");
  EXPECT_EQ(Status().message().find("pod j-t0-1: the name is held"), 0u);
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().reason(), "");
  EXPECT_EQ(kube().Count("create", "pods"), 2);
  EXPECT_EQ(kube().Count("delete", "pods"), 0);
}

// No watch shows when such a pod goes: it has none of our labels.
TEST_F(LifeCycleTest, ANameHeldByAPodThatNoWatchShowsIsTriedAgain) {
  rig().Start();
  kube().PutForeignPod("default", "j-t0-0", "");
  kube().PutJob(MakeJob("j", 1, 1));
  rig().Run(absl::Seconds(20));
  EXPECT_FALSE(kube().pods().at("default/j-t0-0").job_name() == "j");
  kube().RemovePod("default/j-t0-0");
  rig().Run(absl::Seconds(20));
  ASSERT_TRUE(kube().pods().contains("default/j-t0-0"));
  EXPECT_EQ(kube().pods().at("default/j-t0-0").job_name(), "j");
}

// The name is held until the watch shows its pod, and no longer.
TEST_F(LifeCycleTest, APodWhoseCreationHadNoAnswerIsMarkedAsSoonAsItIsSurplus) {
  rig().Start();
  rig().fate = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() == "pods" ? Fate::kLostAnswer : Fate::kNormal;
  };
  kube().PutJob(MakeJob("j", 1, 4));
  ASSERT_TRUE(rig().RunUntil([&] { return kube().pods().size() == 4; }));
  rig().Run(absl::Milliseconds(100));
  Scale(2, 2);
  rig().Run(absl::Seconds(1));
  EXPECT_EQ(kube().Count("patch", "pods"), 2);
  EXPECT_EQ(kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
