// Whole lives of jobs: controller, store and a small API server under simulated time.
#include <gtest/gtest.h>

#include <utility>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

TEST(LifeCycleTest, AJobRunsToCompletedWithTheWritesThatItNeedsAndNoMore) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 2, 3));
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.PhaseOf("default/j"), kPending);
  ASSERT_EQ(rig.kube().pods().size(), 6u);
  EXPECT_TRUE(rig.kube().pods().contains("default/j-t0-0"));
  EXPECT_TRUE(rig.kube().pods().contains("default/j-t1-2"));
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.PhaseOf("default/j"), kRunning);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().running(), 6);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
  const auto& status = rig.kube().job("default/j").status();
  EXPECT_EQ(status.counts().succeeded(), 6);
  EXPECT_EQ(status.task_status_count_size(), 2);
  EXPECT_EQ(status.min_available(), 6);
  EXPECT_EQ(status.version(), 0);
  EXPECT_EQ(status.conditions_size(), 3);
  EXPECT_TRUE(rig.kube().groups().empty());
  EXPECT_EQ(rig.kube().pods().size(), 6u);  // Finished pods stay.
  EXPECT_EQ(rig.kube().Count("create", "pods"), 6);
  EXPECT_EQ(rig.kube().Count("create", "podgroups"), 1);
  EXPECT_EQ(rig.kube().Count("delete", "podgroups"), 1);
  EXPECT_LE(rig.kube().WritesButEvents(), 6 + 2 + 5);
  for (const auto& entry : rig.kube().log()) EXPECT_EQ(entry.code, 0) << entry.verb << " " << entry.plural;
  // Every transition has exactly one entry of history, and it is committed.
  const auto history = HistoryStore(rig.store()).Read(SlotOf("default/j"), rig.kube().job("default/j").meta().uid());
  ASSERT_TRUE(history.ok());
  ASSERT_EQ(history->size(), 3u);
  EXPECT_EQ((*history)[0].to_phase(), kPending);
  EXPECT_EQ((*history)[1].to_phase(), kRunning);
  EXPECT_EQ((*history)[2].to_phase(), kCompleted);
  for (const auto& entry : *history) EXPECT_TRUE(entry.committed());
}

TEST(LifeCycleTest, ARestartWithFinishedJobsWritesNothing) {
  JobRig rig;
  rig.Start();
  for (int i = 0; i < 5; ++i) rig.kube().PutJob(MakeJob("j" + std::to_string(i), 1, 3));
  rig.Run(absl::Seconds(1));
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(60));
  ASSERT_EQ(rig.PhaseOf("default/j4"), kCompleted);
  for (bool lose : {false, true}) {
    rig.Kill();
    if (lose) rig.LoseDisk();
    rig.kube().ClearLog();
    rig.Start();
    rig.Run(absl::Minutes(2));
    EXPECT_EQ(rig.kube().WritesButEvents(), 0) << (lose ? "empty disk" : "same disk");
  }
}

TEST(LifeCycleTest, PodsAreMadeOnlyAfterTheSchedulerAdmitsTheGroup) {
  JobRig rig;
  rig.kube().new_group_phase = "Pending";
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run(absl::Seconds(30));
  EXPECT_TRUE(rig.kube().pods().empty());
  ASSERT_EQ(rig.kube().groups().size(), 1u);
  rig.kube().SetGroupPhase(rig.kube().groups().begin()->first, "Inqueue");
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.PhaseOf("default/j"), kRunning);
}

TEST(LifeCycleTest, FinishedWorkIsNotDoneAgainWhenItsPodIsRemoved) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartJob"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  rig.kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig.Run(absl::Seconds(1));
  rig.kube().RemovePod("default/j-t0-1");
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 1u);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().succeeded(), 1);
  // A new owner on an empty disk learns that from the status.
  rig.Kill();
  rig.LoseDisk();
  rig.Start();
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 1u);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().succeeded(), 2);
}

