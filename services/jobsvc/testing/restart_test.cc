// Restarts of jobs, tasks and pods: which pods are killed, which are made again, and when the restarts end.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

TEST(RestartTest, RestartJobKillsEverythingAndBeginsAgainWithTheNextVersion) {
  JobRig rig;
  rig.kube().SchedulePods();
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  const std::string old_group = rig.kube().groups().begin()->second.meta().uid();
  rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig.Run(absl::Seconds(2));
  EXPECT_EQ(rig.PhaseOf("default/j"), kRestarting);
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 1);
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 1);
  EXPECT_EQ(rig.kube().Count("deletecollection", "pods"), 1);
  rig.kube().FinishDeletions();
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PhaseOf("default/j"), kPending);
  ASSERT_EQ(rig.kube().pods().size(), 3u);
  for (const auto& [name, pod] : rig.kube().pods()) EXPECT_EQ(pod.job_version(), 1) << name;
  ASSERT_EQ(rig.kube().groups().size(), 1u);
  EXPECT_NE(rig.kube().groups().begin()->second.meta().uid(), old_group);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 1);
  EXPECT_EQ(rig.kube().Count("create", "pods"), 6);
}

// The action of a policy comes first, also if it has to wait for a write of counts (W11).
TEST(RestartTest, NoPodIsMadeAgainWhileAnActionWaitsToBeCommitted) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartJob"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  bool under_way = false;
  rig.unknown_after = absl::Seconds(15);
  rig.fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.subresource() != "status" || std::exchange(under_way, true)) return Fate::kNormal;
    return Fate::kLostRequest;  // The write's fate is unknown until the server must have given it up.
  };
  rig.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  ASSERT_TRUE(rig.RunUntil([&] { return under_way; }));
  rig.kube().ClearLog();
  rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig.Run(absl::Seconds(2));  // A pod that fails in the second of its removal counts as evicted.
  rig.kube().RemovePod("default/j-t0-1");
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 1);
  EXPECT_EQ(rig.kube().Count("create", "pods"), 3);
  for (const JobKube::Logged& write : rig.kube().log()) {
    if (write.plural == "jobs/status") break;
    EXPECT_FALSE(write.verb == "create" && write.plural == "pods") << write.name << " was made before the restart";
  }
}

TEST(RestartTest, TheFailedPodOfAKilledRunDoesNotDecideAboutTheNext) {
  JobRig rig;
  rig.kube().SchedulePods();
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 1), "PodFailed", "RestartJob"));
  rig.Run();
  rig.kube().HoldPod("default/j-t0-0");
  rig.kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.PhaseOf("default/j"), kRestarting);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().terminating(), 1);
  rig.kube().FinishDeletions();
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.PhaseOf("default/j"), kPending);
}

// The pod had not succeeded, and somebody removes it; a finalizer keeps it for a while.
TEST(RestartTest, AFailedPodIsEvictedWhenItIsGoneThoughItsDeletionWasSeenBefore) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartTask"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  rig.kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
  rig.Run(absl::Seconds(5));
  rig.kube().EditPod("default/j-t0-0",
                     [&](kube::v1::Pod& pod) { pod.set_deletion_ms(absl::ToUnixMillis(rig.kube().Now())); });
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 0) << "it is there still";
  rig.kube().RemovePod("default/j-t0-0");
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 1);
}

// The policies of this job answer a failure and a removal alike.
kube::v1::Job RestartsPods() {
  return WithPolicy(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartPod"), "PodEvicted", "RestartPod");
}

// For five seconds, neither the answer nor the watch reports a status write.
void HoldStatusWrites(JobRig& rig) {
  rig.answers_late = [](const gateway::v1::WriteRequest& request) {
    return request.subresource() == "status" ? absl::Seconds(5) : absl::ZeroDuration();
  };
  rig.late = [](const kube::v1::Object& object, bool) {
    return object.has_job() ? absl::Seconds(5) : absl::ZeroDuration();
  };
}

// Returns how often history records a restart of pods.
size_t TimesRestarted(JobRig& rig) {
  const JobEntry* entry = rig.controller().Find("default/j");
  const auto history = rig.controller().HistoryOf(entry->slot, entry->record.uid());
  return static_cast<size_t>(std::count_if(history->begin(), history->end(),
                                           [](const auto& record) { return record.action() == "RestartPod"; }));
}

// The fate of the write decides which of the two events is answered.
TEST(RestartTest, APodThatFailsAndIsRemovedWhileThatIsBeingAnsweredIsRestartedOnce) {
  struct Row {
    const char* name;
    Fate fate;
  };
  const Row rows[] = {{"its answer comes late", Fate::kNormal},
                      {"its answer is lost", Fate::kLostAnswer},
                      {"it is lost on its way", Fate::kLostRequest}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    JobRig rig;
    rig.Start();
    rig.kube().PutJob(RestartsPods());
    rig.Run();
    rig.kube().SetAllPods(kPodRunning);
    rig.Run(absl::Seconds(20));
    HoldStatusWrites(rig);
    rig.unknown_after = absl::Seconds(5);
    int writes = 0;
    rig.fate = [&](const gateway::v1::WriteRequest& request) {
      return request.subresource() == "status" && ++writes == 1 ? row.fate : Fate::kNormal;
    };
    const std::string failed = rig.kube().pods().at("default/j-t0-1").uid();
    rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
    rig.Run(absl::Seconds(2));  // A pod that fails in the second of its removal counts as evicted.
    ASSERT_TRUE(rig.controller().Find("default/j")->commit.under_way());
    rig.kube().RemovePod("default/j-t0-1");
    rig.Run(absl::Seconds(40));
    EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 1);
    EXPECT_EQ(TimesRestarted(rig), 1u);
    ASSERT_TRUE(rig.kube().pods().contains("default/j-t0-1"));
    EXPECT_NE(rig.kube().pods().at("default/j-t0-1").uid(), failed);
    EXPECT_EQ(rig.kube().Count("create", "pods"), 4);
  }
}

