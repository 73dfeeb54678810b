// A full kill is one call that selects the pods by our labels (design rule 4). Other pods are deleted singly.
#include <gtest/gtest.h>

#include <optional>

#include "common/kube/names.h"
#include "services/jobsvc/core/render/job_status_json.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class KillTest : public JobTest {
 protected:
  void Abort() {
    Command("stop", "AbortJob");
    rig().Run(absl::Seconds(4));
  }
  int Singly() { return kube().Count("delete", "pods"); }
  int Collectively() { return kube().Count("deletecollection", "pods"); }
};

TEST_F(KillTest, LivePodsGoInOneCallAndFinishedOnesStay) {
  BeginRunning(MakeJob("j", 2, 3));
  kube().SetPodPhase("default/j-t0-1", kPodSucceeded);
  rig().Run(absl::Seconds(10));
  kube().ClearLog();
  Abort();
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 0);
  EXPECT_EQ(kube().pods().size(), 1U);
  EXPECT_EQ(Status().counts().succeeded(), 1);
  // The writes are Aborting, the pods, the group, Aborted and the command.
  EXPECT_EQ(kube().WritesButEvents(), 5);
}

TEST_F(KillTest, ARestartTakesFinishedPodsToo) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 4), "PodFailed", "RestartJob"));
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 1);
  rig().Run(absl::Seconds(5));
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 0);
  ASSERT_EQ(kube().pods().size(), 4U);
  for (const auto& [name, pod] : kube().pods()) EXPECT_EQ(pod.job_version(), 1) << name;
}

// Somebody removed the owner, to keep the pod: it has all of our labels, and nobody may delete it (job spec 3.2).
TEST_F(KillTest, APodThatIsNotTheJobsAnyMoreIsNotTakenAlongForItsLabels) {
  for (const bool seen_before : {true, false}) {
    SCOPED_TRACE(seen_before);
    Fresh();
    BeginRunning(MakeJob("j", 1, 4));
    if (!seen_before) rig().Kill();
    kube().EditPod("default/j-t0-2", [](kube::v1::Pod& pod) { pod.clear_owner_uid(); });
    if (!seen_before) {
      rig().LoseDisk();
      rig().Start();
    }
    rig().Run(absl::Seconds(5));
    Abort();
    EXPECT_EQ(Phase(), kAborted);
    EXPECT_EQ(Collectively(), 0);
    EXPECT_EQ(Singly(), 3);
    EXPECT_TRUE(kube().pods().contains("default/j-t0-2"));
  }
}

TEST_F(KillTest, ATargetThatIsNotTheJobsAnyMoreIsNotWaitedFor) {
  BeginRunning(MakeJob("j", 1, 3));
  rig().fate = [](const gateway::v1::WriteRequest& request) {
    return request.resource().plural() == "pods" && request.has_patch() ? Fate::kNotSent : Fate::kNormal;
  };
  kube().PutTargeted("again", "RestartTask", R"({"task":"t0"})");
  rig().Run(absl::Seconds(5));
  kube().EditPod("default/j-t0-1", [](kube::v1::Pod& pod) { pod.clear_owner_uid(); });
  rig().Run(absl::Seconds(5));
  rig().fate = nullptr;
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Singly(), 2);
  EXPECT_TRUE(kube().pods().contains("default/j-t0-1"));
  EXPECT_FALSE(Entry().persisted.kill) << "it is over";
}

// The pods were scaled away a moment before, and run on for their grace period.
TEST_F(KillTest, PodsBeyondTheSizeOfATaskAreAwaitedToo) {
  BeginRunning(MakeJob("j", 1, 3));
  kube().SchedulePods();
  Scale(0, 0);
  rig().fate = [](const gateway::v1::WriteRequest& request) {
    const bool of_pods = request.resource().plural() == "pods";
    return of_pods && !request.has_create() ? Fate::kNotSent : Fate::kNormal;
  };
  Abort();
  EXPECT_EQ(Phase(), kube::v1::JOB_PHASE_ABORTING) << "three pods run";
  rig().fate = nullptr;
  rig().Run(absl::Seconds(40));
  EXPECT_EQ(Phase(), kube::v1::JOB_PHASE_ABORTING) << "they end";
  kube().FinishDeletions();
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kAborted);
}

