// On a real cluster, people and other programs write objects of a running job: edits that meet status writes, a
// finalizer that keeps a pod, edits and the deletion of a PodGroup, and a pod that loses its owner.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/realkube/suite_fixture.h"

namespace basalt::realkube {
namespace {

using ::basalt::testing::IsOk;
using ::testing::IsEmpty;

class SuiteHandEditsTest : public SuiteTest {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override {
    if (world_ == nullptr || !world_->ok()) return;
    Kubectl({"delete", kJobs, "--all", "--wait=false"});
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return world_->JobCount() == 0; }));
  }
  std::string Field(const std::string& kind, const std::string& name, const std::string& path) {
    return cluster().Kubectl({"get", kind, name, "-o", "jsonpath={" + path + "}"}).value_or("");
  }
  std::string PodNames(const std::string& job) {
    return Kubectl({"get", "pods", "-l", "volcano.sh/job-name=" + job, "-o", "jsonpath={.items[*].metadata.name}"});
  }
  // Creates a job with two pods and these policies, and waits until it is Running.
  void Run(const std::string& job, const std::string& policies) {
    ASSERT_THAT(Create(job, Spec("[" + Task("2", "600s") + "]", R"("minAvailable":1,"policies":)" + policies)), IsOk());
    ASSERT_TRUE(Becomes(job, "Running")) << world_->JobPhase(job) << ", " << WordsOf(job);
  }
  // Sets phase Failed, as a kubelet would, with a container that ended at `finished` by the clock of its node.
  void FailPod(const std::string& pod, const std::string& finished, const std::string& conditions = "[]") {
    Kubectl({"patch", "pod", pod, "--subresource=status", "--type", "merge", "-p",
             fmt::format(R"({{"status":{{"phase":"Failed","conditions":{},"containerStatuses":[{{"name":"c",)"
                         R"("image":"i","imageID":"i","ready":false,"restartCount":0,"state":{{"terminated":)"
                         R"({{"exitCode":137,"finishedAt":"{}"}}}}}}]}}}})",
                         conditions, finished)});
  }
  std::string GroupOf(const std::string& job) { return job + "-" + Field(kJobs, job, ".metadata.uid"); }
};

// Each edit changes the resourceVersion on which a status write depends.
TEST_F(SuiteHandEditsTest, AJobThatIsEditedAgainAndAgainComesToItsEndAndKeepsEveryEdit) {
  ASSERT_THAT(Create("edited", Spec("[" + Task("20", "3s") + "]", R"("minAvailable":20)")), IsOk());
  int edits = 0;
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
    Kubectl({"annotate", kJobs, "edited", fmt::format("edit-{}={}", edits, edits)});
    ++edits;
    return world_->JobPhase("edited") == "Completed";
  }));
  EXPECT_GE(edits, 5);
  for (int i = 0; i < edits; ++i) {
    EXPECT_EQ(Field(kJobs, "edited", fmt::format(".metadata.annotations.edit-{}", i)), fmt::format("{}", i));
  }
  EXPECT_EQ(Field(kJobs, "edited", ".status.succeeded"), "20");
  EXPECT_EQ(CountPods("edited", "create"), 20);
  EXPECT_THAT(e2e::JudgeJob(*world_, "edited"), IsEmpty());
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

// The server keeps such a pod as terminating, and the pod keeps its name.
TEST_F(SuiteHandEditsTest, APodThatIsHeldByAFinalizerHoldsUpARestartUntilItIsLetGo) {
  ASSERT_THAT(Create("held", Spec("[" + Task("2", "600s") + "]", R"("minAvailable":2)")), IsOk());
  ASSERT_TRUE(Becomes("held", "Running"));
  Kubectl({"patch", "pod", "held-t-0", "--type", "merge", "-p", R"({"metadata":{"finalizers":["example.com/held"]}})"});
  const std::string before = Field("pod", "held-t-0", ".metadata.uid");
  EXPECT_EQ(world_->Ctl({"job", "restart", "held"}).exit_code, 0);
  ASSERT_TRUE(Becomes("held", "Restarting"));
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return PodNames("held") == "held-t-0"; })) << PodNames("held");
  EXPECT_EQ(world_->JobPhase("held"), "Restarting");
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return Field(kJobs, "held", ".status.terminating") == "1"; }));
  EXPECT_EQ(world_->JobPhase("held"), "Restarting");
  const e2e::Ran explained = world_->Ctl({"job", "explain", "held"});
  EXPECT_THAT(explained.out, ::testing::HasSubstr("held-t-0"));
  EXPECT_EQ(Field("pod", "held-t-0", ".metadata.uid"), before);
  Kubectl({"patch", "pod", "held-t-0", "--type", "merge", "-p", R"({"metadata":{"finalizers":null}})"});
  EXPECT_TRUE(Becomes("held", "Running")) << world_->JobPhase("held") << ", " << WordsOf("held");
  EXPECT_NE(Field("pod", "held-t-0", ".metadata.uid"), before);
  EXPECT_EQ(Field(kJobs, "held", ".status.version"), "1");
  EXPECT_EQ(Field(kJobs, "held", ".status.retryCount"), "1");
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

