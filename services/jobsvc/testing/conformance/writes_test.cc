// The number of requests to Kubernetes (job spec 15.2).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/kube/names.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

TEST_F(ConformanceTest, AJobThatWaitsAsksForNothingTwice) {
  kube().new_group_phase = "Pending";
  rig().options.event_interval = absl::Hours(1);  // A repeat of the warning of these edits reads its Event.
  Begin(WithPlugins(MakeJob("j", 1, 2), {"ssh", "svc"}));
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kPending);
  const int gets = kube().gets();
  kube().ClearLog();
  for (int i = 0; i < 10; ++i) {
    kube().EditJob("default/j", [i](kube::v1::Job& job) { job.mutable_spec()->set_max_retry(4 + i); });
    kube().SetGroupPhase("default/" + Group().meta().name(), i % 2 == 0 ? "" : "Pending");
    rig().Run(absl::Minutes(1));
  }
  EXPECT_EQ(kube().gets(), gets);
  EXPECT_EQ(rig().ssh_keys_made(), 1);
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

TEST_F(ConformanceTest, APodIsAskedForOnce) {
  Begin(MakeJob("j", 4, 30));
  for (int i = 0; i < 30; ++i) kube().RemovePod("default/j-t0-" + std::to_string(i));
  // These passes run while the creates are in flight and no watch shows the pods yet.
  for (int i = 0; i < 60; ++i) {
    kube().EditJob("default/j", [](kube::v1::Job&) {});
    rig().Run(absl::Microseconds(300));
  }
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().Count("create", "pods"), 150);
  for (const JobKube::Logged& write : kube().log()) {
    if (write.plural != "pods") continue;
    EXPECT_EQ(write.code, 0) << write.verb << " " << write.name;
  }
  EXPECT_EQ(Status().counts().pending(), 120);
}

TEST_F(ConformanceTest, PodsThatStartOneAfterTheOtherAreAFewWrites) {
  Begin(MakeJob("j", 1, 100));
  rig().Run(absl::Seconds(20));
  kube().ClearLog();
  for (const kube::v1::PodPhase phase : {kPodRunning, kPodSucceeded}) {
    for (int i = 0; i < 100; ++i) {
      kube().SetPodPhase("default/j-t0-" + std::to_string(i), phase);
      rig().Run(absl::Milliseconds(100));
    }
  }
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_LE(kube().Count("patch", "jobs/status"), 2 * 2 + 4) << "every five seconds, and the changes of the phase";
}

TEST_F(ConformanceTest, AJobThatDrainsOrIsFinishedIsKilledOnce) {
  kube().SchedulePods();
  BeginRunning(WithPolicy(MakeJob("j", 1, 4), "*", "TerminateJob"));
  Command("stop", "AbortJob");
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Phase(), kube::v1::JOB_PHASE_ABORTING);
  for (int i = 0; i < 3; ++i) {
    kube().RemovePod("default/j-t0-" + std::to_string(i));
    Command("again", "AbortJob");
    rig().Run(absl::Seconds(10));
  }
  EXPECT_EQ(Status().version(), 1);
  EXPECT_EQ(kube().Count("deletecollection", "pods") + kube().Count("delete", "pods"), 1);
  EXPECT_EQ(kube().Count("delete", "podgroups"), 1);
  kube().RemovePod("default/j-t0-3");
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kAborted);
  Command("again", "TerminateJob");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_EQ(Status().version(), 1);

  Fresh();
  BeginRunning(MakeJob("j", 1, 4));
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kCompleted);
  kube().ClearLog();
  for (int i = 0; i < 4; ++i) {
    kube().RemovePod("default/j-t0-" + std::to_string(i));
    rig().Run(absl::Seconds(10));
  }
  EXPECT_EQ(Status().version(), 0);
  EXPECT_EQ(Status().counts().succeeded(), 4);
  EXPECT_LE(kube().WritesButEvents(), 4) << "which of them are done is remembered";
}

void HearOfAForwardingQueue(JobController& controller) {
  kube::v1::Object queue;
  queue.mutable_queue()->mutable_meta()->set_name("default");
  queue.mutable_queue()->set_has_extend_clusters(true);
  controller.OnShared("queues", queue, false);
}

