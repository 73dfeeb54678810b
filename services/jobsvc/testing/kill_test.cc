// A full kill is one call that selects the pods by our labels (design rule 4). Other pods are deleted singly.
#include <gtest/gtest.h>

#include <optional>

#include "common/kube/names.h"
#include "services/jobsvc/core/render/job_status_json.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

class KillTest : public ::testing::Test {
 protected:
  void Begin(kube::v1::Job job) {
    rig_.Start();
    rig_.kube().PutJob(std::move(job));
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
    rig_.kube().ClearLog();
  }
  void Abort() {
    rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
    rig_.Run(absl::Seconds(4));
  }
  int Singly() const { return rig_.kube().Count("delete", "pods"); }
  int Collectively() const { return rig_.kube().Count("deletecollection", "pods"); }

  mutable JobRig rig_;
};

TEST_F(KillTest, LivePodsGoInOneCallAndFinishedOnesStay) {
  Begin(MakeJob("j", 2, 3));
  rig_.kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig_.Run(absl::Seconds(10));
  rig_.kube().ClearLog();
  Abort();
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 0);
  EXPECT_EQ(rig_.kube().pods().size(), 1U);
  EXPECT_EQ(rig_.kube().job("default/j").status().counts().succeeded(), 1);
  // The writes are Aborting, the pods, the group, Aborted and the command.
  EXPECT_EQ(rig_.kube().WritesButEvents(), 5);
}

TEST_F(KillTest, ARestartTakesFinishedPodsToo) {
  Begin(WithPolicy(MakeJob("j", 1, 4), "PodFailed", "RestartJob"));
  rig_.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig_.kube().SetPodPhase("default/j-t0-1", kPodFailed, 1);
  rig_.Run(absl::Seconds(5));
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 0);
  ASSERT_EQ(rig_.kube().pods().size(), 4U);
  for (const auto& [name, pod] : rig_.kube().pods()) EXPECT_EQ(pod.job_version(), 1) << name;
}

// Somebody removed the owner, to keep the pod: it has all of our labels, and nobody may delete it (job spec 3.2).
TEST_F(KillTest, APodThatIsNotTheJobsAnyMoreIsNotTakenAlongForItsLabels) {
  Begin(MakeJob("j", 1, 4));
  rig_.kube().EditPod("default/j-t0-2", [](kube::v1::Pod& pod) { pod.clear_owner_uid(); });
  rig_.Run(absl::Seconds(5));
  Abort();
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Collectively(), 0);
  EXPECT_EQ(Singly(), 3);
  EXPECT_TRUE(rig_.kube().pods().contains("default/j-t0-2"));
}

TEST_F(KillTest, ATargetThatIsNotTheJobsAnyMoreIsNotWaitedFor) {
  Begin(MakeJob("j", 1, 3));
  rig_.fate = [](const gateway::v1::WriteRequest& request) {
    return request.resource().plural() == "pods" && request.has_patch() ? Fate::kNotSent : Fate::kNormal;
  };
  rig_.kube().PutCommand("default", "again", "RestartTask", "j", [](kube::v1::Command& command) {
    auto* target = command.mutable_meta()->add_annotations();
    target->set_key("basalt.dev/target");
    target->set_value(R"({"task":"t0"})");
  });
  rig_.Run(absl::Seconds(5));
  rig_.kube().EditPod("default/j-t0-1", [](kube::v1::Pod& pod) { pod.clear_owner_uid(); });
  rig_.Run(absl::Seconds(5));
  rig_.fate = nullptr;
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(Singly(), 2);
  EXPECT_TRUE(rig_.kube().pods().contains("default/j-t0-1"));
  EXPECT_FALSE(rig_.controller().Find("default/j")->persisted.kill) << "it is over";
}

// The pods were scaled away a moment before, and run on for their grace period.
TEST_F(KillTest, WhatIsBeyondTheSizeOfATaskIsAwaitedToo) {
  Begin(MakeJob("j", 1, 3));
  rig_.kube().SchedulePods();
  rig_.kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->set_min_available(0);
    job.mutable_spec()->mutable_tasks(0)->set_replicas(0);
  });
  rig_.fate = [](const gateway::v1::WriteRequest& request) {
    const bool of_pods = request.resource().plural() == "pods";
    return of_pods && !request.has_create() ? Fate::kNotSent : Fate::kNormal;
  };
  Abort();
  EXPECT_EQ(rig_.PhaseOf("default/j"), kube::v1::JOB_PHASE_ABORTING) << "three pods run";
  rig_.fate = nullptr;
  rig_.Run(absl::Seconds(40));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kube::v1::JOB_PHASE_ABORTING) << "they end";
  rig_.kube().FinishDeletions();
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
}

