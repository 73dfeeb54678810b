// The group of a ReplicaSet's pods, and its changes as the ReplicaSet changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;
using ::testing::HasSubstr;

constexpr char kKey[] = "default/podgroup-rs-uid";
const std::string kMinMember(kube::kGroupMinMemberKey);

enum class Asked { kNothing, kCreate, kPatch, kDelete, kBind, kEvent, kRead };

class OwnedGroupsTest : public ::testing::Test {
 protected:
  OwnedGroupsTest() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_TRUE(controller_.OpenSlot(slot).ok());
  }

  void Pass() {
    context_.Wake(kKey);
    context_.RunPasses(controller_);
  }
  void ShowOwner(int replicas, const Annotations& annotations = {}) {
    kube::v1::Object object;
    kube::v1::Workload& owner = *object.mutable_workload();
    owner.set_kind("ReplicaSet");
    owner.set_api_version("apps/v1");
    owner.mutable_meta()->set_name("web");
    owner.mutable_meta()->set_uid("rs-uid");
    owner.set_replicas(replicas);
    for (const auto& [key, value] : annotations) {
      kube::v1::KeyValue& annotation = *owner.mutable_meta()->add_annotations();
      annotation.set_key(key);
      annotation.set_value(value);
    }
    controller_.OnState(kKey, "workloads/replicasets", std::move(object));
    Pass();
  }
  static kube::v1::Pod PodOf(const std::string& name, int64_t created_ms = 1000) {
    kube::v1::Pod pod = testing::OwnedPod();
    pod.set_namespace_("default");
    pod.set_name(name);
    pod.set_uid(name + "-uid");
    pod.set_creation_ms(created_ms);
    pod.set_group_name("podgroup-rs-uid");
    return pod;
  }
  void ShowPod(const kube::v1::Pod& pod) {
    kube::v1::Object object;
    *object.mutable_pod() = pod;
    controller_.OnState(kKey, "pods/scheduler=volcano", std::move(object));
    Pass();
  }
  void Forget(const std::string& uid) {
    controller_.OnGone(kKey,
                       {.reason = runtime::Gone::Reason::kDeleted, .watch = {}, .uid = uid, .ns = {}, .name = {}});
    Pass();
  }
  // Returns the group as it is made for such a pod and owner.
  kube::v1::PodGroup GroupFor(const Annotations& owner, const kube::v1::Pod& pod = PodOf("web-1")) {
    kube::v1::PodGroup group;
    const auto wanted = WantedGroupOf(pod, owner, {});
    EXPECT_TRUE(wanted.ok()) << wanted.status();
    *group.mutable_spec() = wanted->spec;
    group.mutable_meta()->set_uid("pg-1");
    for (const auto& [key, value] : wanted->annotations) {
      kube::v1::KeyValue& annotation = *group.mutable_meta()->add_annotations();
      annotation.set_key(key);
      annotation.set_value(value);
    }
    kube::v1::OwnerReference& reference = *group.mutable_meta()->add_owner_references();
    reference.set_uid("rs-uid");
    reference.set_controller(true);
    return group;
  }
  void ShowGroup(const kube::v1::PodGroup& group) {
    kube::v1::Object object;
    *object.mutable_pod_group() = group;
    controller_.OnState(kKey, std::string(kube::kWatchPodGroups), std::move(object));
    Pass();
  }
  void AnswerRead(const kube::v1::PodGroup& group) {
    gateway::v1::GetResponse response;
    *response.mutable_object()->mutable_pod_group() = group;
    context_.Answer(std::move(response), controller_);
  }
  // Returns the one request that is under way.
  Asked WhatIsAsked() const {
    EXPECT_LE(context_.writes.size() + context_.gets.size(), 1U);
    if (!context_.gets.empty()) return Asked::kRead;
    if (context_.writes.empty()) return Asked::kNothing;
    const gateway::v1::WriteRequest& request = context_.writes.front().request;
    if (request.resource().plural() == "events") return Asked::kEvent;
    if (request.resource().plural() == "pods") return Asked::kBind;
    if (request.has_create()) return Asked::kCreate;
    return request.has_delete_() ? Asked::kDelete : Asked::kPatch;
  }
  const gateway::v1::WriteRequest& Request() const { return context_.writes.front().request; }
  // Returns how many decisions of that kind the history has.
  size_t Recorded(GroupDecision::Kind kind) {
    const auto history = controller_.records().Read(SlotOf(kKey), kKey);
    size_t count = 0;
    if (!history.ok() || !*history) return count;
    for (const auto& entry : (*history)->entries) count += DecisionOf(entry).kind == kind ? 1 : 0;
    return count;
  }

  runtime::testing::ScriptedContext context_;
  PodGroupController controller_{context_, {}};
};

