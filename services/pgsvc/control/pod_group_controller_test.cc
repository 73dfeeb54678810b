#include "services/pgsvc/control/pod_group_controller.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;
using ::testing::HasSubstr;

constexpr char kKey[] = "default/podgroup-rs-uid";

runtime::WriteOutcome Unknown() { return {.kind = runtime::WriteOutcome::Kind::kUnknown}; }

class PodGroupControllerTest : public ::testing::Test {
 protected:
  PodGroupControllerTest() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_TRUE(controller_.OpenSlot(slot).ok());
  }

  // Adds a pod of a ReplicaSet, which is bound to `group`.
  void AddPod(const std::string& name, const std::string& group = "") {
    kube::v1::Object object;
    kube::v1::Pod& pod = *object.mutable_pod();
    pod = testing::OwnedPod();
    pod.set_namespace_("default");
    pod.set_name(name);
    pod.set_uid(name + "-uid");
    pod.set_group_name(group);
    controller_.OnState(kKey, "pods/scheduler=volcano", std::move(object));
    context_.Wake(kKey);
    context_.RunPasses(controller_);
  }

  void ObserveQueue(const std::string& state, int32_t running) {
    kube::v1::Object object;
    object.mutable_queue()->mutable_meta()->set_name("research");
    object.mutable_queue()->set_state(state);
    object.mutable_queue()->set_running(running);
    controller_.OnShared(std::string(kube::kWatchQueues), object, /*gone=*/false);
    context_.RunPasses(controller_);
  }

  // Answers a read with the owner; without an annotation if `min_member` is empty.
  void AnswerOwner(const std::string& min_member) {
    ASSERT_EQ(context_.gets.size(), 1U);
    EXPECT_EQ(context_.gets.front().request.resource().plural(), "replicasets");
    gateway::v1::GetResponse response;
    kube::v1::ObjectMeta& meta = *response.mutable_object()->mutable_generic()->mutable_meta();
    meta.set_uid("rs-uid");
    if (!min_member.empty()) {
      kube::v1::KeyValue& annotation = *meta.add_annotations();
      annotation.set_key(std::string(kube::kGroupMinMemberKey));
      annotation.set_value(min_member);
    }
    context_.Answer(std::move(response), controller_);
  }

  // Answers a read with the group; there is none if `uid` is empty.
  void AnswerGroup(const std::string& uid) {
    ASSERT_EQ(context_.gets.size(), 1U);
    EXPECT_EQ(context_.gets.front().request.resource().plural(), "podgroups");
    gateway::v1::GetResponse response;
    if (uid.empty()) {
      response.mutable_error()->set_code(404);
    } else {
      response.mutable_object()->mutable_pod_group()->mutable_meta()->set_uid(uid);
    }
    context_.Answer(std::move(response), controller_);
  }

  // The API server refuses the group, which causes an Event.
  void RefuseGroup() {
    ASSERT_NE(Create(), nullptr);
    context_.Answer(Refused(403, "Forbidden", "the queue is closed"), controller_);
  }

  // Answers a read with the Event.
  void AnswerEvent(int count) {
    ASSERT_EQ(context_.gets.size(), 1U);
    ASSERT_EQ(context_.gets.front().request.resource().plural(), "events");
    gateway::v1::GetResponse response;
    kube::v1::GenericObject& event = *response.mutable_object()->mutable_generic();
    event.mutable_meta()->set_uid("event-uid");
    event.set_json(fmt::format(R"({{"count":{}}})", count));
    context_.Answer(std::move(response), controller_);
  }

  // Returns the write of an Event that is under way; null if there is none.
  const gateway::v1::WriteRequest* EventWrite() const {
    if (context_.writes.empty() || context_.writes.front().request.resource().plural() != "events") return nullptr;
    return &context_.writes.front().request;
  }

  // Returns the create of the group that is under way; null if there is none.
  const gateway::v1::WriteRequest* Create() const {
    if (context_.writes.empty() || context_.writes.front().request.resource().plural() != "podgroups") return nullptr;
    return &context_.writes.front().request;
  }
  // Returns -1 if no create is under way.
  int64_t MinMemberOfCreate() const {
    if (Create() == nullptr) return -1;
    const auto body = ParseJson(Create()->create().body());
    return body.ok() ? FindInt(*FindPath(*body, {"spec"}), "minMember") : -1;
  }

  runtime::testing::ScriptedContext context_;
  PodGroupController controller_{context_, {}};
};