// An eviction costs a retry, however many pods a task has, and so the restarts end.
TEST_F(KillTest, ATaskThatIsEvictedWholeIsRestartedAndCounted) {
  for (const char* action : {"RestartTask", "RestartPod"}) {
    SCOPED_TRACE(action);
    Fresh();
    rig().Start();
    kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), "PodEvicted", action);
    job.mutable_spec()->set_max_retry(3);
    kube().PutJob(std::move(job));
    rig().Run();
    for (int evictions = 1; evictions <= 3; ++evictions) {
      kube().SetAllPods(kPodRunning);
      rig().Run(absl::Seconds(10));
      ASSERT_EQ(Phase(), kRunning);
      kube().RemovePod("default/j-t0-0");
      rig().Run(absl::Seconds(10));
      EXPECT_EQ(Status().retry_count(), evictions);
    }
    EXPECT_EQ(Phase(), kFailed);
  }
}

// The call deletes by name, and may still be at work.
TEST_F(KillTest, NothingIsMadeUnderTheseNamesBeforeItIsKnownToBeOver) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
  rig().unknown_after = absl::Seconds(15);
  std::optional<gateway::v1::WriteRequest> sent;
  rig().fate = [&](const gateway::v1::WriteRequest& request) {
    if (!request.has_delete_collection() || sent) return Fate::kNormal;
    sent = request;
    return Fate::kLostAnswer;
  };
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 1);
  ASSERT_TRUE(rig().RunUntil([&] { return sent && kube().pods().empty(); }, absl::Seconds(5)));
  rig().Run(absl::Seconds(5));
  EXPECT_EQ(kube().Count("create", "pods"), 0);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(kube().Count("create", "pods"), 3);
  EXPECT_EQ(sent->delete_collection().label_selector(),
            "volcano.sh/job-name=j,basalt.dev/job-uid=" + kube().job("default/j").meta().uid() +
                ",basalt.dev/job-version in (0)");
  EXPECT_EQ(sent->delete_collection().field_selector(), "");
}

TEST_F(KillTest, APodWithoutOurLabelsGoesSingly) {
  BeginRunning(MakeJob("j", 1, 4));
  for (const char* pod : {"default/j-t0-2", "default/j-t0-3"}) {
    kube().EditLabel(pod, kube::kJobUidKey, "");
    kube().EditPod(pod, [](kube::v1::Pod& changed) { changed.clear_job_uid_label(); });
  }
  rig().Run();
  Abort();
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Collectively(), 1);
  EXPECT_EQ(Singly(), 2);
}

TEST_F(KillTest, WhereItIsRefusedPodsGoSingly) {
  BeginRunning(MakeJob("j", 1, 3));
  kube().RefuseWrites([](const auto& request) { return request.has_delete_collection(); }, 403, "", "Forbidden");
  Abort();
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Singly(), 3);
}

TEST_F(KillTest, AJobOfTheSameNameWaitsUntilItIsOver) {
  BeginRunning(MakeJob("j", 1, 3));
  rig().unknown_after = absl::Seconds(15);
  bool sent = false;
  rig().fate = [&](const gateway::v1::WriteRequest& request) {
    if (!request.has_delete_collection() || sent) return Fate::kNormal;
    sent = true;
    return Fate::kLostAnswer;
  };
  Command("stop", "AbortJob");
  ASSERT_TRUE(rig().RunUntil([&] { return sent && kube().pods().empty(); }, absl::Seconds(5)));
  kube().DeleteJob("default/j");
  rig().Run();
  kube().ClearLog();
  kube().PutJob(MakeJob("j", 1, 3));
  rig().Run(absl::Seconds(8));
  EXPECT_EQ(kube().Count("create", "pods"), 0) << "they might be deleted by their names";
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().Count("create", "pods"), 3);
}

// The answers for the pods come when the job does not exist any more.
TEST_F(KillTest, AJobThatIsDeletedWhileItsPodsAreMadeIsForgotten) {
  rig().Start();
  kube().PutJob(MakeJob("j", 1, 50));
  ASSERT_TRUE(rig().RunUntil([&] { return kube().pods().size() > 10; }, absl::Seconds(5)));
  const int made = kube().Count("create", "pods");
  kube().DeleteJob("default/j");
  rig().Run(absl::Seconds(20));
  EXPECT_GT(kube().Count("create", "pods"), made) << "what was on its way";
  EXPECT_TRUE(kube().pods().empty()) << "collected as garbage";
  EXPECT_EQ(rig().controller().Find("default/j"), nullptr);
}

TEST_F(KillTest, OnePodIsNotWorthASearch) {
  BeginRunning(MakeJob("j", 1, 1));
  Abort();
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Collectively(), 0);
  EXPECT_EQ(Singly(), 1);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