// An eviction costs a retry, however many pods a task has, and so the restarts end.
TEST_F(KillTest, ATaskThatIsEvictedWholeIsRestartedAndCounted) {
  for (const char* action : {"RestartTask", "RestartPod"}) {
    SCOPED_TRACE(action);
    JobRig rig;
    rig.Start();
    kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), "PodEvicted", action);
    job.mutable_spec()->set_max_retry(3);
    rig.kube().PutJob(std::move(job));
    rig.Run();
    for (int evictions = 1; evictions <= 3; ++evictions) {
      rig.kube().SetAllPods(kPodRunning);
      rig.Run(absl::Seconds(10));
      ASSERT_EQ(rig.PhaseOf("default/j"), kRunning);
      rig.kube().RemovePod("default/j-t0-0");
      rig.Run(absl::Seconds(10));
      EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), evictions);
    }
    EXPECT_EQ(rig.PhaseOf("default/j"), kFailed);
  }
}

// The call deletes by name, and may still be at work.
TEST_F(KillTest, NothingIsMadeUnderTheseNamesBeforeItIsKnownToBeOver) {
  Begin(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
  rig_.unknown_after = absl::Seconds(15);
  std::optional<gateway::v1::WriteRequest> sent;
  rig_.fate = [&](const gateway::v1::WriteRequest& request) {
    if (!request.has_delete_collection() || sent) return Fate::kNormal;
    sent = request;
    return Fate::kLostAnswer;
  };
  rig_.kube().SetPodPhase("default/j-t0-1", kPodFailed, 1);
  ASSERT_TRUE(rig_.RunUntil([&] { return sent && rig_.kube().pods().empty(); }, absl::Seconds(5)));
  rig_.Run(absl::Seconds(5));
  EXPECT_EQ(rig_.kube().Count("create", "pods"), 0);
  rig_.Run(absl::Seconds(30));
  EXPECT_EQ(rig_.kube().Count("create", "pods"), 3);
  EXPECT_EQ(sent->delete_collection().label_selector(),
            "volcano.sh/job-name=j,basalt.dev/job-uid=" + rig_.kube().job("default/j").meta().uid() +
                ",basalt.dev/job-version in (0)");
  EXPECT_EQ(sent->delete_collection().field_selector(), "");
}

TEST_F(KillTest, OneThatNeverReachedTheServerIsSentAgain) {
  Begin(MakeJob("j", 1, 3));
  int sent = 0;
  rig_.fate = [&](const gateway::v1::WriteRequest& request) {
    return request.has_delete_collection() && ++sent == 1 ? Fate::kLostRequest : Fate::kNormal;
  };
  Abort();
  rig_.Run(absl::Seconds(30));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 0);
}

TEST_F(KillTest, APodWithoutOurLabelsGoesSingly) {
  Begin(MakeJob("j", 1, 4));
  for (const char* pod : {"default/j-t0-2", "default/j-t0-3"}) {
    rig_.kube().EditLabel(pod, kube::kJobUidKey, "");
    rig_.kube().EditPod(pod, [](kube::v1::Pod& changed) { changed.clear_job_uid_label(); });
  }
  rig_.Run();
  Abort();
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 2);
}

TEST_F(KillTest, WhereItIsRefusedPodsGoSingly) {
  Begin(MakeJob("j", 1, 3));
  rig_.kube().SetRefuse([](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_delete_collection()) return false;
    error.set_code(403);
    error.set_reason("Forbidden");
    return true;
  });
  Abort();
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Singly(), 3);
}

TEST_F(KillTest, AJobOfTheSameNameWaitsUntilItIsOver) {
  Begin(MakeJob("j", 1, 3));
  rig_.unknown_after = absl::Seconds(15);
  bool sent = false;
  rig_.fate = [&](const gateway::v1::WriteRequest& request) {
    if (!request.has_delete_collection() || sent) return Fate::kNormal;
    sent = true;
    return Fate::kLostAnswer;
  };
  rig_.kube().PutCommand("default", "stop", "AbortJob", "j");
  ASSERT_TRUE(rig_.RunUntil([&] { return sent && rig_.kube().pods().empty(); }, absl::Seconds(5)));
  rig_.kube().DeleteJob("default/j");
  rig_.Run();
  rig_.kube().ClearLog();
  rig_.kube().PutJob(MakeJob("j", 1, 3));
  rig_.Run(absl::Seconds(8));
  EXPECT_EQ(rig_.kube().Count("create", "pods"), 0) << "they might be deleted by their names";
  rig_.Run(absl::Seconds(20));
  EXPECT_EQ(rig_.kube().Count("create", "pods"), 3);
}

// The answers for the pods come when the job does not exist any more.
TEST_F(KillTest, AJobThatIsDeletedWhileItsPodsAreMadeIsForgotten) {
  rig_.Start();
  rig_.kube().PutJob(MakeJob("j", 1, 50));
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.kube().pods().size() > 10; }, absl::Seconds(5)));
  const int made = rig_.kube().Count("create", "pods");
  rig_.kube().DeleteJob("default/j");
  rig_.Run(absl::Seconds(20));
  EXPECT_GT(rig_.kube().Count("create", "pods"), made) << "what was on its way";
  EXPECT_TRUE(rig_.kube().pods().empty()) << "collected as garbage";
  EXPECT_EQ(rig_.controller().Find("default/j"), nullptr);
}

TEST_F(KillTest, OnePodIsNotWorthASearch) {
  Begin(MakeJob("j", 1, 1));
  Abort();
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_EQ(Collectively(), 0);
  EXPECT_EQ(Singly(), 1);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