TEST_F(OwnedGroupsTest, AGroupIsMadeByTheAnnotationsOfTheOwnerThatIsShown) {
  ShowOwner(2, {{kMinMember, "2"}});
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "no pod wants a group";
  kube::v1::Pod pod = PodOf("web-1");
  pod.clear_group_name();
  ShowPod(pod);
  ASSERT_EQ(WhatIsAsked(), Asked::kCreate);
  EXPECT_THAT(Request().create().body(), HasSubstr(R"("minMember":2)"));
}

TEST_F(OwnedGroupsTest, AnEditOfTheOwnerReachesTheGroup) {
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1"));
  ShowOwner(2);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  ShowOwner(2, {{kMinMember, "2"}});
  ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
  EXPECT_EQ(Request().patch().uid(), "pg-1");
  EXPECT_THAT(Request().patch().body(), HasSubstr(R"("minMember":2)"));
  context_.Answer(Done(), controller_);
  ShowGroup(GroupFor({{kMinMember, "2"}}));
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  EXPECT_EQ(Recorded(GroupDecision::Kind::kUpdated), 1U);
}

// The group comes before the pod here, since a pod that names a missing group has it made.
TEST_F(OwnedGroupsTest, WhicheverComesLastHasTheGroupCompared) {
  const auto show_group = [this] { ShowGroup(GroupFor({})); };
  const auto show_pod = [this] { ShowPod(PodOf("web-1")); };
  const auto show_owner = [this] { ShowOwner(2, {{kMinMember, "2"}}); };
  const std::vector<std::function<void()>> orders[] = {
      {show_group, show_pod, show_owner}, {show_group, show_owner, show_pod}, {show_owner, show_group, show_pod}};
  for (const std::vector<std::function<void()>>& order : orders) {
    for (const std::function<void()>& show : order) {
      EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
      show();
    }
    EXPECT_EQ(WhatIsAsked(), Asked::kPatch);
    context_.writes.clear();
    controller_.CloseSlot(SlotOf(kKey));
    ASSERT_TRUE(controller_.OpenSlot(SlotOf(kKey)).ok());
  }
}

TEST_F(OwnedGroupsTest, WhatSomebodyPutsIntoAFieldOfOursIsPutRight) {
  ShowOwner(2, {{kMinMember, "2"}});
  ShowGroup(GroupFor({{kMinMember, "2"}}));
  ShowPod(PodOf("web-1"));
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  kube::v1::PodGroup group = GroupFor({{kMinMember, "2"}});
  group.set_phase("Running");
  ShowGroup(group);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "the scheduler's";
  group.mutable_spec()->set_min_member(7);
  ShowGroup(group);
  ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
  EXPECT_EQ(Request().patch().body(), R"({"spec":{"minMember":2}})");
}

TEST_F(OwnedGroupsTest, TheNewestPodSaysWhatOneCosts) {
  ShowOwner(3);
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1", 2000));
  kube::v1::Pod older = PodOf("web-2", 1000);
  older.mutable_grouping()->set_spec_json("{}");
  ShowPod(older);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  kube::v1::Pod newer = older;
  newer.set_uid("web-3-uid");
  newer.set_creation_ms(3000);
  ShowPod(newer);
  ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
  EXPECT_THAT(Request().patch().body(), HasSubstr(R"("cpu":null)"));
}

TEST_F(OwnedGroupsTest, WithoutTheNewestPodTheNextOneSaysHowTheGroupIs) {
  ShowOwner(2);
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1", 1000));
  ShowPod(PodOf("web-2", 2000));
  Forget("web-2-uid");
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  ShowOwner(2, {{kMinMember, "2"}});
  EXPECT_EQ(WhatIsAsked(), Asked::kPatch);
}

