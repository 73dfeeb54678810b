// The gang of a job some of whose work is done although its pods are gone: the scheduler counts a succeeded pod only as
// long as it exists.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class GangTest : public JobTest {
 protected:
  const kube::v1::PodGroupSpec& Asked() { return Group().spec(); }
  // Runs a job of one task with four pods, all of which are needed.
  void RunAll() {
    BeginRunning(MakeJob("j", 1, 4));
    ASSERT_EQ(Asked().min_member(), 4);
  }
  // Returns a job of two tasks, of which the second depends on the first; all pods are needed.
  static kube::v1::Job JobInOrder(int32_t replicas) {
    kube::v1::Job job = MakeJob("j", 2, replicas);
    job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
    return job;
  }
  // Runs until the pods of both tasks run.
  void RunInOrder(kube::v1::Job job) {
    Begin(std::move(job));
    rig().Run(absl::Seconds(20));
    for (int task = 0; task < 2; ++task) {
      kube().SetAllPods(kPodRunning);
      rig().Run(absl::Seconds(20));
    }
    kube().ClearLog();
  }
};

TEST_F(GangTest, WorkThatIsDoneIsNotAskedOfTheGangOnceItsPodIsGone) {
  RunAll();
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Asked().min_member(), 4);  // The pod exists, and the scheduler counts it.
  kube().RemovePod("default/j-t0-0");
  kube().RemovePod("default/j-t0-1");  // This pod was still at work: it is made again.
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 3u);
  EXPECT_EQ(Asked().min_member(), 3);
  ASSERT_EQ(Asked().min_task_member_size(), 1);
  EXPECT_EQ(Asked().min_task_member(0).min_member(), 3);
  EXPECT_EQ(kube().Count("patch", "podgroups"), 1);
}

TEST_F(GangTest, TheGroupIsWrittenOnlyWhenTheNumberChanges) {
  RunAll();
  rig().Run(absl::Minutes(5));
  EXPECT_EQ(kube().Count("patch", "podgroups"), 0);
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Run();
  kube().RemovePod("default/j-t0-0");
  rig().Run(absl::Minutes(5));
  EXPECT_EQ(kube().Count("patch", "podgroups"), 1);
  // A new owner on an empty disk finds the group as it should be.
  StartAgain(/*lose_disk=*/true);
  rig().Run(absl::Minutes(5));
  EXPECT_EQ(Asked().min_member(), 3);
  EXPECT_EQ(kube().Count("patch", "podgroups"), 1);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kCompleted);
}

TEST_F(GangTest, ManyPodsCleanedUpAtOnceAreAFewWrites) {
  RunAll();
  Scale(40, 40);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(kube().pods().size(), 40u);
  kube().ClearLog();
  kube().SetPodPhase("default/j-t0-0", kPodRunning);
  for (int i = 1; i < 40; ++i) kube().SetPodPhase("default/j-t0-" + std::to_string(i), kPodSucceeded);
  rig().Run(absl::Seconds(5));
  for (int i = 1; i < 40; ++i) {
    kube().RemovePod("default/j-t0-" + std::to_string(i));
    rig().Run(absl::Milliseconds(100));
  }
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Asked().min_member(), 1);
  EXPECT_EQ(kube().pods().size(), 1u);
  EXPECT_LE(kube().Count("patch", "podgroups"), 3);
}

// mpi's launcher starts after its workers: with all pods in minMember, the scheduler would wait for the launcher, which
// is made once the workers run.
TEST_F(GangTest, TasksThatWaitForOthersCountOnceTheirPodsAreThere) {
  kube::v1::Job job = JobInOrder(2);
  job = WithPolicy(std::move(job), "PodFailed", "RestartJob");
  rig().Start();
  kube().PutJob(job);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(Asked().min_member(), 2);
  ASSERT_EQ(Asked().min_task_member_size(), 1);
  EXPECT_EQ(Asked().min_task_member(0).task(), "t0");
  kube().ClearLog();
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 4u);
  EXPECT_EQ(Asked().min_member(), 4);
  EXPECT_EQ(Asked().min_task_member_size(), 2);
  const auto& log = kube().log();
  const auto of = [](std::string_view plural) {
    return [plural](const auto& write) { return write.plural == plural; };
  };
  const auto patched = std::find_if(log.begin(), log.end(), of("podgroups"));
  EXPECT_EQ(std::count_if(log.begin(), patched, of("pods")), 2) << "the group is raised behind the last of the pods";
  // A task that counts goes on to count, also for a new process.
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  rig().Kill();
  kube().RemovePod("default/j-t1-1");
  rig().LoseDisk();
  kube().ClearLog();
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Asked().min_member(), 4);
  EXPECT_EQ(kube().Count("patch", "podgroups"), 0);
  // A new run begins with the first task again.
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Status().version(), 1);
  EXPECT_EQ(kube().pods().size(), 2u);
  EXPECT_EQ(Asked().min_member(), 2);
}

