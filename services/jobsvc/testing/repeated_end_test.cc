// The end of a pod is sent until it is acknowledged. If the acknowledgement is lost together with the process, the next
// process gets the end again and must not answer it twice.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr char kKey[] = "default/j";
constexpr char kPod[] = "default/j-t0-0";

void RunAllPods(JobRig& rig, kube::v1::Job job) {
  job.mutable_spec()->set_max_retry(9);
  rig.StartRunning(std::move(job), absl::Seconds(10));
}

// Removes the pod as somebody else. Returns the last state that its watch shows.
kube::v1::Object RemovePod(JobRig& rig, const std::string& name = kPod) {
  kube::v1::Object last;
  kube::v1::Pod& pod = *last.mutable_pod();
  pod = rig.kube().pods().at(name);
  pod.set_resource_version(pod.resource_version() + 1);
  pod.set_deletion_ms(absl::ToUnixMillis(rig.kube().Now()));
  if (pod.phase() == kPodRunning) pod.set_phase(kPodFailed);  // The kubelet ends the pod so.
  rig.kube().RemovePod(name);
  return last;
}

void SendAgain(JobRig& rig, const kube::v1::Object& last) {
  rig.StartAgain();
  rig.Show(last, /*gone=*/true);
  rig.Run(absl::Seconds(30));
}

int Retries(JobRig& rig) { return rig.kube().job(kKey).status().retry_count(); }

int KeptEnds(JobRig& rig) {
  int count = 0;
  EXPECT_TRUE(ForEachEndedPod(rig.store(), SlotOf(kKey), [&](const std::string&, const auto&) { ++count; }).ok());
  return count;
}

class RepeatedEndTest : public JobTest {};

TEST_F(RepeatedEndTest, AnEvictionIsAnsweredOnce) {
  for (const absl::Duration timeout : {absl::ZeroDuration(), absl::Seconds(5)}) {
    SCOPED_TRACE(absl::FormatDuration(timeout));
    Fresh();
    RunAllPods(rig(), WithPolicy(MakeJob("j", 1, 1), "PodEvicted", "RestartPod", timeout));
    const kube::v1::Object last = RemovePod(rig());
    rig().Run(absl::Seconds(30));
    ASSERT_EQ(Retries(rig()), 1);
    const int made = kube().Count("create", "pods");
    SendAgain(rig(), last);
    EXPECT_EQ(Retries(rig()), 1);
    EXPECT_EQ(kube().Count("create", "pods"), made);
  }
}

// The status has the answer if the disk does not.
TEST_F(RepeatedEndTest, AnAnsweredEndIsNotAnsweredAgainWhateverDiskIsThere) {
  for (const bool is_empty : {false, true}) {
    for (const char* action : {"RestartTask", "RestartPod"}) {
      SCOPED_TRACE(std::string(action) + (is_empty ? ", empty disk" : ", disk of before"));
      Fresh();
      RunAllPods(rig(), WithPolicy(MakeJob("j", 1, 3), "PodEvicted", action));
      const auto before = rig().CopyDisk();
      std::vector<kube::v1::Object> ends = {RemovePod(rig(), "default/j-t0-0")};
      // RestartTask takes this pod, too.
      if (action == std::string_view("RestartPod")) ends.push_back(RemovePod(rig(), "default/j-t0-1"));
      rig().Run(absl::Seconds(30));
      ASSERT_EQ(Retries(rig()), 1);
      rig().Kill();
      if (is_empty) rig().LoseDisk();
      if (!is_empty) rig().LosePower(before);
      rig().ends = ends;
      rig().Start();
      rig().Run(absl::Seconds(30));
      EXPECT_EQ(Retries(rig()), 1);
    }
  }
}

// A pod fails while the status write that restarts its task is in flight, and is removed before the kill reaches it.
TEST_F(RepeatedEndTest, AnEndThatAKillAnswersIsNotAnsweredOverALostDisk) {
  RunAllPods(rig(), WithPolicy(MakeJob("j", 1, 3), "*", "RestartTask"));
  kube().SetPodPhase("default/j-t0-0", kPodFailed, 1);
  ASSERT_TRUE(rig().RunUntil([this] { return Entry().commit.under_way(); }));
  kube().SetPodPhase("default/j-t0-1", kPodFailed, 1);
  const kube::v1::Object last = RemovePod(rig(), "default/j-t0-1");
  rig().Run(absl::Seconds(30));
  ASSERT_EQ(Retries(rig()), 1);
  rig().Kill();
  rig().LoseDisk();
  rig().ends = {last};
  rig().Start();
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Retries(rig()), 1);
}