// A rollout that is undone half way ends like this.
TEST_F(OwnedGroupsTest, WhenTheNewestPodGoesTheGroupIsAsTheNextOneSays) {
  for (const bool leaves_first : {false, true}) {
    ShowOwner(3);
    ShowGroup(GroupFor({}));
    ShowPod(PodOf("web-1", 1000));
    kube::v1::Pod newer = PodOf("web-2", 2000);
    newer.mutable_grouping()->set_spec_json("{}");
    ShowPod(newer);
    ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
    context_.Answer(Done(), controller_);
    ShowGroup(GroupFor({}, newer));
    context_.Advance(absl::Seconds(2), controller_);
    ASSERT_EQ(WhatIsAsked(), Asked::kNothing);
    newer.set_deletion_ms(3000);
    if (leaves_first) ShowPod(newer);
    Forget("web-2-uid");
    ASSERT_EQ(WhatIsAsked(), Asked::kPatch) << leaves_first;
    EXPECT_THAT(Request().patch().body(), HasSubstr(R"("cpu":"1")")) << leaves_first;
    context_.Answer(Done(), controller_);
    context_.Advance(absl::Seconds(2), controller_);
  }
}

// Times of Kubernetes are whole seconds, and UIDs have no order in time.
TEST_F(OwnedGroupsTest, APodThatComesOnceTheNewestHasGoneCountsThoughItLooksOlder) {
  ShowOwner(3);
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-2", 1000));
  Forget("web-2-uid");
  kube::v1::Pod next = PodOf("web-1", 1000);
  next.mutable_grouping()->set_spec_json("{}");
  ShowPod(next);
  EXPECT_EQ(WhatIsAsked(), Asked::kPatch);
}

TEST_F(OwnedGroupsTest, NewsOfAnOlderPodMakeItNoNewerOne) {
  ShowOwner(3);
  ShowGroup(GroupFor({}));
  kube::v1::Pod oldest = PodOf("web-1", 1000);
  oldest.mutable_grouping()->set_spec_json("{}");
  ShowPod(PodOf("web-2", 2000));
  ShowPod(oldest);
  ShowPod(PodOf("web-3", 3000));
  Forget("web-3-uid");
  oldest.set_all_ready(true);
  ShowPod(oldest);
  ShowOwner(3, {{"volcano.sh/tier", "gold"}});
  ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
  EXPECT_EQ(Request().patch().body().find("minResources"), std::string::npos) << Request().patch().body();
}

TEST_F(OwnedGroupsTest, AnOwnerThatWasNotShownForAWhileIsFollowedAgain) {
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1"));
  ShowOwner(2);
  Forget("rs-uid");
  ShowOwner(2, {{kMinMember, "2"}});
  EXPECT_EQ(WhatIsAsked(), Asked::kPatch);
}

TEST_F(OwnedGroupsTest, AChangeOfTheNewestPodCounts) {
  ShowOwner(2);
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1"));
  kube::v1::Pod pod = PodOf("web-1");
  kube::v1::KeyValue& annotation = *pod.mutable_grouping()->add_annotations();
  annotation.set_key(std::string(kube::kPreemptableKey));
  annotation.set_value("true");
  ShowPod(pod);
  ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
  EXPECT_THAT(Request().patch().body(), HasSubstr(R"("volcano.sh/preemptable":"true")"));
}

TEST_F(OwnedGroupsTest, APodOfAnotherOwnerThatNamesTheGroupSaysNothing) {
  ShowOwner(2);
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1"));
  kube::v1::Pod guest = PodOf("guest-1", 9000);
  guest.set_owner_uid("other-uid");
  guest.mutable_grouping()->set_spec_json("{}");
  ShowPod(guest);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  Forget("web-1-uid");
  ShowOwner(0);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "it is a pod of the group all the same";
  Forget("guest-1-uid");
  EXPECT_EQ(WhatIsAsked(), Asked::kDelete);
}

