// On a real cluster, people and other programs write objects of a running job: edits that meet status writes, and a
// finalizer that keeps a pod.
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

}  // namespace
}  // namespace basalt::realkube