// The write that would have answered the pod is refused, and the pod runs after all.
TEST_F(RepeatedEndTest, AnEndThatARefusedKillLeftIsAnswered) {
  int refused = 0;
  kube().SetRefuse([&refused](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (request.subresource() != "status" || request.patch().body().find("RestartPod") == std::string::npos)
      return false;
    if (refused++ > 0) return false;
    error.set_code(500);
    error.set_message("not now");
    return true;
  });
  rig().Start();
  kube().PutJob(WithPolicy(WithPolicy(MakeJob("j", 1, 1), "PodPending", "RestartPod", absl::Seconds(20)), "PodEvicted",
                           "RestartPod"));
  ASSERT_TRUE(rig().RunUntil([&refused] { return refused == 1; }));
  kube().SetPodPhase(kPod, kPodRunning);
  rig().Run(absl::Seconds(60));
  ASSERT_EQ(Retries(rig()), 0);
  const std::string uid = kube().pods().at(kPod).uid();
  RemovePod(rig());
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Retries(rig()), 1);
  EXPECT_NE(kube().pods().at(kPod).uid(), uid);
}

TEST_F(RepeatedEndTest, AnEndThatNobodyAnsweredIsAnsweredOverALostDisk) {
  RunAllPods(rig(), WithPolicy(MakeJob("j", 1, 2), "PodEvicted", "RestartTask"));
  rig().Kill();
  const kube::v1::Object last = RemovePod(rig());
  rig().LoseDisk();
  rig().ends = {last};
  rig().Start();
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(Retries(rig()), 1);
}

TEST_F(RepeatedEndTest, ASuccessThatIsGoneCountsOverALostDisk) {
  RunAllPods(rig(), MakeJob("j", 1, 2));
  rig().Kill();
  kube().SetPodPhase(kPod, kPodSucceeded);
  const kube::v1::Object last = RemovePod(rig());
  const int made = kube().Count("create", "pods");
  rig().LoseDisk();
  rig().ends = {last};
  rig().Start();
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(kube().Count("create", "pods"), made);
}

// Its record stays until the status reports that its work is done. A process that starts before takes it for a pod.
TEST_F(RepeatedEndTest, ASuccessThatWasAnsweredAndIsGoneHoldsNothingUpAfterARestart) {
  RunAllPods(rig(), WithPolicy(MakeJob("j", 2, 1), "TaskCompleted", "AbortJob", absl::Seconds(60)));
  kube().SetPodPhase(kPod, kPodSucceeded);
  rig().Run(absl::Seconds(10));
  RemovePod(rig());
  ASSERT_TRUE(rig().RunUntil([this] { return Entry().pods.Find("j-t0-0") == nullptr; }));
  StartAgain();
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(Status().counts().succeeded(), 1);
  EXPECT_EQ(Entry().pods.Find("j-t0-0"), nullptr);
  rig().Run(absl::Seconds(120));
  EXPECT_EQ(Phase(), kAborted);
}

TEST_F(RepeatedEndTest, AFailureBeforeTheEndIsAnsweredOnce) {
  RunAllPods(rig(), WithPolicy(MakeJob("j", 1, 2), "PodFailed", "RestartTask", absl::Seconds(60)));
  kube().SetPodPhase(kPod, kPodFailed, 3);
  rig().Run(absl::Seconds(10));
  const kube::v1::Object last = RemovePod(rig());
  rig().Run(absl::Seconds(80));
  ASSERT_EQ(Retries(rig()), 1);
  SendAgain(rig(), last);
  rig().Run(absl::Seconds(80));
  EXPECT_EQ(Retries(rig()), 1);
}

TEST_F(RepeatedEndTest, AnEndThatNoPolicyAnswersIsNotKept) {
  RunAllPods(rig(), WithPolicy(MakeJob("j", 1, 1), "PodFailed", "RestartJob"));
  RemovePod(rig());
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(KeptEnds(rig()), 0);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