TEST_F(OwnedGroupsTest, ARefusedUpdateHoldsNoPodBack) {
  ShowOwner(2, {{kMinMember, "2"}});
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1"));
  ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
  context_.Answer(Refused(403, "Forbidden", "no"), controller_);
  kube::v1::Pod pod = PodOf("web-2");
  pod.clear_group_name();
  ShowPod(pod);
  EXPECT_EQ(WhatIsAsked(), Asked::kBind);
}

TEST_F(OwnedGroupsTest, AnUpdateWhoseAnswerIsLostIsToldWhereTheGroupShowsIt) {
  for (const bool is_carried_out : {true, false}) {
    SCOPED_TRACE(is_carried_out);
    ShowOwner(2);
    ShowGroup(GroupFor({}));
    ShowPod(PodOf("web-1"));
    const size_t before = Recorded(GroupDecision::Kind::kUpdated);
    ShowOwner(2, {{kMinMember, "2"}});
    ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
    context_.Answer({.kind = runtime::WriteOutcome::Kind::kUnknown}, controller_);
    ASSERT_EQ(WhatIsAsked(), Asked::kRead);
    AnswerRead(GroupFor(is_carried_out ? Annotations{{kMinMember, "2"}} : Annotations{}));
    EXPECT_EQ(Recorded(GroupDecision::Kind::kUpdated) - before, is_carried_out ? 1U : 0U);
    context_.Advance(absl::Minutes(2), controller_);
    EXPECT_EQ(WhatIsAsked(), is_carried_out ? Asked::kNothing : Asked::kPatch);
  }
}

TEST_F(OwnedGroupsTest, TheHistoryOfAGroupEndsWithItThoughItsOwnerStays) {
  ShowOwner(1);
  ShowGroup(GroupFor({}));
  ShowOwner(0);
  ASSERT_EQ(WhatIsAsked(), Asked::kDelete);
  context_.Answer(Done(), controller_);
  Forget("pg-1");
  const auto history = controller_.records().Read(SlotOf(kKey), kKey);
  ASSERT_TRUE(history.ok() && history->has_value());
  EXPECT_NE((*history)->gone_ms, 0);
}

TEST_F(OwnedGroupsTest, AGroupGoesWithTheLastPodOfAnOwnerThatIsScaledToZero) {
  ShowOwner(2);
  ShowGroup(GroupFor({}));
  kube::v1::Pod pod = PodOf("web-1");
  ShowPod(pod);
  kube::v1::Pod failed = PodOf("web-2");
  failed.set_phase(kube::v1::POD_PHASE_FAILED);
  ShowPod(failed);
  ShowOwner(0);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "a pod is there";
  pod.set_deletion_ms(5000);
  ShowPod(pod);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "it terminates";
  Forget("web-1-uid");
  ASSERT_EQ(WhatIsAsked(), Asked::kDelete);
  EXPECT_EQ(Request().delete_().uid(), "pg-1");
  context_.Answer(Done(), controller_);
  EXPECT_EQ(Recorded(GroupDecision::Kind::kDeleted), 1U);
}

TEST_F(OwnedGroupsTest, WhatIsNotTheOwnersGroupIsLeftAlone) {
  kube::v1::PodGroup group = GroupFor({});
  group.mutable_meta()->clear_owner_references();
  ShowGroup(group);
  ShowPod(PodOf("web-1"));
  ShowOwner(2, {{kMinMember, "2"}});
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  Forget("web-1-uid");
  ShowOwner(0);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
}

