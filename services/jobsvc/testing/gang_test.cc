// The gang of a job some of whose work is done although its pods are gone: the scheduler counts a succeeded pod only as
// long as it exists.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

const kube::v1::PodGroupSpec& GroupOf(JobRig& rig) { return rig.kube().groups().begin()->second.spec(); }

void FinishAndRemove(JobRig& rig, const std::string& pod) {
  rig.kube().SetPodPhase(pod, kPodSucceeded);
  rig.Run();
  rig.kube().RemovePod(pod);
}

// Runs a job of one task with four pods, all of which are needed.
void RunAll(JobRig& rig, kube::v1::Job job = MakeJob("j", 1, 4)) {
  rig.Start();
  rig.kube().PutJob(std::move(job));
  rig.Run();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  ASSERT_EQ(rig.PhaseOf("default/j"), kube::v1::JOB_PHASE_RUNNING);
  ASSERT_EQ(GroupOf(rig).min_member(), 4);
  rig.kube().ClearLog();
}

TEST(GangTest, WorkThatIsDoneIsNotAskedOfTheGangOnceItsPodIsGone) {
  JobRig rig;
  RunAll(rig);
  rig.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(GroupOf(rig).min_member(), 4);  // The pod exists, and the scheduler counts it.
  rig.kube().RemovePod("default/j-t0-0");
  rig.kube().RemovePod("default/j-t0-1");  // This pod was still at work: it is made again.
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 3u);
  EXPECT_EQ(GroupOf(rig).min_member(), 3);
  ASSERT_EQ(GroupOf(rig).min_task_member_size(), 1);
  EXPECT_EQ(GroupOf(rig).min_task_member(0).min_member(), 3);
  EXPECT_EQ(rig.kube().Count("patch", "podgroups"), 1);
}

TEST(GangTest, TheGroupIsWrittenOnlyWhenTheNumberChanges) {
  JobRig rig;
  RunAll(rig);
  rig.Run(absl::Minutes(5));
  EXPECT_EQ(rig.kube().Count("patch", "podgroups"), 0);
  FinishAndRemove(rig, "default/j-t0-0");
  rig.Run(absl::Minutes(5));
  EXPECT_EQ(rig.kube().Count("patch", "podgroups"), 1);
  // A new owner on an empty disk finds the group as it should be.
  rig.Kill();
  rig.LoseDisk();
  rig.Start();
  rig.Run(absl::Minutes(5));
  EXPECT_EQ(GroupOf(rig).min_member(), 3);
  EXPECT_EQ(rig.kube().Count("patch", "podgroups"), 1);
  rig.kube().SetAllPods(kPodSucceeded);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PhaseOf("default/j"), kube::v1::JOB_PHASE_COMPLETED);
}

TEST(GangTest, ManyPodsCleanedUpAtOnceAreAFewWrites) {
  JobRig rig;
  RunAll(rig);
  rig.kube().EditJob("default/j", [](kube::v1::Job& job) {
    job.mutable_spec()->set_min_available(40);
    job.mutable_spec()->mutable_tasks(0)->set_replicas(40);
  });
  rig.Run(absl::Seconds(20));
  ASSERT_EQ(rig.kube().pods().size(), 40u);
  rig.kube().ClearLog();
  rig.kube().SetPodPhase("default/j-t0-0", kPodRunning);
  for (int i = 1; i < 40; ++i) rig.kube().SetPodPhase("default/j-t0-" + std::to_string(i), kPodSucceeded);
  rig.Run(absl::Seconds(5));
  for (int i = 1; i < 40; ++i) {
    rig.kube().RemovePod("default/j-t0-" + std::to_string(i));
    rig.Run(absl::Milliseconds(100));
  }
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(GroupOf(rig).min_member(), 1);
  EXPECT_EQ(rig.kube().pods().size(), 1u);
  EXPECT_LE(rig.kube().Count("patch", "podgroups"), 3);
}

// Returns a job of two tasks, of which the second depends on the first; all pods are needed.
kube::v1::Job JobInOrder(int32_t replicas) {
  kube::v1::Job job = MakeJob("j", 2, replicas);
  job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
  return job;
}

// Runs until the pods of both tasks run.
void RunInOrder(JobRig& rig, kube::v1::Job job) {
  rig.Start();
  rig.kube().PutJob(std::move(job));
  rig.Run(absl::Seconds(20));
  for (int task = 0; task < 2; ++task) {
    rig.kube().SetAllPods(kPodRunning);
    rig.Run(absl::Seconds(20));
  }
}

