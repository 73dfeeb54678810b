// A task whose dependency has failed for good can never start: the job ends, whichever process observed what, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kKey[] = "default/j";

// Returns a job whose task t1 depends on t0, and t2 on t1; one pod each.
kube::v1::Job Chain(int tasks, int min_available) {
  kube::v1::Job job = MakeJob("j", tasks, 1);
  job.mutable_spec()->set_min_available(min_available);
  for (int t = 1; t < tasks; ++t) {
    job.mutable_spec()->mutable_tasks(t)->mutable_depends_on()->add_names("t" + std::to_string(t - 1));
  }
  return job;
}

std::string LastOutcome(JobRig& rig) {
  const auto history = HistoryStore(rig.store()).Read(SlotOf(kKey), rig.kube().job(kKey).meta().uid());
  return history.ok() && !history->empty() ? history->back().outcome() : "";
}

class DependencyTest : public JobTest {};

TEST_F(DependencyTest, AJobWhoseFirstTaskFailsBeforeItWasReadyEnds) {
  for (const bool away : {false, true}) {
    for (const int min_available : {1, 2, 3}) {
      SCOPED_TRACE(::testing::PrintToString(std::pair(away, min_available)));
      Fresh();
      Begin(Chain(3, min_available));
      ASSERT_EQ(kube().pods().size(), 1u);
      if (away) rig().Kill();
      kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
      if (away) rig().Start();
      rig().Run(absl::Seconds(30));
      EXPECT_EQ(Phase(), kFailed);
      EXPECT_EQ(kube().Count("create", "pods"), 1);
      EXPECT_THAT(LastOutcome(rig()), HasSubstr("task t1 can never start: task t0, which it depends on, has failed"));
      EXPECT_THAT(LastOutcome(rig()), HasSubstr("task t2 can never start: task t1"));
    }
  }
}

TEST_F(DependencyTest, OtherTasksAreWaitedForAndDecideAsEver) {
  rig().Start();
  kube::v1::Job job = Chain(2, 1);
  *job.mutable_spec()->add_tasks() = job.spec().tasks(0);
  job.mutable_spec()->mutable_tasks(2)->set_name("beside");
  kube().PutJob(std::move(job));
  rig().Run();
  kube().SetPodPhase("default/j-beside-0", kPodRunning);
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_THAT(WaitingFor(rig().controller().ViewOf(*rig().controller().Find(kKey), {}), QueueView()),
              HasSubstr("has failed for good"));
  kube().SetPodPhase("default/j-beside-0", kPodSucceeded);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Phase(), kCompleted) << "minAvailable is 1, and one pod has succeeded";
}

TEST_F(DependencyTest, APolicyThatMakesTheFailedPodAnewIsWaitedFor) {
  Begin(WithPolicy(Chain(2, 1), "PodFailed", "RestartTask", absl::Seconds(20)));
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kRunning);
  rig().Run(absl::Seconds(30));
  kube().SetPodPhase("default/j-t0-0", kPodRunning);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().pods().size(), 2u) << "the dependency is ready";
}

// The pod ran already and is gone: it cannot be made again.
TEST_F(DependencyTest, APodThatIsRemovedAfterItsDependencyHasFailedIsNotWaitedFor) {
  Begin(Chain(2, 1));
  kube().SetPodPhase("default/j-t0-0", kPodRunning);
  rig().Run(absl::Seconds(10));
  kube().SetPodPhase("default/j-t1-0", kPodRunning);
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Phase(), kRunning);
  kube().RemovePod("default/j-t1-0");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kFailed);
}

TEST_F(DependencyTest, AnyOfSeveralIsLostWithTheLastOfThem) {
  rig().Start();
  kube::v1::Job job = MakeJob("j", 3, 1);
  job.mutable_spec()->set_min_available(1);
  auto* on = job.mutable_spec()->mutable_tasks(2)->mutable_depends_on();
  on->add_names("t0");
  on->add_names("t1");
  on->set_iteration("any");
  kube().PutJob(std::move(job));
  rig().Run();
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kRunning);
  kube().SetPodPhase("default/j-t1-0", kPodFailed, 1);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Phase(), kFailed);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