TEST_F(ConformanceTest, AForwardingQueueCostsOneWriteOfTheJob) {
  rig().on_start = HearOfAForwardingQueue;
  Begin(MakeJob("j", 1, 2));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kRunning);
  EXPECT_EQ(kube().Count("patch", "jobs"), 1);
  EXPECT_EQ(kube().Count("create", "jobs"), 0);
  const auto is_marked = [](const auto& annotations) {
    return std::any_of(annotations.begin(), annotations.end(), [](const kube::v1::KeyValue& it) {
      return it.key() == kube::kJobForwardingKey && it.value() == "true";
    });
  };
  EXPECT_TRUE(is_marked(kube().job("default/j").meta().annotations()));
  EXPECT_TRUE(is_marked(kube().groups().begin()->second.meta().annotations()));
  kube().ClearLog();
  rig().StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().Count("patch", "jobs"), 0);
  const json::value body = kube().pod_body("default/j-t0-0");
  EXPECT_EQ(FindString(*FindPath(body, {"metadata", "annotations"}), kube::kJobForwardingKey), "true");
}

TEST_F(ConformanceTest, AJobWithoutPodsIsNotWrittenAgainAndAgain) {
  BeginRunning(MakeJob("j", 1, 2));
  kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->set_min_available(0);
    job.mutable_spec()->mutable_tasks(0)->set_replicas(0);
  });
  rig().Run(absl::Minutes(1));
  ASSERT_TRUE(kube().pods().empty());
  ASSERT_EQ(Phase(), kRunning);
  kube().ClearLog();
  for (int i = 0; i < 10; ++i) {
    kube().EditJob("default/j", [i](kube::v1::Job& job) { job.mutable_spec()->set_max_retry(4 + i); });
    rig().Run(absl::Minutes(1));
  }
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

TEST_F(ConformanceTest, AWriteNamesOnlyWhatHasChanged) {
  Begin(MakeJob("j", 1, 3));
  std::vector<std::string> patches;
  rig().fate = [&](const gateway::v1::WriteRequest& request) {
    EXPECT_TRUE(request.resource().plural() != "jobs" || request.subresource() == "status");
    if (request.subresource() == "status") patches.push_back(request.patch().body());
    return Fate::kNormal;
  };
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kRunning);
  ASSERT_GE(patches.size(), 1u);
  for (const std::string& patch : patches) {
    EXPECT_EQ(patch.find("minAvailable"), std::string::npos) << patch;
    EXPECT_EQ(patch.find("spec"), std::string::npos) << patch;
    EXPECT_EQ(patch.find("succeeded"), std::string::npos) << patch;
  }
}

TEST_F(ConformanceTest, OnlySoManyWritesOfAJobAreUnderWay) {
  int sent = 0;
  int most = 0;
  rig().fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.resource().plural() != "pods") return Fate::kNormal;
    ++sent;
    const auto done = std::count_if(kube().log().begin(), kube().log().end(),
                                    [](const JobKube::Logged& write) { return write.plural == "pods"; });
    most = std::max(most, sent - static_cast<int>(done));
    return Fate::kNormal;
  };
  Begin(MakeJob("j", 1, 400));
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(kube().pods().size(), 400u);
  EXPECT_LE(most, 64);
  EXPECT_GE(most, 32);
}

TEST_F(ConformanceTest, APodOfAnUnknownJobLeavesNothingBehind) {
  rig().Start();
  kube().PutForeignPod("default", "ghost-t0-0", "ghost");
  rig().Run(absl::Seconds(10));
  kube().RemovePod("default/ghost-t0-0");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(rig().controller().Find("default/ghost"), nullptr);
  EXPECT_TRUE(rig().controller().entries().empty());
}

TEST_F(ConformanceTest, NothingKeepsLookingAtAJobThatWasMadeAgain) {
  BeginRunning(MakeJob("j", 1, 2));
  kube().DeleteJob("default/j");
  kube().PutJob(MakeJob("j", 1, 2));
  rig().Run(absl::Seconds(10));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Minutes(1));
  ASSERT_EQ(Phase(), kRunning);
  const int rounds = rig().rounds();
  rig().Run(absl::Hours(6));
  EXPECT_LE(rig().rounds(), rounds + 1);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