TEST(LifeCycleTest, ScalingDownMarksPodsBeforeItDeletesThemAndFiresNoPolicy) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 4), "PodEvicted", "RestartJob"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->mutable_tasks(0)->set_replicas(2);
    job.mutable_spec()->set_min_available(2);
  });
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_EQ(rig.kube().Count("patch", "pods"), 2);
  EXPECT_EQ(rig.PhaseOf("default/j"), kRunning);
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 0);
  EXPECT_EQ(rig.kube().groups().begin()->second.spec().min_member(), 2);
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(3); });
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().pods().size(), 3u);
}

// The API server refuses a template by its profile, and only an edit cures that.
TEST(LifeCycleTest, ARefusedTemplateIsToldInWordsAndAnEditOfItHeals) {
  JobRig rig;
  rig.Start();
  rig.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_create() || request.resource().plural() != "pods") return false;
    if (request.create().body().find("runAsNonRoot") != std::string::npos) return false;
    error.set_code(403);
    error.set_reason("Forbidden");
    error.set_message("violates PodSecurity \"restricted:latest\": runAsNonRoot != true");
    return true;
  });
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run(absl::Minutes(10));
  const auto& status = rig.kube().job("default/j").status();
  EXPECT_EQ(status.phase(), kPending);
  EXPECT_EQ(status.reason(), "FailedCreate");
  EXPECT_NE(status.message().find("violates PodSecurity"), std::string::npos) << status.message();
  EXPECT_EQ(rig.kube().Count("create", "events"), 1);
  EXPECT_LT(rig.kube().log().size(), 200u);  // The creation backs off.
  // An edit that cures nothing is refused again.
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) { job.mutable_spec()->set_priority_class_name("high"); });
  rig.Run(absl::Minutes(10));
  EXPECT_TRUE(rig.kube().pods().empty());
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "FailedCreate");
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) {
    std::string& pod = *job.mutable_spec()->mutable_tasks(0)->mutable_template_json();
    const size_t spec = pod.find(R"("spec":{)");
    ASSERT_NE(spec, std::string::npos) << pod;
    pod.insert(spec + 8, R"("securityContext":{"runAsNonRoot":true},)");
  });
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.kube().pods().size(), 2u) << "without the rest of the pause";
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "");
}

TEST(LifeCycleTest, AnInvalidJobGetsWordsAndHarmsNobody) {
  JobRig rig;
  rig.Start();
  auto bad = MakeJob("bad", 1, 2);
  bad.mutable_spec()->mutable_tasks(0)->set_replicas(1'000'000'000);
  rig.kube().PutJob(bad);
  // The list of hosts that svc makes, with one for each pod, would not fit into memory.
  auto huge = MakeJob("huge", 1, 2);
  huge.mutable_spec()->mutable_tasks(0)->set_replicas(2'147'483'647);
  huge.mutable_spec()->add_plugins()->set_name("svc");
  rig.kube().PutJob(huge);
  auto broken = MakeJob("broken", 1, 2);
  broken.set_decode_error("two");
  rig.kube().PutJob(broken);
  rig.kube().PutJob(MakeJob("good", 1, 2));
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().job("default/bad").status().reason(), "InvalidJob");
  EXPECT_NE(rig.kube().job("default/bad").status().message(), "");
  EXPECT_NE(rig.kube().job("default/huge").status().message().find("at most 200000"), std::string::npos);
  EXPECT_EQ(rig.kube().job("default/broken").status().message(),
            "spec.tasks[0].replicas: expected a number, found a string");
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_GE(rig.kube().Count("create", "events"), 2);
}

// The pods would run without what the plugin adds to them.
TEST(LifeCycleTest, AJobWithAPluginThatDoesNotExistWaitsAndSaysSo) {
  JobRig rig;
  rig.Start();
  auto job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_plugins()->set_name("torch");
  rig.kube().PutJob(job);
  rig.Run(absl::Minutes(10));
  const auto& status = rig.kube().job("default/j").status();
  EXPECT_EQ(status.phase(), kPending);
  EXPECT_EQ(status.reason(), "InvalidJob");
  EXPECT_NE(status.message().find("spec.plugins.torch"), std::string::npos) << status.message();
  EXPECT_EQ(rig.kube().Count("create"), 1) << "an Event, and nothing else";
  EXPECT_EQ(rig.kube().Count("create", "events"), 1);
}

TEST(LifeCycleTest, ASuspendedJobDrainsAndResumesWithoutARetry) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  rig.kube().PutCommand("default", "stop", "AbortJob", "j");
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.PhaseOf("default/j"), kAborted);
  EXPECT_TRUE(rig.kube().pods().empty());
  EXPECT_TRUE(rig.kube().groups().empty());
  EXPECT_TRUE(rig.kube().commands().empty());
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 1);
  rig.kube().PutCommand("default", "go", "ResumeJob", "j");
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 0);
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
}

