// The deadlines on the disk: one record for each kept deadline, from the pass that sets it to the pass that ends it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/slots.h"
#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr char kKey[] = "default/j";

class DeadlineRecordsTest : public JobTest {
 protected:
  const DeadlineSet& Deadlines() { return Entry().deadlines; }
  // Returns "<job> <pod> <event> <UID of the pod> <due>; " for each deadline, of every job in the slot.
  std::string OnDisk() {
    std::string text;
    const absl::Status status = ForEachDeadline(
        rig().store(), SlotOf(kKey), [&](const std::string& job, const storage::v1::PendingAction& deadline) {
          text += fmt::format("{} {} {} {} {}; ", job, deadline.pod(), deadline.event(), deadline.pod_uid(),
                              deadline.due_ms());
        });
    EXPECT_TRUE(status.ok()) << status;
    return text;
  }
  // Returns the same for the kept deadlines of the job, from the memory of its process.
  std::string InMemory() {
    std::map<std::string, std::string> by_pod;
    for (const storage::v1::PendingAction* deadline : Deadlines().Earliest(1000)) {
      if (!IsKept(*deadline)) continue;
      by_pod[deadline->pod()] = fmt::format("{} {} {} {} {}; ", kKey, deadline->pod(), deadline->event(),
                                            deadline->pod_uid(), deadline->due_ms());
    }
    std::string text;
    for (const auto& [pod, line] : by_pod) text += line;
    return text;
  }
  // Two pods of the first task have failed, one of the second is gone, and the PodGroup is Unknown.
  void Begin() {
    Fresh();
    kube::v1::Job job = MakeJob("j", 2, 4);
    job.mutable_spec()->set_min_available(1);
    job.mutable_spec()->set_max_retry(20);
    job = WithPolicy(std::move(job), "PodFailed", "RestartPod", absl::Minutes(10));
    job = WithPolicy(std::move(job), "PodEvicted", "RestartTask", absl::Minutes(10));
    job = WithPolicy(std::move(job), "Unknown", "RestartJob", absl::Minutes(30));
    rig().StartRunning(std::move(job), absl::Seconds(10));
    ASSERT_EQ(OnDisk(), "");
    for (const char* pod : {"default/j-t0-1", "default/j-t0-3"}) kube().SetPodPhase(pod, kPodFailed, 3);
    kube().RemovePod("default/j-t1-2");
    kube().SetGroupPhase(kube().groups().begin()->first, "Unknown");
    rig().Run(absl::Seconds(10));
    ASSERT_EQ(Deadlines().size(), 4u);
    ASSERT_EQ(OnDisk(), InMemory());
  }
  void StartAgain() {
    JobTest::StartAgain();
    rig().Run();
  }
};

// The job cannot be read, and the process may die before the deadlines are its own.
TEST_F(DeadlineRecordsTest, ThoseOfAStatusThatIsNotReadYetHaveOne) {
  Begin();
  rig().Kill();
  rig().LoseDisk();
  kube().refuse_get = [](const gateway::v1::GetRequest&, gateway::v1::KubeError& error) {
    error.set_code(403);
    return true;
  };
  for (int process = 0; process < 2; ++process) {
    rig().Start();
    rig().Run();
    EXPECT_NE(OnDisk(), "") << process;
    EXPECT_EQ(OnDisk(), InMemory()) << process;
    rig().Kill();
  }
}

TEST_F(DeadlineRecordsTest, EachHasOneUntilItIsOver) {
  Begin();
  kube().SetPodPhase("default/j-t1-2", kPodRunning);
  rig().Run();
  EXPECT_EQ(Deadlines().size(), 3u) << "cancelled";
  EXPECT_EQ(OnDisk(), InMemory());
  rig().Run(absl::Minutes(10));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Deadlines().size(), 1u) << "carried out";
  EXPECT_EQ(OnDisk(), InMemory());
  rig().Run(absl::Minutes(30));
  EXPECT_EQ(kube().Count("create", "pods"), 8 + 1 + 2 + 8) << "for the evicted one, the failed ones, and again";
  EXPECT_TRUE(Deadlines().empty());
  EXPECT_EQ(OnDisk(), "");
}

TEST_F(DeadlineRecordsTest, TheNextProcessFindsThemAsTheyWere) {
  Begin();
  const std::string before = OnDisk();
  StartAgain();
  EXPECT_EQ(InMemory(), before);
  EXPECT_EQ(OnDisk(), before);
  rig().controller().CloseSlot(SlotOf(kKey));
  ASSERT_TRUE(rig().controller().OpenSlot(SlotOf(kKey)).ok());
  EXPECT_EQ(InMemory(), before) << "they go with their slot and come back with it";
  StartAgain();
  kube().SetPodPhase("default/j-t1-2", kPodRunning);
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
  rig().Run();
  EXPECT_EQ(Deadlines().size(), 4u);
  EXPECT_EQ(OnDisk(), InMemory()) << "one less and one more";
}

TEST_F(DeadlineRecordsTest, AJobThatIsDeletedLeavesNone) {
  for (const bool seen : {true, false}) {
    for (const bool pods_linger : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", seen, pods_linger));
      Begin();
      kube().SchedulePods(pods_linger);
      if (!seen) rig().Kill();
      kube().DeleteJob(kKey);
      if (!seen) rig().Start();
      rig().Run(absl::Minutes(1));
      EXPECT_EQ(OnDisk(), "");
      kube().FinishDeletions();
      StartAgain();
      EXPECT_EQ(rig().controller().Find(kKey), nullptr);
      EXPECT_EQ(OnDisk(), "");
    }
  }
}

// A gateway that lists from a lagging cache shows a job again after its end was recorded, while its pods go on ending.
TEST_F(DeadlineRecordsTest, AJobThatIsShownOnceMoreAfterItsEndLeavesNone) {
  Begin();
  const auto end = [&] {
    kube().ShowJobGone(kKey);
    rig().Run();
  };
  end();
  ASSERT_EQ(OnDisk(), "");
  StartAgain();
  kube().SetPodPhase("default/j-t0-2", kPodFailed, 3);
  rig().Run();
  ASSERT_NE(OnDisk(), "");
  end();
  const auto pods = kube().pods();
  for (const auto& [name, pod] : pods) kube().RemovePod(name);
  rig().Run();
  EXPECT_EQ(OnDisk(), "");
}

TEST_F(DeadlineRecordsTest, AnotherJobOfTheNameBeginsWithNone) {
  for (const bool running : {true, false}) {
    SCOPED_TRACE(running);
    Begin();
    if (!running) rig().Kill();
    kube().DeleteJob(kKey);
    kube::v1::Job job = MakeJob("j", 2, 4);
    job.mutable_spec()->set_min_available(1);
    kube().PutJob(WithPolicy(std::move(job), "PodFailed", "AbortJob", absl::Hours(1)));
    if (!running) rig().Start();
    rig().Run(absl::Seconds(10));
    EXPECT_EQ(OnDisk(), "");
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(10));
    kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
    rig().Run(absl::Seconds(10));
    EXPECT_EQ(Deadlines().size(), 1u);
    EXPECT_EQ(OnDisk(), InMemory());
    rig().Run(absl::Minutes(50));
    EXPECT_EQ(Phase(), kRunning);
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