// mpi's launcher starts after its workers: with all pods in minMember, the scheduler would wait for the launcher, which
// is made once the workers run.
TEST(GangTest, TasksThatWaitForOthersCountOnceTheirPodsAreThere) {
  JobRig rig;
  kube::v1::Job job = JobInOrder(2);
  auto* policy = job.mutable_spec()->add_policies();
  policy->add_events("PodFailed");
  policy->set_action("RestartJob");
  rig.Start();
  rig.kube().PutJob(job);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_EQ(GroupOf(rig).min_member(), 2);
  ASSERT_EQ(GroupOf(rig).min_task_member_size(), 1);
  EXPECT_EQ(GroupOf(rig).min_task_member(0).task(), "t0");
  rig.kube().ClearLog();
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 4u);
  EXPECT_EQ(GroupOf(rig).min_member(), 4);
  EXPECT_EQ(GroupOf(rig).min_task_member_size(), 2);
  const auto& log = rig.kube().log();
  const auto of = [](std::string_view plural) {
    return [plural](const auto& write) { return write.plural == plural; };
  };
  const auto patched = std::find_if(log.begin(), log.end(), of("podgroups"));
  EXPECT_EQ(std::count_if(log.begin(), patched, of("pods")), 2) << "the group is raised behind the last of the pods";
  // A task that counts goes on to count, also for a new process.
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  rig.Kill();
  rig.kube().RemovePod("default/j-t1-1");
  rig.LoseDisk();
  rig.kube().ClearLog();
  rig.Start();
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(GroupOf(rig).min_member(), 4);
  EXPECT_EQ(rig.kube().Count("patch", "podgroups"), 0);
  // A new run begins with the first task again.
  rig.kube().SetPodPhase("default/j-t0-0", kube::v1::POD_PHASE_FAILED, 1);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().job("default/j").status().version(), 1);
  EXPECT_EQ(rig.kube().pods().size(), 2u);
  EXPECT_EQ(GroupOf(rig).min_member(), 2);
}

// Runs a job of four pods, until the group includes all of them.
void RunFourInOrder(JobRig& rig) {
  RunInOrder(rig, JobInOrder(2));
  ASSERT_EQ(rig.kube().pods().size(), 4u);
  ASSERT_EQ(GroupOf(rig).min_member(), 4);
  rig.kube().ClearLog();
}

// A node dies with a pod of each task: the second task's pod is made once the first task's pod runs again, and the
// scheduler would wait for both.
TEST(GangTest, WhatCannotBeMadeAgainYetIsNotAskedFor) {
  JobRig rig;
  RunFourInOrder(rig);
  rig.kube().RemovePod("default/j-t0-0");
  rig.kube().RemovePod("default/j-t1-0");
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 3u);
  EXPECT_EQ(GroupOf(rig).min_member(), 2);
  rig.kube().SetAllPods(kPodRunning);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 4u);
  EXPECT_EQ(GroupOf(rig).min_member(), 4);
  EXPECT_LE(rig.kube().Count("patch", "podgroups"), 2);
}

// Returns a job whose minimums of tasks do not count: minAvailable is below their sum.
kube::v1::Job JobInOrderBelowItsMinimums() {
  kube::v1::Job job = JobInOrder(4);
  job.mutable_spec()->set_min_available(6);
  return job;
}

// The minimums of tasks count by the old spec and not by the new one, or the other way round.
TEST(GangTest, WhatIsAskedForStaysSoWhenMinimumsBeginOrCeaseToCount) {
  for (const bool counts_first : {true, false}) {
    JobRig rig;
    kube::v1::Job job = JobInOrderBelowItsMinimums();
    if (counts_first) job.mutable_spec()->set_min_available(8);
    RunInOrder(rig, std::move(job));
    ASSERT_EQ(GroupOf(rig).min_member(), counts_first ? 8 : 6);
    rig.kube().ClearLog();
    rig.kube().EditJob("default/j", [&](kube::v1::Job& edited) {
      edited.mutable_spec()->set_min_available(counts_first ? 8 : 9);
      edited.mutable_spec()->mutable_tasks(1)->set_replicas(5);
      edited.mutable_spec()->mutable_tasks(1)->set_min_available(5);
    });
    rig.Run(absl::Seconds(20));
    EXPECT_EQ(GroupOf(rig).min_member(), counts_first ? 8 : 9);
    EXPECT_EQ(rig.kube().Count("patch", "podgroups"), 1) << counts_first;
  }
}

TEST(GangTest, WhatTheSchedulerSaysIsOneEventHoweverOftenItSaysIt) {
  JobRig rig;
  rig.kube().new_group_phase = "Pending";
  rig.Start();
  rig.kube().PutJob(MakeJob("j", 1, 2));
  rig.Run();
  const auto says = [&](const std::string& message) {
    rig.kube().EditGroup(rig.kube().groups().begin()->first, [&](kube::v1::PodGroup& group) {
      group.clear_conditions();
      auto* condition = group.add_conditions();
      condition->set_type("Unschedulable");
      condition->set_status("True");
      condition->set_message(message);
      condition->set_last_transition_ms(absl::ToUnixMillis(rig.time().Now()));
    });
    rig.Run();
  };
  rig.kube().ClearLog();
  for (int round = 0; round < 100; ++round) says("2/2 tasks in gang unschedulable");
  EXPECT_EQ(rig.kube().Count("create", "events"), 1);
  EXPECT_EQ(rig.kube().WritesButEvents(), 0);
  for (int round = 0; round < 100; ++round) says(fmt::format("2/2 tasks in gang unschedulable: {} of 50 nodes", round));
  EXPECT_EQ(rig.kube().Count("create", "events"), 1) << "numbers change in each round";
  rig.Run(absl::Minutes(5));
  says("1/2 tasks in gang unschedulable");
  EXPECT_EQ(rig.kube().Count("create", "events"), 2);
  rig.Kill();
  rig.Start();
  rig.Run();
  EXPECT_EQ(rig.kube().Count("create", "events"), 2) << "told before the restart";
  EXPECT_EQ(rig.kube().Count("patch", "events"), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
