// The process dies at every single point of a job's life, with and without its disk, and the outcome is the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

struct End {
  int pod_creates = 0;
  int history = 0;
  std::string problem;
};

// A job with a plugin whose first pod fails once: it restarts, then completes. The process dies at `point`.
End Live(int point, bool lose_disk, int* points = nullptr) {
  JobRig rig;
  rig.Start();
  rig.KillAt(point);
  auto job = MakeJob("j", 1, 2);
  job.mutable_spec()->add_plugins()->set_name("svc");
  auto* policy = job.mutable_spec()->add_policies();
  policy->add_events("PodFailed");
  policy->set_action("RestartJob");
  rig.kube().PutJob(job);
  bool failed = false;
  for (int second = 0; second < 120; ++second) {
    rig.Run(absl::Seconds(1));
    if (!rig.alive()) {
      if (lose_disk) rig.LoseDisk();
      rig.Start();
    }
    const auto pods = rig.kube().pods();
    if (!failed && pods.size() == 2) {
      rig.kube().SetPodPhase("default/j-t0-1", kube::v1::POD_PHASE_FAILED, 9);
      failed = true;
      continue;
    }
    if (!failed || pods.size() != 2) continue;
    for (const auto& [name, pod] : pods) {
      if (pod.job_version() == 1 && pod.phase() == kube::v1::POD_PHASE_PENDING) {
        rig.kube().SetPodPhase(name, kube::v1::POD_PHASE_SUCCEEDED);
      }
    }
  }
  if (points != nullptr) *points = rig.points();
  End end;
  end.pod_creates = rig.kube().Count("create", "pods");
  const auto& status = rig.kube().job("default/j").status();
  if (status.phase() != kCompleted) end.problem += fmt::format(" phase {}", static_cast<int>(status.phase()));
  if (status.counts().succeeded() != 2) end.problem += " counts";
  if (status.version() != 1) end.problem += fmt::format(" version {}", status.version());
  if (status.retry_count() != 1) end.problem += fmt::format(" retryCount {}", status.retry_count());
  if (!rig.kube().groups().empty()) end.problem += " a group is left";
  if (!rig.kube().others().empty()) {
    for (const auto& [name, object] : rig.kube().others()) {
      if (!name.starts_with("events/")) end.problem += " left: " + name;
    }
  }
  const auto history = HistoryStore(rig.store()).Read(SlotOf("default/j"), rig.kube().job("default/j").meta().uid());
  end.history = static_cast<int>(history->size());
  for (const auto& entry : *history) {
    if (!entry.committed()) end.problem += " an entry of history is not committed";
  }
  for (const auto& entry : rig.kube().log()) {
    if (entry.code == 409 && entry.plural == "pods") end.problem += " a pod was created twice";
  }
  const auto& entry = *rig.controller().Find("default/j");
  const auto [counts, tasks] = entry.pods.Recount();
  if (counts.SerializeAsString() != entry.pods.counts().SerializeAsString() || tasks != entry.pods.task_counts()) {
    end.problem += " counters differ from a recount";
  }
  PodSet anew = entry.pods;
  anew.SetReported(entry.job->status(), entry.persisted.done);
  if (anew.MatchesReported() != entry.pods.MatchesReported())
    end.problem += " what is told is not what the status says";
  return end;
}

TEST(CrashTest, DyingAnywhereWithTheDiskKeptChangesNothing) {
  int points = 0;
  const End calm = Live(0, false, &points);
  ASSERT_EQ(calm.problem, "");
  EXPECT_EQ(calm.pod_creates, 4);
  EXPECT_EQ(calm.history, 5);  // Pending, Restarting, Pending, Running, Completed.
  ASSERT_GT(points, 20);
  for (int point = 1; point <= points; ++point) {
    const End end = Live(point, false);
    EXPECT_EQ(end.problem, "") << "point " << point;
    EXPECT_EQ(end.pod_creates, calm.pod_creates) << "point " << point;
    EXPECT_EQ(end.history, calm.history) << "point " << point;
  }
}

TEST(CrashTest, DyingAnywhereAndLosingTheDiskCostsHistoryOnly) {
  int points = 0;
  const End calm = Live(0, true, &points);
  for (int point = 1; point <= points; ++point) {
    const End end = Live(point, true);
    EXPECT_EQ(end.problem, "") << "point " << point;
    EXPECT_EQ(end.pod_creates, calm.pod_creates) << "point " << point;
    EXPECT_LE(end.history, calm.history) << "point " << point;
  }
}

size_t RecordsOf(JobRig& rig) {
  size_t records = 0;
  const absl::Status status = ForEachPod(rig.store(), SlotOf("default/j"), "default/j",
                                         [&](std::string_view, const storage::v1::PodRecord&) { ++records; });
  return status.ok() ? records : 0;
}

// The status reports the work only some seconds later (W19).
TEST(CrashTest, NoProcessDoesWorkAgainBeforeTheStatusReportsIt) {
  JobRig rig;
  rig.Begin(MakeJob("j", 1, 2));
  rig.kube().SetAllPods(kPodRunning);
  rig.kube().SetPodPhase("default/j-t0-0", kPodSucceeded);
  rig.Run(absl::Seconds(20));
  rig.kube().RemovePod("default/j-t0-0");
  const int64_t version = rig.kube().job("default/j").meta().resource_version();
  for (int deaths = 0; deaths < 3; ++deaths) {
    rig.Run(absl::Milliseconds(100));
    rig.Kill();
    ASSERT_EQ(rig.kube().job("default/j").meta().resource_version(), version);
    rig.Start();
  }
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 1U);
  EXPECT_EQ(rig.kube().job("default/j").status().counts().succeeded(), 1);
  EXPECT_EQ(RecordsOf(rig), 1U) << "of the pod that is there; of the other the status tells";
  rig.StartAgain(/*lose_disk=*/true);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.kube().pods().size(), 1U);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
