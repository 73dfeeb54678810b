// Tasks that come, go or change their name under a running job, which no definition forbids here. Pods of a task that
// the spec does not have are left alone and count for nothing (job spec 9.1), until a full kill takes every pod (9.5,
// 9.6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::Job;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kKey[] = "default/j";

class TaskEditsTest : public JobTest {
 protected:
  // Begins a job of two tasks of two pods each, all of which run.
  void Begin(Job job = MakeJob("j", 2, 2)) {
    job.mutable_spec()->set_min_available(2);
    JobTest::Begin(std::move(job));
    SetAll({"t0-0", "t0-1", "t1-0", "t1-1"}, kPodRunning);
    ASSERT_EQ(Phase(), kRunning);
    ASSERT_EQ(Status().counts().running(), 4);
  }
  void BeginAnew() {
    if (kube().jobs().contains(kKey)) kube().DeleteJob(kKey);
    if (rig().alive()) rig().Kill();
    rig().LoseDisk();
    Begin();
  }
  void Edit(const std::function<void(kube::v1::JobSpec&)>& edit) {
    EditSpec(edit);
    rig().Run(absl::Seconds(20));
  }
  void AddTask(const std::string& name, int32_t replicas) {
    Edit([&](kube::v1::JobSpec& spec) {
      kube::v1::TaskSpec& task = *spec.add_tasks();
      task = spec.tasks(0);
      task.set_name(name);
      task.set_replicas(replicas);
    });
  }
  void RemoveLastTask() {
    Edit([](kube::v1::JobSpec& spec) { spec.mutable_tasks()->RemoveLast(); });
  }
  void SetAll(const std::vector<std::string>& pods, kube::v1::PodPhase phase) {
    for (const std::string& pod : pods) kube().SetPodPhase("default/j-" + pod, phase);
    rig().Run(absl::Seconds(20));
  }
  void Ask(const std::string& action) {
    kube().PutCommand("default", "ask", action, "j");
    rig().Run(absl::Seconds(20));
  }
  // Returns the names of the pods without the job's name, like "t0-0".
  std::set<std::string> Pods() {
    std::set<std::string> names;
    for (const auto& [key, pod] : kube().pods()) names.insert(pod.name().substr(2));
    return names;
  }
  std::set<std::string> ReportedTasks() {
    std::set<std::string> tasks;
    for (const auto& task : Status().task_status_count()) tasks.insert(task.task());
    return tasks;
  }
  std::vector<std::string> Edits() {
    std::vector<std::string> edits;
    for (const storage::v1::HistoryRecord& entry : History()) {
      if (entry.generation() != 0) edits.push_back(entry.outcome());
    }
    return edits;
  }
  int Deleted() { return kube().Count("delete", "pods") + kube().Count("deletecollection", "pods"); }
};

TEST_F(TaskEditsTest, OneThatIsAddedIsMadeAndCountsAndTheJobEndsWithIt) {
  Begin();
  AddTask("t2", 1);
  EXPECT_THAT(Pods(), UnorderedElementsAre("t0-0", "t0-1", "t1-0", "t1-1", "t2-0"));
  EXPECT_EQ(Status().counts().pending(), 1);
  EXPECT_THAT(ReportedTasks(), UnorderedElementsAre("t0", "t1", "t2"));
  SetAll({"t0-0", "t0-1", "t1-0", "t1-1"}, kPodSucceeded);
  EXPECT_EQ(Phase(), kRunning) << "one has not finished";
  SetAll({"t2-0"}, kPodSucceeded);
  EXPECT_EQ(Phase(), kCompleted);
  EXPECT_EQ(Status().counts().succeeded(), 5);
  EXPECT_THAT(Edits(), ElementsAre("tasks 2 -> 3"));
}

