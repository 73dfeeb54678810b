// Pods that Kubernetes ends: preempted, on a node that is lost, or evicted by the kubelet or the API (W34).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr char kPod[] = "default/j-t0-1";

class EvictionTest : public JobTest, public ::testing::WithParamInterface<absl::Duration> {
 protected:
  // Begins a job that a failure would abort.
  void Begin() {
    Fresh();
    kube::v1::Job job = WithPolicy(MakeJob("j", 1, 2), "PodFailed", "AbortJob");
    job = WithPolicy(std::move(job), "PodEvicted", "RestartJob", GetParam());
    job.mutable_spec()->set_min_available(1);
    rig().StartRunning(std::move(job));
  }
  void Preempt() {
    uid_ = kube().pods().at(kPod).uid();
    kube().EditPod(kPod, [&](kube::v1::Pod& pod) {
      pod.set_phase(kPodFailed);
      pod.set_exit_code(137);
      pod.set_finished_ms(absl::ToUnixMillis(rig().time().Now()) / 1000 * 1000);
      pod.set_disruption_reason("PreemptionByScheduler");
      pod.set_disruption_ms(pod.finished_ms());
    });
  }
  // Removes the pod unless the restart has done so.
  void Remove() {
    const auto pod = kube().pods().find(kPod);
    if (pod != kube().pods().end() && pod->second.uid() == uid_) kube().RemovePod(kPod);
  }
  void BeAway(const std::function<void()>& meanwhile, bool loses_disk) {
    rig().Kill();
    if (loses_disk) rig().LoseDisk();
    meanwhile();
    rig().Start();
    rig().Run(absl::Seconds(1));
  }
  void ExpectOneRestart() {
    rig().Run(absl::Minutes(2));
    EXPECT_EQ(Status().version(), 1);
    EXPECT_EQ(Status().retry_count(), 1);
  }
  void ExpectOneRestart(const std::string& reason) {
    ExpectOneRestart();
    std::vector<std::string> reasons;
    for (const storage::v1::HistoryRecord& entry : History()) {
      if (entry.event() == "PodEvicted" && entry.version() == 1) reasons.push_back(entry.pod_reason());
    }
    EXPECT_EQ(reasons, std::vector<std::string>{reason});
  }

  std::string uid_;  // UID of the preempted pod.
};

TEST_P(EvictionTest, IsAnsweredOnceWhetherItIsSeenToFailOrToGo) {
  for (const bool is_removed : {false, true}) {
    SCOPED_TRACE(is_removed);
    Begin();
    Preempt();
    rig().Run(absl::Seconds(1));
    if (is_removed) Remove();
    ExpectOneRestart("PreemptionByScheduler");
  }
}

TEST_P(EvictionTest, IsAnsweredOnceWhereJobsvcIsAwayMeanwhile) {
  for (const bool loses_disk : {false, true}) {
    SCOPED_TRACE(loses_disk);
    Begin();
    BeAway([this] { Preempt(); }, loses_disk);
    ExpectOneRestart("PreemptionByScheduler");
  }
}

TEST_P(EvictionTest, IsAnsweredOnceWhereJobsvcIsAwayBetweenFailureAndRemoval) {
  for (const bool loses_disk : {false, true}) {
    SCOPED_TRACE(loses_disk);
    Begin();
    Preempt();
    rig().Run(absl::Seconds(1));
    BeAway([this] { Remove(); }, loses_disk);
    // The history of the first answer is lost with the disk.
    if (loses_disk && GetParam() == absl::ZeroDuration()) {
      ExpectOneRestart();
    } else {
      ExpectOneRestart("PreemptionByScheduler");
    }
  }
}

TEST_P(EvictionTest, IsWhatBecameOfAPodThatFailedAndWentWhileNobodyLooked) {
  Begin();
  BeAway(
      [this] {
        Preempt();
        Remove();
      },
      /*loses_disk=*/false);
  ExpectOneRestart(std::string(kReasonUnknown));
}

INSTANTIATE_TEST_SUITE_P(Each, EvictionTest, ::testing::Values(absl::ZeroDuration(), absl::Seconds(30)),
                         [](const auto& row) {
                           return row.param == absl::ZeroDuration() ? "AtOnce" : "AfterATimeout";
                         });

}  // namespace
}  // namespace basalt::jobsvc::testing