TEST_F(PodGroupControllerTest, ARefusedGroupIsTriedAgainAndAQueueThatCountsDoesNotHurryIt) {
  ObserveQueue("Open", 0);
  AddPod("web-1");
  AnswerOwner("");
  ASSERT_NE(Create(), nullptr);
  context_.Answer(Refused(403, "Forbidden", "the queue is closed"), controller_);
  ASSERT_EQ(context_.writes.size(), 1U) << "an Event";
  context_.Answer(Done(), controller_);
  for (int i = 1; i <= 20; ++i) ObserveQueue("Open", i);
  EXPECT_TRUE(context_.gets.empty());
  ObserveQueue("Closed", 20);
  ObserveQueue("Open", 20);
  AnswerOwner("");
  EXPECT_NE(Create(), nullptr) << "the queue has opened";
}

TEST_F(PodGroupControllerTest, AnnotationsOfTheOwnerAreReadAgainAfterARefusal) {
  AddPod("web-1");
  AnswerOwner("2");
  context_.Answer(Refused(403, "Forbidden", "at least 3"), controller_);
  context_.Answer(Done(), controller_);  // The answer to the Event.
  context_.Advance(absl::Seconds(1), controller_);
  AnswerOwner("3");
  EXPECT_EQ(MinMemberOfCreate(), 3);
}

TEST_F(PodGroupControllerTest, AnnotationsOfTheOwnerAreReadAgainWhereNobodyKnowsWhetherTheGroupWasMade) {
  AddPod("web-1");
  AnswerOwner("30");
  context_.Answer(Unknown(), controller_);
  AnswerGroup("");
  AnswerOwner("3");
  EXPECT_EQ(MinMemberOfCreate(), 3);
}

TEST_F(PodGroupControllerTest, AnnotationsOfTheOwnerAreReadAgainForAGroupThatWasDeleted) {
  AddPod("web-1");
  AnswerOwner("30");
  context_.Answer(Unknown(), controller_);
  AnswerGroup("pg-1");
  AddPod("web-1", "podgroup-rs-uid");
  context_.Answer(Done(), controller_);  // The answer to the binding.
  // Somebody corrects the owner and deletes the group, so that it is made anew.
  controller_.OnGone(kKey,
                     {.reason = runtime::Gone::Reason::kDeleted, .watch = {}, .uid = "pg-1", .ns = {}, .name = {}});
  context_.Wake(kKey);
  context_.RunPasses(controller_);
  AnswerOwner("3");
  EXPECT_EQ(MinMemberOfCreate(), 3);
}

TEST_F(PodGroupControllerTest, APodThatEndsWhileItsOwnerIsReadGetsNoGroup) {
  AddPod("web-1");
  controller_.OnGone(
      kKey, {.reason = runtime::Gone::Reason::kDeleted, .watch = {}, .uid = "web-1-uid", .ns = {}, .name = {}});
  AnswerOwner("2");
  EXPECT_EQ(Create(), nullptr);
}

TEST_F(PodGroupControllerTest, AProblemThatLastsIsOneEvent) {
  AddPod("web-1");
  std::optional<std::string> name;
  for (int i = 0; i < 4; ++i) {
    AnswerOwner("");
    context_.Answer(Refused(403, "Forbidden", "the queue is closed"), controller_);
    if (!context_.writes.empty()) {
      EXPECT_FALSE(name) << "a second Event";
      EXPECT_EQ(context_.writes.front().request.resource().plural(), "events");
      name = context_.writes.front().request.name();
      context_.Answer(Done(), controller_);
    }
    context_.Advance(absl::Seconds(5), controller_);
  }
  ASSERT_TRUE(name);
  EXPECT_THAT(*name, ::testing::StartsWith("web-1."));
}

TEST_F(PodGroupControllerTest, AnEventFromBeforeARestartIsCountedOn) {
  AddPod("web-1");
  AnswerOwner("");
  RefuseGroup();
  ASSERT_NE(EventWrite(), nullptr);
  EXPECT_TRUE(EventWrite()->has_create());
  const std::string name = EventWrite()->name();
  context_.Answer(Refused(409, "AlreadyExists"), controller_);
  AnswerEvent(3);
  ASSERT_NE(EventWrite(), nullptr);
  EXPECT_EQ(EventWrite()->name(), name);
  EXPECT_EQ(EventWrite()->patch().uid(), "event-uid");
  EXPECT_THAT(EventWrite()->patch().body(), HasSubstr(R"("count":4)"));
}