TEST_F(OwnedGroupsTest, AnAnswerSaysWhetherTheGroupIsAsItIsToBe) {
  struct Case {
    const char* what;
    runtime::WriteOutcome outcome;
    Asked next;
    bool is_refusal;
  };
  const Case cases[] = {
      {"another group has the name", Refused(409, "Conflict"), Asked::kRead, false},
      {"it is gone", Refused(404, "NotFound"), Asked::kRead, false},
      {"nobody knows", {.kind = runtime::WriteOutcome::Kind::kUnknown}, Asked::kRead, false},
      {"forbidden", Refused(403, "Forbidden", "no"), Asked::kNothing, true},
      {"too many", Refused(429, "TooManyRequests"), Asked::kNothing, false},
  };
  ShowGroup(GroupFor({}));
  ShowPod(PodOf("web-1"));
  size_t refusals = 0;
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    ShowOwner(2, {{kMinMember, "2"}});
    ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
    context_.Answer(test.outcome, controller_);
    EXPECT_EQ(WhatIsAsked(), test.next);
    if (test.next == Asked::kRead) {
      AnswerRead(GroupFor({}));
      EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "not at once, and not without end";
    }
    context_.Advance(absl::Minutes(2), controller_);
    EXPECT_EQ(WhatIsAsked(), Asked::kPatch) << "it is tried again";
    refusals += test.is_refusal ? 1 : 0;
    EXPECT_EQ(Recorded(GroupDecision::Kind::kRefused), refusals);
    context_.Answer(Done(), controller_);
    ShowOwner(2);
    if (WhatIsAsked() == Asked::kPatch) context_.Answer(Done(), controller_);
    ShowGroup(GroupFor({}));
  }
}

TEST_F(OwnedGroupsTest, AMinimumThatCannotBeMetIsOneEventOnAPod) {
  ShowGroup(GroupFor({{kMinMember, "3"}}));
  ShowPod(PodOf("web-1"));
  ShowOwner(2, {{kMinMember, "3"}});
  ASSERT_EQ(WhatIsAsked(), Asked::kEvent);
  EXPECT_THAT(Request().create().body(), HasSubstr("ReplicaSet web asks for 3 pods together, and it has 2"));
  context_.Answer(Done(), controller_);
  ShowOwner(2, {{kMinMember, "3"}, {"scheduling.volcano.sh/x", "y"}});
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "it was told";
}

TEST_F(OwnedGroupsTest, AnAnnotationThatNoGroupCanHaveIsToldOnceAndTheGroupStays) {
  ShowGroup(GroupFor({}));
  kube::v1::Pod pod = PodOf("web-1");
  ShowPod(pod);
  ShowOwner(2, {{std::string(kube::kSchedulingQueueNameKey), "Not A Queue"}});
  ASSERT_EQ(WhatIsAsked(), Asked::kEvent);
  EXPECT_THAT(Request().create().body(), HasSubstr("is not a queue name"));
  context_.Answer(Done(), controller_);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
}

TEST_F(OwnedGroupsTest, APodIsBoundByItsUid) {
  kube::v1::Pod pod = PodOf("web-1");
  pod.clear_group_name();
  ShowOwner(1);
  ShowGroup(GroupFor({}));
  ShowPod(pod);
  ASSERT_EQ(WhatIsAsked(), Asked::kBind);
  EXPECT_EQ(Request().patch().uid(), "web-1-uid");
}

TEST_F(OwnedGroupsTest, AnOwnerThatCannotBeReadIsReadAgain) {
  kube::v1::Pod pod = PodOf("web-1");
  pod.clear_group_name();
  ShowPod(pod);
  ASSERT_EQ(WhatIsAsked(), Asked::kRead) << "no watch shows the owner";
  context_.Answer(absl::UnavailableError("away"), controller_);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "the group would have a minimum of 1";
  context_.Advance(absl::Seconds(1), controller_);
  EXPECT_EQ(WhatIsAsked(), Asked::kRead);
}

TEST_F(OwnedGroupsTest, AnOwnerThatIsBeingDeletedTakesItsGroupWithIt) {
  ShowOwner(0);
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing) << "there is no group to delete";
  kube::v1::Object object;
  kube::v1::Workload& owner = *object.mutable_workload();
  owner.mutable_meta()->set_uid("rs-uid");
  owner.mutable_meta()->set_deletion_ms(1000);
  owner.set_replicas(0);
  controller_.OnState(kKey, "workloads/replicasets", std::move(object));
  ShowGroup(GroupFor({}));
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
}

TEST_F(OwnedGroupsTest, NothingIsKeptOfAnOwnerThatIsGone) {
  ShowOwner(2);
  EXPECT_NE(controller_.compat_groups().groups().Find(kKey), nullptr);
  Forget("rs-uid");
  EXPECT_EQ(controller_.compat_groups().groups().Find(kKey), nullptr);
}

}  // namespace
}  // namespace basalt::pgsvc
