// Pods that fail at the same moment, each of which is to be restarted: one write restarts all of them, and the end is
// the same as with one write for each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/testing/controller_rig/kill_points.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr char kKey[] = "default/j";

bool IsStatus(const gateway::v1::WriteRequest& request) { return request.subresource() == "status"; }

class RestartsTogetherTest : public JobTest {
 protected:
  void BeginRunning(kube::v1::Job job) {
    Fresh();
    rig().Start();
    kube().PutJob(std::move(job));
    rig().Run(absl::Seconds(10));
    kube().SetAllPods(kPodRunning);
    rig().Run(absl::Seconds(20));
    ASSERT_EQ(Phase(), kRunning);
    uids_ = Uids();
    kube().ClearLog();
  }
  std::map<std::string, std::string> Uids() {
    std::map<std::string, std::string> uids;
    for (const auto& [name, pod] : kube().pods()) uids[name] = pod.uid();
    return uids;
  }
  void FailAll() {
    for (const auto& [name, uid] : uids_) kube().SetPodPhase(name, kPodFailed, 1);
  }
  // Returns how many of the pods that ran have been replaced by another one.
  size_t Replaced() {
    size_t replaced = 0;
    for (const auto& [name, uid] : Uids()) replaced += uid != uids_.at(name) ? 1 : 0;
    return replaced;
  }
  std::vector<std::string> OutcomesOf(const std::string& action) {
    std::vector<std::string> outcomes;
    for (const storage::v1::HistoryRecord& record : History()) {
      if (record.action() == action) outcomes.push_back(record.outcome().substr(0, record.outcome().find(';')));
    }
    return outcomes;
  }
  // Expects that each pod was restarted once, and all of them as one restart.
  void ExpectEachRestartedOnce() {
    EXPECT_EQ(Replaced(), uids_.size());
    EXPECT_EQ(kube().Count("create", "pods"), static_cast<int>(uids_.size()));
    EXPECT_EQ(Status().retry_count(), 1);
    EXPECT_EQ(Status().version(), 0);
    EXPECT_EQ(Phase(), kPending);
    EXPECT_EQ(Status().counts().pending(), static_cast<int32_t>(uids_.size()));
  }

  std::map<std::string, std::string> uids_;  // UIDs of the pods that ran.
};

TEST_F(RestartsTogetherTest, PodsThatFailTogetherAreRestartedByOneWrite) {
  for (const int pods : {200, 2000}) {
    SCOPED_TRACE(pods);
    BeginRunning(WithPolicy(MakeJob("j", 1, pods), "PodFailed", "RestartPod"));
    size_t written = 0;  // Bytes of status.
    rig().fate = [&](const gateway::v1::WriteRequest& request) {
      if (IsStatus(request)) written += request.patch().body().size();
      return Fate::kNormal;
    };
    const size_t recorded = rig().job_records_written();
    FailAll();
    rig().Run(absl::Seconds(10));
    ExpectEachRestartedOnce();
    EXPECT_EQ(OutcomesOf("RestartPod"), std::vector<std::string>{fmt::format("kill of {0} pods for {0} events", pods)});
    EXPECT_EQ(Events("ExecuteAction"), 1);
    EXPECT_LE(kube().Count("patch", "jobs/status"), 5) << "the kill, that the job is Pending again, and counts";
    // A waiting action is in the record until it is carried out, and a killed pod is in the status until it is gone.
    EXPECT_LE(rig().job_records_written() - recorded, 2'000u * static_cast<size_t>(pods));
    EXPECT_LE(written, 500u * static_cast<size_t>(pods));
  }
}

// Each failing pod has a task or a partition of its own.
TEST_F(RestartsTogetherTest, TasksAndPartitionsAreRestartedTogether) {
  const auto of_tasks = WithPolicy(MakeJob("j", 20, 2), "PodFailed", "RestartTask");
  auto of_partitions = WithPolicy(MakeJob("j", 1, 40), "PodFailed", "RestartPartition");
  of_partitions.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_total_partitions(20);
  of_partitions.mutable_spec()->mutable_tasks(0)->mutable_partition_policy()->set_partition_size(2);
  for (const kube::v1::Job& job : {of_tasks, of_partitions}) {
    BeginRunning(job);
    FailAll();
    rig().Run(absl::Seconds(10));
    ExpectEachRestartedOnce();
    EXPECT_EQ(OutcomesOf(job.spec().policies(0).action()), std::vector<std::string>{"kill of 40 pods for 20 events"})
        << "one for each of them; the other pod of it asks for the same";
  }
}

// Actions that become due together are carried out together, too. One pod runs on: otherwise the job would have failed.
TEST_F(RestartsTogetherTest, DeadlinesThatAreDueTogetherAreOneRestart) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 31), "PodFailed", "RestartPod", absl::Seconds(30)));
  for (int i = 0; i < 30; ++i) kube().SetPodPhase(fmt::format("default/j-t0-{}", i), kPodFailed, 1);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Replaced(), 0u);
  rig().Run(absl::Seconds(40));
  EXPECT_EQ(Replaced(), 30u);
  EXPECT_EQ(Status().retry_count(), 1);
  EXPECT_EQ(OutcomesOf("RestartPod").back(), "kill of 30 pods for 30 events");
  EXPECT_EQ(OutcomesOf("RestartPod").size(), 1u);
  EXPECT_TRUE(Entry().deadlines.empty());
}