TEST_F(SuiteHandEditsTest, AGroupThatIsEditedIsPutRightAndOneThatIsDeletedIsMadeAgain) {
  ASSERT_THAT(Create("grouped", GoodSpec("600s")), IsOk());
  ASSERT_TRUE(Becomes("grouped", "Running"));
  const std::string group = GroupOf("grouped");
  constexpr char kGroups[] = "podgroups.scheduling.volcano.sh";
  Kubectl({"patch", kGroups, group, "--type", "merge", "-p", R"({"spec":{"minMember":99}})"});
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return Field(kGroups, group, ".spec.minMember") == "1"; }));
  const std::string before = Field(kGroups, group, ".metadata.uid");
  Kubectl({"delete", kGroups, group});
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
    const std::string now = Field(kGroups, group, ".metadata.uid");
    return !now.empty() && now != before;
  }));
  EXPECT_TRUE(Becomes("grouped", "Running")) << world_->JobPhase("grouped") << ", " << WordsOf("grouped");
  EXPECT_EQ(CountPods("grouped", "create"), 2);
  EXPECT_EQ(CountPods("grouped", "delete") + CountPods("grouped", "deletecollection"), 0);
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

// The pod has all labels by which one call deletes the pods of a version.
TEST_F(SuiteHandEditsTest, APodWhoseOwnerWasTakenAwayOutlivesTheJobsPods) {
  ASSERT_THAT(Create("kept", Spec("[" + Task("4", "600s") + "]", R"("minAvailable":4)")), IsOk());
  ASSERT_TRUE(Becomes("kept", "Running"));
  Kubectl(
      {"patch", "pod", "kept-t-2", "--type", "json", "-p", R"([{"op":"remove","path":"/metadata/ownerReferences"}])"});
  const std::string before = Field("pod", "kept-t-2", ".metadata.uid");
  EXPECT_TRUE(Says("kept", "FailedCreate: pod kept-t-2: the name is held")) << WordsOf("kept");
  EXPECT_EQ(world_->Ctl({"job", "suspend", "kept"}).exit_code, 0);
  ASSERT_TRUE(Becomes("kept", "Aborted"));
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return PodNames("kept") == "kept-t-2"; })) << PodNames("kept");
  EXPECT_EQ(Field("pod", "kept-t-2", ".metadata.uid"), before);
  Kubectl({"delete", "pod", "kept-t-2"});
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

TEST_F(SuiteHandEditsTest, ATimeoutBeginsNoEarlierThanThePodThatFailed) {
  Run("late", R"([{"event":"PodFailed","action":"RestartJob","timeout":"8s"}])");
  const absl::Time failed = absl::Now();
  FailPod("late-t-0", "2020-01-01T00:00:00Z");
  ASSERT_TRUE(e2e::Eventually(kLimit, [&] { return Field(kJobs, "late", ".status.retryCount") == "1"; }));
  EXPECT_GE(absl::Now() - failed, absl::Seconds(7)) << "times in Kubernetes have whole seconds";
  EXPECT_TRUE(Becomes("late", "Running"));
}

TEST_F(SuiteHandEditsTest, APodThatFailsByADisruptionIsEvictedNotFailed) {
  Run("moved", R"([{"event":"PodEvicted","action":"AbortJob"},{"event":"PodFailed","action":"TerminateJob"}])");
  FailPod("moved-t-0", "2020-01-01T00:00:00Z",
          R"([{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"}])");
  Kubectl({"delete", "pod", "moved-t-0", "--wait=false"});
  EXPECT_TRUE(Becomes("moved", "Aborted")) << world_->JobPhase("moved") << ", " << WordsOf("moved");
  EXPECT_THAT(world_->Ctl({"job", "history", "moved"}).out, ::testing::HasSubstr("PreemptionByScheduler"));
}

}  // namespace
}  // namespace basalt::realkube
