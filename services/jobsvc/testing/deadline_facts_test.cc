// The begin and the end of deadlines follow from the states of the pods, whichever process observes them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

class DeadlineFactsTest : public JobTest {
 protected:
  const DeadlineSet& Deadlines() { return Entry().deadlines; }
  void Begin(kube::v1::Job job, bool pods_run) {
    JobTest::Begin(std::move(job));
    if (pods_run) kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(10));
  }
  void StartAgain(bool lose_disk) {
    JobTest::StartAgain(lose_disk);
    rig().Run();
  }
};

TEST_F(DeadlineFactsTest, APodThatIsPendingOnceMoreIsSoSinceItWasSeen) {
  Begin(WithPolicy(MakeJob("j", 1, 1), "PodPending", "AbortJob", absl::Minutes(10)), /*pods_run=*/true);
  rig().Run(absl::Minutes(20));
  kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) { pod.set_phase(kube::v1::POD_PHASE_PENDING); });
  rig().Run(absl::Minutes(6));
  StartAgain(/*lose_disk=*/false);
  EXPECT_NE(Phase(), kAborted);
  rig().Run(absl::Minutes(3));
  EXPECT_NE(Phase(), kAborted);
  rig().Run(absl::Minutes(2));
  EXPECT_EQ(Phase(), kAborted);
}

// An example is a pod that its node does not admit: no container states when it ended.
TEST_F(DeadlineFactsTest, APodWithoutATimeOfItsEndHasFailedSinceItWasSeen) {
  Begin(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "AbortJob", absl::Minutes(10)), /*pods_run=*/true);
  kube().EditPod("default/j-t0-0", [](kube::v1::Pod& pod) { pod.set_phase(kPodFailed); });
  rig().Run(absl::Minutes(9));
  StartAgain(/*lose_disk=*/true);
  EXPECT_EQ(Phase(), kRunning);
  rig().Run(absl::Minutes(2));
  EXPECT_EQ(Phase(), kAborted);
}

// Kubernetes cuts the times of facts to whole seconds.
TEST_F(DeadlineFactsTest, ATimeoutOfASecondLastsASecondWhereverInItsSecondTheFactIs) {
  for (const char* event : {"PodFailed", "PodPending", "PodEvicted", "TaskCompleted"}) {
    for (const int at_ms : {0, 300, 900}) {
      SCOPED_TRACE(fmt::format("{} at {} ms", event, at_ms));
      Fresh();
      rig().Start();
      const auto go_to = [this, at_ms] {
        const int64_t now_ms = absl::ToUnixMillis(rig().time().Now());
        rig().Run(absl::Milliseconds(2000 - now_ms % 1000 + at_ms));
      };
      kube::v1::Job job = WithPolicy(MakeJob("j", 2, 1), event, "AbortJob", absl::Seconds(1));
      job.mutable_spec()->set_min_available(1);
      go_to();
      kube().PutJob(std::move(job));
      if (event != std::string_view("PodPending")) {
        rig().Run(absl::Milliseconds(100));
        kube().SetAllPods(kPodRunning);
        rig().Run(absl::Seconds(10));
        go_to();
        if (event == std::string_view("PodEvicted")) {
          kube().EditPod("default/j-t0-0", [this](kube::v1::Pod& pod) {
            pod.set_deletion_ms(absl::ToUnixMillis(rig().time().Now()) / 1000 * 1000);
          });
          kube().RemovePod("default/j-t0-0");
        } else {
          const bool fails = event == std::string_view("PodFailed");
          kube().SetPodPhase("default/j-t0-0", fails ? kPodFailed : kPodSucceeded, fails ? 1 : 0);
        }
      }
      rig().Run(absl::Milliseconds(995));
      EXPECT_NE(Phase(), kAborted);
      rig().Run(absl::Milliseconds(100));
      EXPECT_EQ(Phase(), kAborted);
    }
  }
}

TEST_F(DeadlineFactsTest, AClockOfANodeThatIsSlowEndsNoTimeoutBeforeItBegan) {
  for (const auto back : {absl::Seconds(20), absl::Hours(1)}) {
    for (const bool starts_again : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", absl::FormatDuration(back), starts_again));
      Fresh();
      rig().StartRunning(WithPolicy(MakeJob("j", 1, 2), "PodFailed", "AbortJob", absl::Seconds(20)));
      rig().Run(absl::Hours(3));
      kube().EditPod("default/j-t0-0", [&](kube::v1::Pod& pod) {
        pod.set_phase(kPodFailed);
        pod.set_finished_ms(absl::ToUnixMillis(rig().time().Now() - back));
      });
      rig().Run(absl::Seconds(5));
      if (starts_again) {
        rig().Kill();
        rig().LoseDisk();
        rig().Start();
      }
      rig().Run(absl::Milliseconds(14'900));
      EXPECT_EQ(Phase(), kRunning);
      rig().Run(absl::Seconds(1));
      EXPECT_EQ(Phase(), kAborted);
    }
  }
}

// No process was there while the pod ran and succeeded: the deadline of the pending pod is over.
TEST_F(DeadlineFactsTest, TheEndOfATaskIsNotTakenForWhatAPendingPodAwaits) {
  kube::v1::Job job = MakeJob("j", 2, 1);
  job.mutable_spec()->set_min_available(1);
  job = WithPolicy(std::move(job), "PodPending", "AbortJob", absl::Minutes(5));
  job.mutable_spec()->mutable_policies(job.spec().policies_size() - 1)->add_events("TaskCompleted");
  Begin(std::move(job), /*pods_run=*/false);
  kube().SetPodPhase("default/j-t1-0", kPodRunning);
  rig().Run();
  ASSERT_EQ(Deadlines().size(), 1u);
  rig().Run(absl::Minutes(3));
  rig().Kill();
  kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig().Start();
  rig().Run(absl::Minutes(4));
  EXPECT_EQ(Phase(), kRunning) << "five minutes after the end of the task, not of its creation";
  rig().Run(absl::Minutes(2));
  EXPECT_EQ(Phase(), kAborted);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
