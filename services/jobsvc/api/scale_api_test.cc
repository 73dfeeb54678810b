// Scaling by the API, over a real controller and a small API server, under simulated time.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "services/jobsvc/api/testing.h"

namespace basalt::jobsvc::testing {
namespace {

class ScaleApiTest : public ::testing::Test {
 protected:
  void Begin(const std::function<void(kube::v1::Job&)>& edit = nullptr) {
    rig_.Start();
    kube::v1::Job job = MakeJob("j", 2, 3);
    job.mutable_spec()->set_min_available(2);
    for (auto& task : *job.mutable_spec()->mutable_tasks()) task.set_min_available(1);
    if (edit) edit(job);
    rig_.kube().PutJob(job);
    rig_.Run();
    rig_.kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(5));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
    rig_.kube().ClearLog();
  }
  static job::v1::ScaleJobRequest Request(const std::string& task, int replicas) {
    job::v1::ScaleJobRequest request;
    request.set_name("j");
    auto* scale = request.add_tasks();
    scale->set_task(task);
    scale->set_replicas(replicas);
    return request;
  }
  absl::StatusOr<job::v1::Job> Scale(job::v1::ScaleJobRequest request) {
    std::optional<absl::StatusOr<job::v1::Job>> answer;
    api_.Scale(std::move(request), /*user_token=*/"", [&](auto got) { answer = std::move(got); });
    rig_.Run(absl::Seconds(1));
    if (!answer) return absl::InternalError("no answer");
    return *std::move(answer);
  }
  void Refuses(job::v1::ScaleJobRequest request, absl::StatusCode code, const std::string& words) {
    const auto answer = Scale(std::move(request));
    EXPECT_EQ(answer.status().code(), code) << answer.status();
    EXPECT_NE(answer.status().message().find(words), std::string::npos) << answer.status();
    EXPECT_EQ(rig_.kube().Count("patch", "jobs"), 0);
  }

  JobRig rig_;
  RigWorkers workers_{{&rig_}};
  JobApi api_{workers_, std::make_shared<watch::WatchHub>()};
};

TEST_F(ScaleApiTest, PodsAreMadeAndDeletedAndNothingElseHappens) {
  Begin();
  const auto up = Scale(Request("t0", 5));
  ASSERT_TRUE(up.ok()) << up.status();
  EXPECT_EQ(up->object().spec().tasks(0).replicas(), 5);
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.kube().pods().size(), 8U);
  job::v1::ScaleJobRequest both = Request("t0", 1);
  *both.add_tasks() = Request("t1", 1).tasks(0);
  ASSERT_TRUE(Scale(both).ok());
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.kube().pods().size(), 2U);
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  EXPECT_EQ(rig_.kube().job("default/j").status().version(), 0) << "W4: no restart";
  EXPECT_EQ(rig_.kube().job("default/j").status().retry_count(), 0);
}

TEST_F(ScaleApiTest, ToZeroAndBackTheJobKeepsItsPhase) {
  Begin();
  job::v1::ScaleJobRequest none = Request("t0", 0);
  none.mutable_tasks(0)->set_min_available(0);
  *none.add_tasks() = none.tasks(0);
  none.mutable_tasks(1)->set_task("t1");
  none.set_min_available(0);
  const auto scaled = Scale(none);
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  rig_.Run(absl::Seconds(10));
  EXPECT_TRUE(rig_.kube().pods().empty());
  EXPECT_EQ(rig_.PhaseOf("default/j"), kRunning);
  ASSERT_TRUE(Scale(Request("t1", 2)).ok());
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.kube().pods().size(), 2U);
}

TEST_F(ScaleApiTest, TheSameSizeIsNotWritten) {
  Begin();
  const auto same = Scale(Request("t1", 3));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->object().spec().tasks(1).replicas(), 3);
  EXPECT_EQ(rig_.kube().Count("patch", "jobs"), 0);
}

TEST_F(ScaleApiTest, ADryRunChangesNothingAndShowsWhatItWouldBe) {
  Begin();
  job::v1::ScaleJobRequest request = Request("t0", 9);
  request.set_dry_run(true);
  const auto checked = Scale(request);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->object().spec().tasks(0).replicas(), 9);
  EXPECT_EQ(rig_.kube().job("default/j").spec().tasks(0).replicas(), 3);
}

TEST_F(ScaleApiTest, RefusalsNameTheFieldAndTheRule) {
  Begin([](kube::v1::Job& job) {
    auto* policy = job.mutable_spec()->mutable_tasks(1)->mutable_partition_policy();
    policy->set_total_partitions(3);
    policy->set_partition_size(1);
    job.mutable_spec()->add_plugins()->set_name("svc");
  });
  const auto invalid = absl::StatusCode::kInvalidArgument;
  job::v1::ScaleJobRequest request;
  request.set_name("j");
  Refuses(request, invalid, "name at least one task");
  Refuses(Request("t7", 1), absl::StatusCode::kNotFound, "job default/j has no task t7");
  Refuses(Request("t0", -1), invalid, "spec.tasks[0].replicas");
  Refuses(Request("t0", 0), invalid, "spec.tasks[0].minAvailable is 1, with 0 replicas");
  Refuses(Request("t1", 4), invalid, "spec.tasks[1].partitionPolicy");
  Refuses(Request("t0", 300000), invalid, "at most 200000");
  Refuses(Request("t0", 2147483647), invalid, "at most 200000");
  request = Request("t0", 1);
  request.set_min_available(9);
  Refuses(request, invalid, "spec.minAvailable is 9, with 4 replicas");
  request = Request("t0", 5);
  request.set_uid("another");
  Refuses(request, absl::StatusCode::kNotFound, "with UID another does not exist");
  request = Request("t0", 5);
  request.set_name("none");
  Refuses(request, absl::StatusCode::kNotFound, "job default/none does not exist");
}

TEST_F(ScaleApiTest, AJobThatIsBeingDeletedIsNotScaled) {
  Begin();
  rig_.kube().HoldDeletedJob("default/j");
  Refuses(Request("t0", 5), absl::StatusCode::kFailedPrecondition, "job default/j is being deleted");
}

// A minimum that was never written is that of the job's start, and is not written now, either.
TEST_F(ScaleApiTest, AMinimumThatTheJobStartedWithHolds) {
  Begin([](kube::v1::Job& job) {
    job.mutable_spec()->clear_min_available();
    for (auto& task : *job.mutable_spec()->mutable_tasks()) task.clear_min_available();
  });
  Refuses(Request("t0", 1), absl::StatusCode::kInvalidArgument, "spec.minAvailable is 6 since the job started");
  job::v1::ScaleJobRequest request = Request("t0", 1);
  request.set_min_available(4);
  ASSERT_TRUE(Scale(request).ok());
  EXPECT_FALSE(rig_.kube().job("default/j").spec().tasks(0).has_min_available());
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(rig_.kube().pods().size(), 4U);
}

TEST_F(ScaleApiTest, AnEditBetweenTheLookAndTheWriteIsNotOverwritten) {
  Begin();
  bool edited = false;
  rig_.kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError&) {
    const bool is_scaling =
        request.has_patch() && request.subresource().empty() && request.resource().plural() == "jobs";
    if (is_scaling && !std::exchange(edited, true)) {
      rig_.kube().EditJob("default/j",
                          [](kube::v1::Job& job) { job.mutable_spec()->mutable_tasks(0)->set_replicas(2); });
    }
    return false;
  });
  const auto answer = Scale(Request("t0", 7));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kAborted) << answer.status();
  EXPECT_EQ(rig_.kube().job("default/j").spec().tasks(0).replicas(), 2);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
