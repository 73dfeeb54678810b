// The watch of jobs lags behind that of pods, and shows a process without a record of a job an older status than the
// newest: the process must not act on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kKey[] = "default/j";

// Aborts the job by a write of which the process gets neither the answer nor the watch event.
void AbortUnheard(JobRig& rig) {
  rig.answers_late = [](const gateway::v1::WriteRequest&) { return absl::Hours(1); };
  rig.late = [](const kube::v1::Object& object, bool) {
    return object.has_job() ? absl::Hours(1) : absl::ZeroDuration();
  };
  rig.kube().PutCommand("default", "c", "AbortJob", "j");
  rig.Run(absl::Seconds(2));
  ASSERT_EQ(rig.PhaseOf(kKey), kube::v1::JOB_PHASE_ABORTING);
}

// The process loses its disk, and the next one is shown `older` for a while.
void LoseDiskAndShow(JobRig& rig, const kube::v1::Job& older) {
  rig.Kill();
  rig.LoseDisk();
  rig.kube().ClearLog();
  *rig.older[older.meta().uid()].mutable_job() = older;
  rig.Start();
  rig.Run(absl::Seconds(13));
}

class LaggingWatchTest : public JobTest {
 protected:
  void CommandAndWait(const char* name, const char* action) {
    Command(name, action);
    rig().Run(absl::Seconds(10));
  }
};

TEST_F(LaggingWatchTest, NoPodOfAnAbortedJobIsMadeThatIsShownAsRunning) {
  BeginRunning(MakeJob("j", 1, 2));
  const kube::v1::Job older = kube().job(kKey);
  Command("c", "AbortJob");
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kAborted);
  const int gets = kube().gets();
  LoseDiskAndShow(rig(), older);
  EXPECT_EQ(kube().WritesButEvents(), 0);
  EXPECT_EQ(kube().gets() - gets, 1);
  EXPECT_EQ(Phase(), kAborted);
  EXPECT_THAT(rig().prometheus->Text(), HasSubstr("basalt_job_stale_records_total 0\n"));
}

TEST_F(LaggingWatchTest, AKillThatIsOverHoldsBackNoPodOfTheNextRun) {
  kube().SchedulePods();
  BeginRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartTask"));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Seconds(2));
  const kube::v1::Job older = kube().job(kKey);
  ASSERT_EQ(older.status().phase(), kRestarting);
  kube().FinishDeletions();
  rig().Run(absl::Seconds(5));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kRunning);
  kube().RemovePod("default/j-t0-0");
  LoseDiskAndShow(rig(), older);
  EXPECT_EQ(kube().Count("delete", "pods"), 0);
  EXPECT_EQ(kube().Count("create", "pods"), 1);
}

// The process dies before the answer to a status write that has taken effect. The next process is shown the status
// before that write.
TEST_F(LaggingWatchTest, AnIntentIsNotGivenUpBeforeTheJobIsRead) {
  BeginRunning(MakeJob("j", 1, 2));
  const kube::v1::Job older = kube().job(kKey);
  AbortUnheard(rig());
  rig().Kill();
  rig().answers_late = nullptr;
  rig().late = nullptr;
  *rig().older[older.meta().uid()].mutable_job() = older;
  kube().ClearLog();
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(Phase(), kAborted);
  for (const JobKube::Logged& write : kube().log()) EXPECT_NE(write.code, 409) << write.plural;
}

// The power has failed: the disk has an intent that was carried out, but not the commit after it.
TEST_F(LaggingWatchTest, AnIntentThatTheWatchShowsCarriedOutMayBeFollowedByAnother) {
  BeginRunning(MakeJob("j", 1, 2));
  AbortUnheard(rig());
  const kube::v1::Job older = kube().job(kKey);
  const auto disk = rig().CopyDisk();
  rig().Kill();
  rig().answers_late = nullptr;
  rig().late = nullptr;
  rig().Start();
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kAborted);
  rig().Kill();
  rig().LosePower(disk);
  *rig().older[older.meta().uid()].mutable_job() = older;
  kube().ClearLog();
  rig().Start();
  rig().Run(absl::Seconds(20));
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

// A change of a pod that comes while the job cannot be read is answered once the job can be read.
TEST_F(LaggingWatchTest, APodThatFailsWhileTheJobIsReadIsAnswered) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartJob"));
  const kube::v1::Job older = kube().job(kKey);
  ASSERT_EQ(older.status().phase(), kPending);
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  bool can_read = false;
  kube().refuse_get = [&can_read](const gateway::v1::GetRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    return !can_read;
  };
  LoseDiskAndShow(rig(), older);
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Seconds(2));  // A pod that fails in the second of its removal counts as evicted.
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Seconds(5));
  can_read = true;
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(Status().version(), 1) << "the job was restarted";
}

size_t CountObjects(JobRig& rig) {
  return static_cast<size_t>(std::count_if(rig.kube().others().begin(), rig.kube().others().end(),
                                           [](const auto& object) { return !object.first.starts_with("events/"); }));
}

TEST_F(LaggingWatchTest, ObjectsThatAnOlderStatusNamesAreNotTakenForThere) {
  BeginRunning(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
  const kube::v1::Job older = kube().job(kKey);
  CommandAndWait("stop", "AbortJob");
  ASSERT_EQ(CountObjects(rig()), 0U);
  rig().fate = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() ? Fate::kNotSent : Fate::kNormal;
  };
  CommandAndWait("go", "ResumeJob");
  rig().fate = nullptr;
  LoseDiskAndShow(rig(), older);
  EXPECT_EQ(CountObjects(rig()), 3U);
  EXPECT_EQ(kube().pods().size(), 2U);
}

TEST_F(LaggingWatchTest, ObjectsThatAnOlderStatusDoesNotNameAreRemovedAllTheSame) {
  BeginRunning(WithPlugins(MakeJob("j", 1, 2), {"svc"}));
  CommandAndWait("stop", "AbortJob");
  const kube::v1::Job older = kube().job(kKey);
  rig().answers_late = [](const gateway::v1::WriteRequest& request) {
    return request.has_create() ? absl::Hours(1) : absl::ZeroDuration();
  };
  CommandAndWait("go", "ResumeJob");
  CommandAndWait("stop-again", "AbortJob");
  ASSERT_EQ(Phase(), kAborted);
  ASSERT_EQ(CountObjects(rig()), 3U);
  rig().answers_late = nullptr;
  LoseDiskAndShow(rig(), older);
  EXPECT_EQ(CountObjects(rig()), 0U);
}

// The gateway may not read jobs.
TEST_F(LaggingWatchTest, AReadThatIsRefusedHoldsEverythingBackAndIsTriedAgain) {
  Begin(MakeJob("j", 1, 2));
  rig().Kill();
  rig().LoseDisk();
  kube().RemovePod("default/j-t0-0");
  kube().refuse_get = [](const gateway::v1::GetRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    error.set_message("jobs is forbidden");
    return true;
  };
  kube().ClearLog();
  rig().Start();
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().WritesButEvents(), 0);
  EXPECT_EQ(Entry().newest_status.problem().message, "jobs is forbidden");
  // The next process must not take the record for that of a job that has been read.
  StartAgain();
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().WritesButEvents(), 0);
  kube().refuse_get = nullptr;
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
