// Restarts of jobs, tasks and pods: which pods are killed, which are made again, and when the restarts end.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

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

class RestartTest : public JobTest {};

// The fate of the write decides which of the two events is answered.
TEST_F(RestartTest, APodThatFailsAndIsRemovedAtOnceIsRestartedOnce) {
  struct Row {
    const char* name;
    Fate fate;
  };
  const Row rows[] = {{"its answer comes late", Fate::kNormal},
                      {"its answer is lost", Fate::kLostAnswer},
                      {"it is lost on its way", Fate::kLostRequest}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Fresh();
    rig().StartRunning(RestartsPods());
    HoldStatusWrites(rig());
    rig().unknown_after = absl::Seconds(5);
    int writes = 0;
    rig().fate = [&](const gateway::v1::WriteRequest& request) {
      return request.subresource() == "status" && ++writes == 1 ? row.fate : Fate::kNormal;
    };
    const std::string failed = kube().pods().at("default/j-t0-1").uid();
    kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
    rig().Run(absl::Seconds(2));  // A pod that fails in the second of its removal counts as evicted.
    ASSERT_TRUE(Entry().commit.under_way());
    kube().RemovePod("default/j-t0-1");
    rig().Run(absl::Seconds(40));
    EXPECT_EQ(Status().retry_count(), 1);
    EXPECT_EQ(TimesRestarted(rig()), 1u);
    ASSERT_TRUE(kube().pods().contains("default/j-t0-1"));
    EXPECT_NE(kube().pods().at("default/j-t0-1").uid(), failed);
    EXPECT_EQ(kube().Count("create", "pods"), 4);
  }
}

// A restart costs a retry unless the job is Restarting. When the removal would be answered, the job is Pending again.
TEST_F(RestartTest, SuchAPodCostsNoRetryOfAJobThatIsRestarting) {
  rig().Start();
  kube::v1::Job job = RestartsPods();
  job.mutable_spec()->set_min_available(1);
  kube().PutJob(job);
  rig().Run();
  kube().SetAllPods(kPodRunning);
  rig().Run(absl::Seconds(20));
  HoldStatusWrites(rig());
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 3);
  rig().Run(absl::Seconds(2));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 3);
  rig().Run(absl::Seconds(4));
  ASSERT_EQ(Phase(), kPending) << "its second write has arrived";
  ASSERT_EQ(Entry().job->status().phase(), kRestarting) << "and is not acknowledged";
  kube().RemovePod("default/j-t0-1");
  rig().Run(absl::Seconds(40));
  EXPECT_EQ(Status().retry_count(), 1);
  EXPECT_EQ(TimesRestarted(rig()), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