// A node dies with a pod of each task: the second task's pod is made once the first task's pod runs again, and the
// scheduler would wait for both.
TEST_F(GangTest, TheGangLeavesOutPodsThatCannotBeMadeYet) {
  RunInOrder(JobInOrder(2));
  ASSERT_EQ(kube().pods().size(), 4u);
  ASSERT_EQ(Asked().min_member(), 4);
  kube().RemovePod("default/j-t0-0");
  kube().RemovePod("default/j-t1-0");
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 3u);
  EXPECT_EQ(Asked().min_member(), 2);
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().pods().size(), 4u);
  EXPECT_EQ(Asked().min_member(), 4);
  EXPECT_LE(kube().Count("patch", "podgroups"), 2);
}

// The minimums of tasks count if minAvailable is at least their sum.
TEST_F(GangTest, ATaskOfTheGroupThatGrowsIsOneWrite) {
  struct Row {
    const char* what;
    int32_t before, after;  // minAvailable.
  };
  const Row rows[] = {{"minimums count", 8, 9},
                      {"minimums do not count", 6, 7},
                      {"minimums cease to count", 8, 8},
                      {"minimums begin to count", 6, 9}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Fresh();
    kube::v1::Job job = JobInOrder(4);
    job.mutable_spec()->set_min_available(row.before);
    RunInOrder(std::move(job));
    ASSERT_EQ(Asked().min_member(), row.before);
    EditSpec([&](kube::v1::JobSpec& spec) {
      spec.set_min_available(row.after);
      spec.mutable_tasks(1)->set_replicas(5);
      spec.mutable_tasks(1)->set_min_available(5);
    });
    rig().Run(absl::Seconds(20));
    EXPECT_EQ(kube().pods().size(), 9u);
    EXPECT_EQ(Asked().min_member(), row.after);
    EXPECT_EQ(kube().Count("patch", "podgroups"), 1);
  }
}

TEST_F(GangTest, AMessageOfTheSchedulerIsOneEventHoweverOftenItComes) {
  kube().new_group_phase = "Pending";
  Begin(MakeJob("j", 1, 2));
  const auto says = [&](const std::string& message) {
    kube().EditGroup(kube().groups().begin()->first, [&](kube::v1::PodGroup& group) {
      group.clear_conditions();
      auto* condition = group.add_conditions();
      condition->set_type("Unschedulable");
      condition->set_status("True");
      condition->set_message(message);
      condition->set_last_transition_ms(absl::ToUnixMillis(rig().time().Now()));
    });
    rig().Run();
  };
  kube().ClearLog();
  for (int round = 0; round < 100; ++round) says("2/2 tasks in gang unschedulable");
  EXPECT_EQ(kube().Count("create", "events"), 1);
  EXPECT_EQ(kube().WritesButEvents(), 0);
  for (int round = 0; round < 100; ++round) says(fmt::format("2/2 tasks in gang unschedulable: {} of 50 nodes", round));
  EXPECT_EQ(kube().Count("create", "events"), 1) << "numbers change in each round";
  rig().Run(absl::Minutes(5));
  says("1/2 tasks in gang unschedulable");
  EXPECT_EQ(kube().Count("create", "events"), 2);
  StartAgain();
  rig().Run();
  EXPECT_EQ(kube().Count("create", "events"), 2) << "told before the restart";
  EXPECT_EQ(kube().Count("patch", "events"), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