TEST(LifeCycleTest, PluginObjectsAreMadeBeforePodsAndRemovedOnce) {
  JobRig rig;
  rig.Start();
  auto job = MakeJob("j", 1, 2);
  for (const char* name : {"env", "ssh", "svc"}) job.mutable_spec()->add_plugins()->set_name(name);
  rig.kube().PutJob(job);
  rig.Run();
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_TRUE(rig.kube().others().contains("services/default/j"));
  EXPECT_TRUE(rig.kube().others().contains("configmaps/default/j-svc"));
  EXPECT_TRUE(rig.kube().others().contains("secrets/default/j-ssh"));
  EXPECT_TRUE(rig.kube().others().contains("networkpolicies/default/j"));
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  EXPECT_NE(FindResource(rig.kube().job("default/j").status(), "plugin-svc"), nullptr);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
  EXPECT_FALSE(rig.kube().others().contains("services/default/j"));
  EXPECT_FALSE(rig.kube().others().contains("secrets/default/j-ssh"));
  EXPECT_EQ(FindResource(rig.kube().job("default/j").status(), "plugin-svc"), nullptr);
  EXPECT_LE(rig.kube().WritesButEvents(), 2 + 2 + 2 * 4 + 5);
  rig.Kill();
  rig.LoseDisk();
  rig.kube().ClearLog();
  rig.Start();
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.kube().WritesButEvents(), 0);
}

TEST(LifeCycleTest, ANameHeldByAForeignPodIsWaitedFor) {
  JobRig rig;
  rig.Start();
  rig.kube().PutForeignPod("default", "j-t0-1", "j");
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().Count("create", "pods"), 1);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().pending(), 1);
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "FailedCreate");
  EXPECT_EQ(rig.kube().job("default/j").status().message().find("pod j-t0-1: the name is held"), 0u);
  rig.kube().RemovePod("default/j-t0-1");
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().job("default/j").status().reason(), "");
  EXPECT_EQ(rig.kube().Count("create", "pods"), 2);
  EXPECT_EQ(rig.kube().Count("delete", "pods"), 0);
}

// No watch shows when such a pod goes: it has none of our labels.
TEST(LifeCycleTest, ANameHeldByAPodThatNoWatchShowsIsTriedAgain) {
  JobRig rig;
  rig.Start();
  rig.kube().PutForeignPod("default", "j-t0-0", "");
  rig.kube().PutJob(MakeJob("j", 1, 1));
  rig.Run(absl::Seconds(20));
  EXPECT_FALSE(rig.kube().pods().at("default/j-t0-0").job_name() == "j");
  rig.kube().RemovePod("default/j-t0-0");
  rig.Run(absl::Seconds(20));
  ASSERT_TRUE(rig.kube().pods().contains("default/j-t0-0"));
  EXPECT_EQ(rig.kube().pods().at("default/j-t0-0").job_name(), "j");
}

// The name is held until the watch shows its pod, and no longer.
TEST(LifeCycleTest, APodWhoseCreationHadNoAnswerIsMarkedAsSoonAsItIsSurplus) {
  JobRig rig;
  rig.Start();
  rig.fate = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() == "pods" ? Fate::kLostAnswer : Fate::kNormal;
  };
  rig.kube().PutJob(MakeJob("j", 1, 4));
  ASSERT_TRUE(rig.RunUntil([&] { return rig.kube().pods().size() == 4; }));
  rig.Run(absl::Milliseconds(100));
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->mutable_tasks(0)->set_replicas(2);
    job.mutable_spec()->set_min_available(2);
  });
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.kube().Count("patch", "pods"), 2);
  EXPECT_EQ(rig.kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