TEST_F(RestartsTogetherTest, EachPodIsRestartedOnceWhateverBecomesOfTheWrite) {
  struct Row {
    const char* name;
    Fate fate;
    int code;        // Code of the server's answer. 0 if it is the usual one.
    bool is_edited;  // Somebody else edits the job before the write comes.
  };
  const Row rows[] = {{"refused", Fate::kNormal, 500, false},
                      {"overtaken", Fate::kNormal, 0, true},
                      {"not sent", Fate::kNotSent, 0, false},
                      {"lost on its way", Fate::kLostRequest, 0, false},
                      {"its answer lost", Fate::kLostAnswer, 0, false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    BeginRunning(WithPolicy(MakeJob("j", 1, 30), "PodFailed", "RestartPod"));
    int writes = 0;
    rig().fate = [&](const gateway::v1::WriteRequest& request) {
      if (!IsStatus(request) || ++writes > 1) return Fate::kNormal;
      if (row.is_edited) kube().EditJob(kKey, [](kube::v1::Job&) {});
      return row.fate;
    };
    kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (row.code == 0 || !IsStatus(request) || writes > 1) return false;
      error.set_code(row.code);
      return true;
    });
    FailAll();
    rig().Run(absl::Seconds(30));
    ExpectEachRestartedOnce();
    EXPECT_EQ(OutcomesOf("RestartPod"), std::vector<std::string>{"kill of 30 pods for 30 events"});
  }
}

TEST_F(RestartsTogetherTest, EachPodIsRestartedOnceWhereverTheProcessDies) {
  basalt::testing::KillAtEachPoint(15, [this](basalt::testing::KillPoint& kill) {
    BeginRunning(WithPolicy(MakeJob("j", 1, 10), "PodFailed", "RestartPod"));
    kill.Arm(rig());
    FailAll();
    rig().Run(absl::Seconds(5));
    kill.Restart(rig());
    rig().KillAt(0);
    rig().Run(absl::Seconds(30));
    ExpectEachRestartedOnce();
  });
}

// The disk knows nothing of the restart: the status names the pods whose end was answered.
TEST_F(RestartsTogetherTest, TheirEndsAreNotAnsweredAgainOverALostDisk) {
  BeginRunning(WithPolicy(MakeJob("j", 1, 30), "PodFailed", "RestartPod"));
  FailAll();
  std::vector<kube::v1::Object> ends;
  for (const auto& [name, pod] : kube().pods()) {
    *ends.emplace_back().mutable_pod() = pod;
    ends.back().mutable_pod()->set_resource_version(1'000'000);
  }
  rig().Run(absl::Seconds(10));
  ExpectEachRestartedOnce();
  rig().Kill();
  rig().LoseDisk();
  rig().ends = ends;
  rig().Start();
  rig().Run(absl::Seconds(30));
  ExpectEachRestartedOnce();
}

}  // namespace
}  // namespace basalt::jobsvc::testing
