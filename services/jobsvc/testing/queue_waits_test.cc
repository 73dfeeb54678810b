// Jobs whose queue is missing, is closed, or has queues below it (job spec 2.3, C16). Once stored, they are not refused
// for that: they wait, and state the reason where kubectl shows it. Also the cost of jobs that wait for any queue.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class QueueWaitsTest : public JobTest {
 protected:
  void Begin() {
    kube().new_group_phase = "Pending";
    rig().Start();
    Put("other", "Open");
  }
  void Put(const std::string& name, const std::string& state, const std::string& parent = "root") {
    Hear(name, state, parent, /*gone=*/false);
    rig().Run(absl::Seconds(10));
  }
  void Remove(const std::string& name, const std::string& parent = "root") {
    Hear(name, "Open", parent, /*gone=*/true);
    rig().Run(absl::Seconds(10));
  }
  void Hear(const std::string& name, const std::string& state, const std::string& parent, bool gone) {
    kube::v1::Object object;
    object.mutable_queue()->mutable_meta()->set_name(name);
    object.mutable_queue()->set_state(state);
    object.mutable_queue()->set_parent(parent);
    rig().controller().OnShared("queues", object, gone);
  }
  void Submit() {
    kube::v1::Job job = MakeJob("j", 1, 2);
    job.mutable_spec()->set_queue("q");
    kube().PutJob(std::move(job));
    rig().Run(absl::Seconds(10));
  }
  std::string StatusText() {
    const kube::v1::JobStatus& status = Status();
    return status.reason().empty() ? "" : status.reason() + ": " + status.message();
  }
};

TEST_F(QueueWaitsTest, AJobThatNoQueueLetsInTakesNoMemoryForItsPods) {
  constexpr int kReplicas = 200'000;
  Begin();
  for (int i = 0; i < 20; ++i) kube().PutJob(MakeJob(fmt::format("j{}", i), 1, kReplicas));
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(kube().groups().size(), 20u);
  EXPECT_TRUE(kube().pods().empty());
  for (int i = 0; i < 20; ++i) {
    const PodSet& pods = rig().controller().Find(fmt::format("default/j{}", i))->pods;
    EXPECT_EQ(pods.missing().size(), static_cast<size_t>(kReplicas));
    EXPECT_EQ(pods.missing().ranges(), 1u);
    EXPECT_EQ(pods.room(), 0u);
  }
}

TEST_F(QueueWaitsTest, OneThatIsMissingIsToldOnceAnyIsThereUntilItComes) {
  kube().new_group_phase = "Pending";
  rig().Start();
  Submit();
  EXPECT_EQ(StatusText(), "") << "nobody knows which there are";
  Put("root", "Open", "");
  EXPECT_EQ(StatusText(), "QueueError: queue q does not exist");
  EXPECT_EQ(kube().Count("create", "events"), 1);
  Put("q", "");
  EXPECT_EQ(StatusText(), "") << "it will be opened";
  Put("q", "Open");
  EXPECT_EQ(StatusText(), "");
}

TEST_F(QueueWaitsTest, OneThatIsClosedIsToldWithOneWriteUntilItIsOpen) {
  Begin();
  Put("q", "Open");
  Submit();
  EXPECT_EQ(StatusText(), "");
  kube().ClearLog();
  Put("q", "Closed");
  EXPECT_EQ(StatusText(), "QueueError: queue q is Closed");
  rig().Run(absl::Minutes(10));
  EXPECT_EQ(kube().WritesButEvents(), 1);
  EXPECT_EQ(kube().Count("create", "events"), 1);
  Put("q", "Open");
  EXPECT_EQ(StatusText(), "");
  EXPECT_EQ(kube().WritesButEvents(), 2);
}

TEST_F(QueueWaitsTest, OneThatHasQueuesBelowItIsToldUntilTheyGo) {
  Begin();
  Put("q", "Open");
  Put("q-1", "Open", "q");
  Put("q-2", "Open", "q");
  Submit();
  EXPECT_EQ(StatusText(), "QueueError: queue q has queues below it");
  Put("q-1", "Open", "other");
  EXPECT_EQ(StatusText(), "QueueError: queue q has queues below it");
  Remove("q-2", "q");
  EXPECT_EQ(StatusText(), "");
  Put("q-1", "Open", "q");
  EXPECT_EQ(StatusText(), "QueueError: queue q has queues below it");
}

TEST_F(QueueWaitsTest, AnAdmittedJobHasNoQueueError) {
  Begin();
  Put("q", "Open");
  Submit();
  kube().SetGroupPhase(kube().groups().begin()->first, "Inqueue");
  rig().Run(absl::Seconds(5));
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(10));
  ASSERT_EQ(Phase(), kRunning);
  kube().ClearLog();
  Put("q", "Closed");
  Remove("q");
  EXPECT_EQ(StatusText(), "");
  EXPECT_EQ(kube().log().size(), 0u);
  // The scheduler withdraws the admission. The job has all its pods.
  kube().SetGroupPhase(kube().groups().begin()->first, "Pending");
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(StatusText(), "");
}

TEST_F(QueueWaitsTest, ARestartTellsNothingAnew) {
  Begin();
  Put("q", "Closed");
  Submit();
  ASSERT_EQ(StatusText(), "QueueError: queue q is Closed");
  rig().Kill();
  kube().ClearLog();
  rig().Start();
  Hear("other", "Open", "root", /*gone=*/false);
  Hear("q", "Closed", "root", /*gone=*/false);
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(StatusText(), "QueueError: queue q is Closed");
  EXPECT_EQ(kube().WritesButEvents(), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