TEST_F(TaskEditsTest, PodsOfOneThatIsRemovedAreLeftAloneAndCountForNothing) {
  Begin();
  RemoveLastTask();
  EXPECT_THAT(Pods(), UnorderedElementsAre("t0-0", "t0-1", "t1-0", "t1-1"));
  EXPECT_EQ(Status().counts().running(), 2);
  EXPECT_EQ(Status().counts().terminating(), 0);
  EXPECT_THAT(ReportedTasks(), UnorderedElementsAre("t0"));
  SetAll({"t1-0"}, kPodFailed);
  EXPECT_EQ(Status().counts().failed(), 0);
  EXPECT_EQ(Phase(), kRunning);
  EXPECT_EQ(Deleted(), 0);
  EXPECT_THAT(Edits(), ElementsAre("tasks 2 -> 1"));
}

TEST_F(TaskEditsTest, TheEndOfTheJobTakesThemAlong) {
  for (const int left : {1, 2}) {  // One pod is deleted singly, several in one call.
    BeginAnew();
    RemoveLastTask();
    if (left == 1) kube().RemovePod("default/j-t1-1");
    kube().SchedulePods();
    SetAll({"t0-0", "t0-1"}, kPodSucceeded);
    EXPECT_EQ(Phase(), kCompleted);
    EXPECT_EQ(Status().counts().succeeded(), 2);
    EXPECT_EQ(Status().counts().terminating(), left) << "a full kill counts all that go";
    kube().FinishDeletions();
    rig().Run(absl::Seconds(20));
    EXPECT_THAT(Pods(), UnorderedElementsAre("t0-0", "t0-1")) << "those that have finished stay";
    EXPECT_EQ(Status().counts().terminating(), 0);
    kube().SchedulePods(false);
  }
}

// Otherwise the job would wait in Restarting for pods that nobody removes.
TEST_F(TaskEditsTest, ARestartOfATaskEndsThoughTheTaskIsRemovedMeanwhile) {
  for (const bool restarted : {false, true}) {
    BeginAnew();
    kube().RefuseWrites(
        [](const auto& request) { return request.resource().plural() == "pods" && !request.has_create(); }, 403,
        "not now");
    kube().PutTargeted("ask", "RestartTask", R"({"task":"t1"})");
    rig().Run(absl::Seconds(20));
    ASSERT_EQ(Status().retry_count(), 1);
    RemoveLastTask();
    if (restarted) StartAgain();
    kube().SetRefuse(nullptr);
    rig().Run(absl::Minutes(2));
    EXPECT_THAT(Pods(), UnorderedElementsAre("t0-0", "t0-1"));
    EXPECT_EQ(Phase(), kRunning);
    EXPECT_EQ(Status().counts().running(), 2);
  }
}

TEST_F(TaskEditsTest, OneThatComesBackFindsItsPodsAgain) {
  Begin();
  RemoveLastTask();
  AddTask("t1", 2);
  EXPECT_THAT(Pods(), UnorderedElementsAre("t0-0", "t0-1", "t1-0", "t1-1"));
  EXPECT_EQ(Status().counts().running(), 4);
  EXPECT_EQ(kube().Count("create", "pods"), 4);
  EXPECT_EQ(Deleted(), 0);
  SetAll({"t0-0", "t0-1", "t1-0", "t1-1"}, kPodSucceeded);
  EXPECT_EQ(Phase(), kCompleted);
}

TEST_F(TaskEditsTest, ANewProcessSeesThemAlike) {
  for (const bool lose_disk : {false, true}) {
    BeginAnew();
    RemoveLastTask();
    StartAgain(lose_disk);
    rig().Run(absl::Seconds(20));
    EXPECT_EQ(Status().counts().running(), 2);
    EXPECT_EQ(Pods().size(), 4u);
    SetAll({"t0-0", "t0-1"}, kPodSucceeded);
    EXPECT_EQ(Phase(), kCompleted);
    EXPECT_THAT(Pods(), UnorderedElementsAre("t0-0", "t0-1"));
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