// A restart costs a retry unless the job is Restarting. When the removal would be answered, the job is Pending again.
TEST(RestartTest, SuchAPodCostsNoRetryOfAJobThatIsRestarting) {
  JobRig rig;
  rig.Start();
  kube::v1::Job job = RestartsPods();
  job.mutable_spec()->set_min_available(1);
  rig.kube().PutJob(job);
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  HoldStatusWrites(rig);
  rig.kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
  rig.Run(absl::Seconds(2));
  rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig.Run(absl::Seconds(4));
  ASSERT_EQ(rig.PhaseOf("default/j"), kPending) << "its second write has arrived";
  ASSERT_EQ(rig.controller().Find("default/j")->job->status().phase(), kRestarting) << "and is not acknowledged";
  rig.kube().RemovePod("default/j-t0-1");
  rig.Run(absl::Seconds(40));
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 1);
  EXPECT_EQ(TimesRestarted(rig), 2u);
}

TEST(RestartTest, RestartsEndInFailedWhenTheBudgetIsUsedUp) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rig.RunUntil([&] {
      return rig.kube().pods().contains("default/j-t0-0") &&
             rig.kube().pods().at("default/j-t0-0").job_version() == i && rig.PhaseOf("default/j") == kPending;
    })) << i;
    rig.Run(absl::Seconds(1));
    rig.kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
    rig.Run(absl::Seconds(1));
  }
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(rig.PhaseOf("default/j"), kFailed);
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 3);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().failed(), 1);  // The last retry keeps finished pods.
}

TEST(RestartTest, RestartPodReplacesOnePodAndLeavesTheOthersAlone) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(WithPolicy(MakeJob("j", 1, 3), "PodFailed", "RestartPod"));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  const std::string other = rig.kube().pods().at("default/j-t0-0").uid();
  const std::string failed = rig.kube().pods().at("default/j-t0-1").uid();
  rig.kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.kube().pods().at("default/j-t0-0").uid(), other);
  ASSERT_TRUE(rig.kube().pods().contains("default/j-t0-1"));
  EXPECT_NE(rig.kube().pods().at("default/j-t0-1").uid(), failed);
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 0);
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 1);
  EXPECT_EQ(rig.kube().Count("patch", "pods"), 1);  // The pod is marked before it is deleted.
  EXPECT_EQ(rig.kube().Count("delete", "pods"), 1);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PhaseOf("default/j"), kCompleted);
}

TEST(RestartTest, PodsOfATaskThatFailTogetherRestartItOnce) {
  JobRig rig;
  rig.kube().SchedulePods();
  rig.Start();
  kube::v1::Job job = WithPolicy(MakeJob("j", 2, 6), "PodFailed", "RestartTask");
  job.mutable_spec()->set_min_available(6);
  rig.kube().PutJob(job);
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(10));
  for (int i = 0; i < 6; ++i) rig.kube().SetPodPhase("default/j-t0-" + std::to_string(i), kPodFailed, 1);
  rig.Run(absl::Seconds(10));
  rig.kube().FinishDeletions();
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 1);
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.PhaseOf("default/j"), kRunning);
}

TEST(RestartTest, AnEvictedPodIsMadeAgainWithoutAPolicy) {
  JobRig rig;
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run();
  rig.kube().RemovePod("default/j-t0-1");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_EQ(rig.kube().job("default/j").status().retry_count(), 0);
}
}  // namespace
}  // namespace basalt::jobsvc::testing
