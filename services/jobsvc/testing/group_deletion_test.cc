// The deletion of a job's PodGroup, which jobsvc requests of pgsvc: how often it does, and what it reports.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

// A context in which pgsvc answers when the test does.
class GroupCallsContext : public runtime::testing::ScriptedContext {
 public:
  struct Groups final : rpc::PodGroupPeer {
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest, absl::Duration,
                        rpc::Done<podgroup::v1::EnsurePodGroupResponse>) override {
      ADD_FAILURE() << "a group is asked for";
    }
    void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request, absl::Duration,
                        rpc::Done<podgroup::v1::DeletePodGroupResponse> done) override {
      requests.push_back(std::move(request));
      answers.push_back(std::move(done));
    }
    std::vector<podgroup::v1::DeletePodGroupRequest> requests;
    std::vector<rpc::Done<podgroup::v1::DeletePodGroupResponse>> answers;
  };
  bool CallOwner(gateway::v1::ServiceKind, std::string_view, runtime::PeerCall call) override {
    call(groups, [](absl::AnyInvocable<void()> task) { task(); });
    return true;
  }
  Groups groups;
};

class NoSshKeys : public KeyMaker {
 public:
  void MakeKeys(std::string, std::function<void(absl::StatusOr<SshKeyPair>)>) override {}
};

class GroupDeletionTest : public JobTest {
 protected:
  // Sets the fate of the requested deletions: of the first one, and of those after it.
  void SetFate(Fate first, Fate later) {
    rig().fate = [this, first, later](const gateway::v1::WriteRequest& request) {
      if (!request.has_delete_() || request.resource().plural() != "podgroups") return Fate::kNormal;
      return ++asked_ == 1 ? first : later;
    };
  }
  void Abort() { Command("stop", "AbortJob"); }
  int Problems() { return Events("PodGroupError"); }

  int asked_ = 0;
};

TEST_F(GroupDeletionTest, IsNotAskedForAgainWhileACallIsUnderWay) {
  BeginRunning(MakeJob("j", 1, 2));
  SetFate(Fate::kLostRequest, Fate::kNormal);
  rig().unknown_after = absl::Seconds(20);
  Abort();
  rig().Run(absl::Seconds(5));
  kube().EditGroup(kube().groups().begin()->first, [](kube::v1::PodGroup& group) { group.set_phase("Pending"); });
  rig().Run(absl::Seconds(10));
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(kube().groups().size(), 1u);
  rig().Run(absl::Seconds(30));
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(kube().groups().empty());
}

TEST_F(GroupDeletionTest, ADeletionWhoseAnswerIsLostIsOver) {
  BeginRunning(MakeJob("j", 1, 2));
  SetFate(Fate::kLostAnswer, Fate::kNormal);
  Abort();
  rig().Run(absl::Minutes(1));
  EXPECT_TRUE(kube().groups().empty());
  EXPECT_EQ(asked_, 1) << "the watch has told";
  EXPECT_EQ(Problems(), 0);
}

TEST_F(GroupDeletionTest, ARefusedDeletionIsTriedUntilItSucceeds) {
  BeginRunning(MakeJob("j", 1, 2));
  kube().RefuseWrites(
      [](const auto& request) { return request.has_delete_() && request.resource().plural() == "podgroups"; }, 403,
      "denied by policy");
  Abort();
  rig().Run(absl::Minutes(5));
  EXPECT_EQ(Phase(), kAborted) << "nobody waits for it";
  EXPECT_EQ(kube().groups().size(), 1u);
  EXPECT_EQ(Problems(), 1);
  kube().SetRefuse(nullptr);
  rig().Run(absl::Minutes(1));
  EXPECT_TRUE(kube().groups().empty());
}

// The owner of the group may be moving to another replica.
TEST_F(GroupDeletionTest, ADeletionThatReachesNobodyIsTriedAgain) {
  BeginRunning(MakeJob("j", 1, 2));
  SetFate(Fate::kNotSent, Fate::kNotSent);
  Abort();
  rig().Run(absl::Minutes(5));
  EXPECT_GT(asked_, 5);
  EXPECT_LT(asked_, 60);
  EXPECT_EQ(kube().groups().size(), 1u);
  EXPECT_EQ(Problems(), 0);
  rig().fate = nullptr;
  rig().Run(absl::Minutes(1));
  EXPECT_TRUE(kube().groups().empty());
}

TEST_F(GroupDeletionTest, IsNotOverByAnAnswerFromBeforeTheSlotMovedAwayAndBack) {
  BeginRunning(MakeJob("j", 1, 2));
  SetFate(Fate::kNotSent, Fate::kNotSent);
  kube().SetAllPods(kPodSucceeded);
  rig().Run(absl::Seconds(20));
  ASSERT_EQ(Phase(), kCompleted);
  const kube::v1::PodGroup group = Group();

  GroupCallsContext context;
  NoSshKeys keys;
  JobController controller(context, keys, rig().metrics);
  const auto take_slot = [&] {
    ASSERT_TRUE(controller.OpenSlot(SlotOf("default/j")).ok());
    kube::v1::Object object;
    *object.mutable_job() = kube().job("default/j");
    controller.OnState("default/j", std::string(kube::kWatchJobs), kube::v1::Object(object));
    for (const auto& [name, pod] : kube().pods()) {
      *object.mutable_pod() = pod;
      controller.OnState("default/j", std::string(kube::kWatchJobPods), kube::v1::Object(object));
    }
    *object.mutable_pod_group() = group;
    controller.OnState("default/j", std::string(kube::kWatchPodGroups), kube::v1::Object(object));
    context.Wake("default/j");
    context.RunPasses(controller);
  };
  take_slot();
  ASSERT_EQ(context.groups.requests.size(), 1u);
  EXPECT_EQ(context.groups.requests[0].uid(), group.meta().uid());
  EXPECT_EQ(context.groups.requests[0].job_uid(), kube().job("default/j").meta().uid());
  controller.CloseSlot(SlotOf("default/j"));
  take_slot();
  ASSERT_EQ(context.groups.requests.size(), 2u);

  context.groups.answers[0](absl::UnavailableError("too late"));
  context.Advance(absl::Minutes(1), controller);
  EXPECT_EQ(context.groups.requests.size(), 2u) << "the other is under way";
  context.groups.answers[1](absl::UnavailableError("on its way"));
  context.Advance(absl::Minutes(1), controller);
  ASSERT_EQ(context.groups.requests.size(), 3u);
  podgroup::v1::DeletePodGroupResponse gone;
  gone.set_gone(true);
  context.groups.answers[2](gone);
  context.Advance(absl::Minutes(1), controller);
  EXPECT_EQ(context.groups.requests.size(), 3u) << "the watch will show it";
}

}  // namespace
}  // namespace basalt::jobsvc::testing
