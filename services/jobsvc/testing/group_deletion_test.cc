// The end of a job's PodGroup, which pgsvc is asked for: how often, and what is told of it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "services/jobsvc/testing/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr std::string_view kReason = "PodGroupError";

class GroupDeletionTest : public ::testing::Test {
 protected:
  void BeginRunning() {
    rig_.Start();
    kube().PutJob(MakeJob("j", 1, 2));
    rig_.Run();
    kube().SetAllPods(kPodRunning);
    rig_.Run(absl::Seconds(20));
    ASSERT_EQ(rig_.PhaseOf("default/j"), kRunning);
    ASSERT_EQ(kube().groups().size(), 1u);
  }
  // What becomes of the deletions that are asked for, the first and those after it.
  void SetFate(Fate first, Fate later) {
    rig_.fate = [this, first, later](const gateway::v1::WriteRequest& request) {
      if (!request.has_delete_() || request.resource().plural() != "podgroups") return Fate::kNormal;
      return ++asked_ == 1 ? first : later;
    };
  }
  void Refuse(int code) {
    kube().SetRefuse([code](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!request.has_delete_() || request.resource().plural() != "podgroups") return false;
      error.set_code(code);
      error.set_message("denied by policy");
      return true;
    });
  }
  void Abort() { kube().PutCommand("default", "stop", "AbortJob", "j"); }
  int Problems() {
    int events = 0;
    for (const auto& [name, body] : kube().others()) {
      events += name.starts_with("events/") && body.at("reason").as_string() == kReason ? 1 : 0;
    }
    return events;
  }

  FakeKube& kube() { return rig_.kube(); }
  JobRig rig_;
  int asked_ = 0;
};

TEST_F(GroupDeletionTest, IsAskedForOnceWhereItIsAnswered) {
  BeginRunning();
  SetFate(Fate::kNormal, Fate::kNormal);
  Abort();
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted);
  EXPECT_TRUE(kube().groups().empty());
  EXPECT_EQ(asked_, 1);
}

TEST_F(GroupDeletionTest, IsNotAskedForAgainWhileACallIsUnderWay) {
  BeginRunning();
  SetFate(Fate::kLostRequest, Fate::kNormal);
  rig_.unknown_after = absl::Seconds(20);
  Abort();
  rig_.Run(absl::Seconds(5));
  kube().EditGroup(kube().groups().begin()->first, [](kube::v1::PodGroup& group) { group.set_phase("Pending"); });
  rig_.Run(absl::Seconds(10));
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(kube().groups().size(), 1u);
  rig_.Run(absl::Seconds(30));
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(kube().groups().empty());
}

TEST_F(GroupDeletionTest, ThatWasCarriedOutThoughTheAnswerIsLostIsOver) {
  BeginRunning();
  SetFate(Fate::kLostAnswer, Fate::kNormal);
  Abort();
  rig_.Run(absl::Minutes(1));
  EXPECT_TRUE(kube().groups().empty());
  EXPECT_EQ(asked_, 1) << "the watch has told";
  EXPECT_EQ(Problems(), 0);
}

TEST_F(GroupDeletionTest, ThatIsRefusedIsToldOnceAndTriedUntilItSucceeds) {
  BeginRunning();
  Refuse(403);
  Abort();
  rig_.Run(absl::Minutes(5));
  EXPECT_EQ(rig_.PhaseOf("default/j"), kAborted) << "nobody waits for it";
  EXPECT_EQ(kube().groups().size(), 1u);
  EXPECT_EQ(Problems(), 1);
  kube().SetRefuse(nullptr);
  rig_.Run(absl::Minutes(1));
  EXPECT_TRUE(kube().groups().empty());
}

// Its owner may be on its way to another replica.
TEST_F(GroupDeletionTest, ThatReachesNobodyIsTriedAgainAndNoProblem) {
  BeginRunning();
  SetFate(Fate::kNotSent, Fate::kNotSent);
  Abort();
  rig_.Run(absl::Minutes(5));
  EXPECT_GT(asked_, 5);
  EXPECT_LT(asked_, 60);
  EXPECT_EQ(kube().groups().size(), 1u);
  EXPECT_EQ(Problems(), 0);
  rig_.fate = nullptr;
  rig_.Run(absl::Minutes(1));
  EXPECT_TRUE(kube().groups().empty());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