TEST_F(PodGroupControllerTest, AProblemThatLastsIsCountedAtMostOnceInFiveMinutes) {
  AddPod("web-1");
  int created = 0;
  int patched = 0;
  for (int second = 0; second < 400; ++second) {
    if (!context_.gets.empty() && context_.gets.front().request.resource().plural() == "events") {
      AnswerEvent(1);
    } else if (!context_.gets.empty()) {
      AnswerOwner("");
    } else if (Create() != nullptr) {
      RefuseGroup();
    } else if (EventWrite() != nullptr) {
      created += EventWrite()->has_create() ? 1 : 0;
      patched += EventWrite()->has_patch() ? 1 : 0;
      context_.Answer(Done(), controller_);
    }
    context_.Advance(absl::Seconds(1), controller_);
  }
  EXPECT_EQ(created, 1);
  EXPECT_EQ(patched, 1);
}

TEST_F(PodGroupControllerTest, WhatIsRememberedOfAPodsEventsGoesWithThePod) {
  AddPod("web-1");
  AnswerOwner("");
  RefuseGroup();
  ASSERT_NE(EventWrite(), nullptr);
  controller_.OnGone(kKey, {.uid = "web-1-uid"});
  context_.Answer(Refused(409, "AlreadyExists"), controller_);
  EXPECT_TRUE(context_.gets.empty()) << "nobody is left to be told";
}

TEST_F(PodGroupControllerTest, TheEventOfAPodWithTheLongestNameHasANameThatKubernetesTakes) {
  AddPod(std::string(253, 'w'));
  AnswerOwner("");
  RefuseGroup();
  ASSERT_NE(EventWrite(), nullptr);
  EXPECT_LE(EventWrite()->name().size(), 253U);
  EXPECT_THAT(EventWrite()->name(), ::testing::StartsWith("wwww"));
}

class EnsurePodGroupTest : public PodGroupControllerTest {
 protected:
  void Ensure() {
    podgroup::v1::EnsurePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name("train-uid");
    request.set_job_name("train");
    request.set_job_uid("uid");
    request.mutable_spec()->set_min_member(1);
    controller_.EnsurePodGroup(std::move(request), [this](absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> answer) {
      answer_ = std::move(answer);
    });
  }

  std::optional<absl::StatusOr<podgroup::v1::EnsurePodGroupResponse>> answer_;
};

TEST_F(EnsurePodGroupTest, AConflictOfAQuotaIsToldInItsOwnWords) {
  Ensure();
  ASSERT_NE(Create(), nullptr);
  context_.Answer(Refused(409, "Conflict", "Operation cannot be fulfilled on resourcequotas \"q\""), controller_);
  ASSERT_TRUE(answer_);
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer_->status().message()), HasSubstr("resourcequotas"));
}

TEST_F(EnsurePodGroupTest, ANamespaceThatIsNotThereIsToldInTheServersWords) {
  Ensure();
  context_.Answer(Refused(404, "NotFound", "namespaces \"default\" not found"), controller_);
  ASSERT_TRUE(answer_);
  EXPECT_THAT(std::string(answer_->status().message()), HasSubstr("namespaces"));
}

TEST_F(EnsurePodGroupTest, AGroupThatSomebodyMadeMeanwhileIsRead) {
  Ensure();
  context_.Answer(Refused(409, "AlreadyExists", "it exists"), controller_);
  ASSERT_EQ(context_.gets.size(), 1U);
  gateway::v1::GetResponse response;
  kube::v1::PodGroup& group = *response.mutable_object()->mutable_pod_group();
  group.mutable_meta()->set_uid("pg-1");
  kube::v1::OwnerReference& owner = *group.mutable_meta()->add_owner_references();
  owner.set_controller(true);
  owner.set_uid("uid");
  group.mutable_spec()->set_min_member(1);
  context_.Answer(std::move(response), controller_);
  ASSERT_TRUE(answer_);
  ASSERT_TRUE(answer_->ok()) << answer_->status();
  EXPECT_EQ((*answer_)->pod_group().meta().uid(), "pg-1");
}

TEST_F(EnsurePodGroupTest, WhoeverWaitsIsAnsweredWhenTheSlotCloses) {
  Ensure();
  controller_.CloseSlot(SlotOf("default/train-uid"));
  ASSERT_TRUE(answer_);
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kUnavailable);
  context_.Answer(Done(), controller_);  // No caller is left for the answer.
}

}  // namespace
}  // namespace basalt::pgsvc
