// The requests and the answers of DeletePodGroup.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {
namespace {

using podgroup::v1::DeletePodGroupRequest;
using podgroup::v1::DeletePodGroupResponse;

constexpr char kJobsGroup[] = "default/train-uid";

class DeletePodGroupTest : public ::testing::Test {
 protected:
  DeletePodGroupTest() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_TRUE(controller_.OpenSlot(slot).ok());
  }

  static kube::v1::Object Group(const std::string& uid, const std::string& job_uid = "job-1", int64_t deletion_ms = 0) {
    kube::v1::Object object;
    kube::v1::ObjectMeta& meta = *object.mutable_pod_group()->mutable_meta();
    meta.set_namespace_("default");
    meta.set_name("train-uid");
    meta.set_uid(uid);
    meta.set_deletion_ms(deletion_ms);
    kube::v1::OwnerReference& owner = *meta.add_owner_references();
    owner.set_controller(true);
    owner.set_uid(job_uid);
    return object;
  }
  void Show(kube::v1::Object object) {
    controller_.OnState(kJobsGroup, std::string(kube::kWatchPodGroups), std::move(object));
  }
  static DeletePodGroupRequest Request() {
    DeletePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name("train-uid");
    request.set_uid("pg-1");
    request.set_job_uid("job-1");
    return request;
  }
  void Delete(DeletePodGroupRequest request = Request()) {
    controller_.DeletePodGroup(std::move(request), [this](absl::StatusOr<DeletePodGroupResponse> answer) {
      answers_.push_back(std::move(answer));
    });
  }
  // Returns the number of deletions under way. Any other write is a failure.
  size_t Deletions() {
    for (const auto& write : context_.writes) {
      EXPECT_EQ(write.request.resource().plural(), "podgroups");
      EXPECT_EQ(write.request.name(), "train-uid");
      EXPECT_EQ(write.request.delete_().uid(), "pg-1");
    }
    return context_.writes.size();
  }
  // The oldest write deletes the group, which the runtime reports before the answer.
  void Carry() {
    controller_.OnGone(kJobsGroup, {.uid = "pg-1"});
    runtime::WriteOutcome outcome = runtime::testing::Done(Group("pg-1"));
    outcome.gone = true;
    context_.Answer(std::move(outcome), controller_);
  }
  // Answers a read with the group; nullopt if there is none.
  void AnswerRead(std::optional<kube::v1::Object> group) {
    ASSERT_EQ(context_.gets.size(), 1U);
    gateway::v1::GetResponse response;
    if (group.has_value()) {
      *response.mutable_object() = *std::move(group);
    } else {
      response.mutable_error()->set_code(404);
    }
    context_.Answer(std::move(response), controller_);
  }
  absl::StatusCode Code() { return answers_.empty() ? absl::StatusCode::kUnknown : answers_.back().status().code(); }
  void ExpectGone() {
    ASSERT_EQ(answers_.size(), 1U);
    ASSERT_TRUE(answers_[0].ok()) << answers_[0].status();
    EXPECT_TRUE(answers_[0]->gone());
  }

  runtime::testing::ScriptedContext context_;
  PodGroupController controller_{context_, {}};
  std::vector<absl::StatusOr<DeletePodGroupResponse>> answers_;
};

TEST_F(DeletePodGroupTest, AGroupIsDeletedByItsUidAndItsLastStateIsTheAnswer) {
  Show(Group("pg-1"));
  Delete();
  EXPECT_TRUE(context_.gets.empty());
  ASSERT_EQ(Deletions(), 1U);
  EXPECT_TRUE(answers_.empty());
  Carry();
  ExpectGone();
  EXPECT_EQ(answers_[0]->pod_group().meta().uid(), "pg-1");
  EXPECT_TRUE(context_.gets.empty()) << "the answer has said all";
}

TEST_F(DeletePodGroupTest, AGroupWithAFinalizerIsAnsweredAsItLingers) {
  Show(Group("pg-1"));
  Delete();
  ASSERT_EQ(Deletions(), 1U);
  Show(Group("pg-1", "job-1", 5));
  context_.Answer(runtime::testing::Done(Group("pg-1", "job-1", 5)), controller_);
  Delete();
  EXPECT_EQ(Deletions(), 0U) << "it goes already";
  ASSERT_EQ(answers_.size(), 2U);
  for (const auto& answer : answers_) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->gone());
    EXPECT_EQ(answer->pod_group().meta().deletion_ms(), 5);
  }
}

// This happens after a restart or a move, or if the watch is behind.
TEST_F(DeletePodGroupTest, AGroupThatIsNotKnownYetIsReadAndDeletedByItsUid) {
  for (const bool knows_another : {false, true}) {
    SCOPED_TRACE(knows_another);
    answers_.clear();
    if (knows_another) Show(Group("pg-0"));
    Delete();
    EXPECT_EQ(Deletions(), 0U);
    AnswerRead(Group("pg-1"));
    ASSERT_EQ(Deletions(), 1U);
    Carry();
    ExpectGone();
  }
}

TEST_F(DeletePodGroupTest, AGroupThatIsGoneOrHasAnotherInItsPlaceIsAnsweredAndNothingIsWritten) {
  for (const bool has_another : {false, true}) {
    SCOPED_TRACE(has_another);
    answers_.clear();
    Delete();
    AnswerRead(has_another ? std::optional(Group("pg-2")) : std::nullopt);
    EXPECT_EQ(Deletions(), 0U);
    ExpectGone();
    EXPECT_FALSE(answers_[0]->has_pod_group());
  }
}

TEST_F(DeletePodGroupTest, TheGroupOfAnotherOwnerIsNeverTouched) {
  Show(Group("pg-1", "job-0"));
  Delete();
  EXPECT_EQ(Deletions(), 0U);
  EXPECT_EQ(Code(), absl::StatusCode::kFailedPrecondition);
  controller_.OnGone(kJobsGroup, {.uid = "pg-1"});
  answers_.clear();
  Delete();
  AnswerRead(Group("pg-1", "job-0"));
  EXPECT_EQ(Deletions(), 0U);
  EXPECT_EQ(Code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DeletePodGroupTest, WhatIsNotKnownOfAWriteIsReadAndNothingIsWrittenTwice) {
  const runtime::WriteOutcome unknown{.kind = runtime::WriteOutcome::Kind::kUnknown};
  const runtime::WriteOutcome not_found = runtime::testing::Refused(404, "NotFound");
  const runtime::WriteOutcome conflict = runtime::testing::Refused(409, "Conflict");
  for (const runtime::WriteOutcome* outcome : {&unknown, &not_found, &conflict}) {
    SCOPED_TRACE(outcome->error.code());
    Show(Group("pg-1"));
    answers_.clear();
    Delete();
    context_.Answer(*outcome, controller_);
    AnswerRead(Group("pg-1"));
    EXPECT_EQ(Deletions(), 0U) << "the caller asks again";
    EXPECT_EQ(Code(), absl::StatusCode::kUnavailable);
    for (const bool has_another : {false, true}) {
      Show(Group("pg-1"));
      answers_.clear();
      Delete();
      context_.Answer(*outcome, controller_);
      AnswerRead(has_another ? std::optional(Group("pg-2")) : std::nullopt);
      EXPECT_EQ(Deletions(), 0U);
      ExpectGone();
    }
  }
}

// The read is merged, so that no older state follows, and none of a group that is gone.
TEST_F(DeletePodGroupTest, WhatIsReadIsOrderedWithWhatWatchesTell) {
  const runtime::WriteOutcome unknown{.kind = runtime::WriteOutcome::Kind::kUnknown};
  Show(Group("pg-1"));
  for (const auto& read : {std::optional(Group("pg-1")), std::optional<kube::v1::Object>()}) {
    Delete();
    context_.Answer(unknown, controller_);
    AnswerRead(read);
  }
  ASSERT_EQ(context_.merged.size(), 2U);
  for (const auto& merged : context_.merged) EXPECT_EQ(merged.object.pod_group().meta().uid(), "pg-1");
  EXPECT_FALSE(context_.merged[0].gone);
  EXPECT_TRUE(context_.merged[1].gone);
}

TEST_F(DeletePodGroupTest, AGroupThatIsMadeWhileItsNameIsReadIsNotGone) {
  Show(Group("pg-1"));
  Delete();
  context_.Answer(runtime::testing::Refused(404, "NotFound"), controller_);
  Show(Group("pg-2"));
  AnswerRead(std::nullopt);
  EXPECT_TRUE(context_.merged.empty());
  ASSERT_NE(controller_.compat_groups().groups().Find(kJobsGroup), nullptr);
  EXPECT_EQ(controller_.Show(kJobsGroup)->object().meta().uid(), "pg-2");
}

TEST_F(DeletePodGroupTest, WhatCannotBeReadIsAskedForAgain) {
  Delete();
  ASSERT_EQ(context_.gets.size(), 1U);
  const absl::StatusOr<gateway::v1::GetResponse> failed = absl::UnavailableError("no gateway");
  context_.Answer(failed, controller_);
  EXPECT_EQ(Deletions(), 0U);
  EXPECT_EQ(Code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeletePodGroupTest, ARefusalIsToldInItsOwnWords) {
  Show(Group("pg-1"));
  Delete();
  context_.Answer(runtime::testing::Refused(403, "Forbidden", "denied by policy"), controller_);
  EXPECT_EQ(Code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ToStd(answers_.back().status().message())), ::testing::HasSubstr("denied by policy"));
  Delete();
  context_.Answer(runtime::testing::Refused(500, "InternalError", "webhook"), controller_);
  EXPECT_EQ(Code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeletePodGroupTest, ACallThatIsRepeatedWaitsForTheFirstAndWritesNothing) {
  Show(Group("pg-1"));
  Delete();
  Delete();
  ASSERT_EQ(Deletions(), 1U);
  Carry();
  ASSERT_EQ(answers_.size(), 1U);
  AnswerRead(std::nullopt);
  EXPECT_EQ(Deletions(), 0U);
  ASSERT_EQ(answers_.size(), 2U);
  ASSERT_TRUE(answers_[1].ok()) << answers_[1].status();
  EXPECT_TRUE(answers_[1]->gone());
}

// The caller has given up, and may want the group again.
TEST_F(DeletePodGroupTest, ACallThatHasWaitedTooLongIsNotCarriedOut) {
  Show(Group("pg-1"));
  Delete();
  Delete();
  context_.Advance(absl::Seconds(6));
  context_.Answer(runtime::testing::Refused(500, "InternalError", "webhook"), controller_);
  EXPECT_EQ(Deletions(), 0U);
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[1].status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeletePodGroupTest, CallsThatWaitAreBoundedInNumberAndInTime) {
  Show(Group("pg-1"));
  Delete();
  std::vector<absl::Status> ensured;
  const auto ensure = [&] {
    podgroup::v1::EnsurePodGroupRequest request;
    request.set_namespace_("default");
    request.set_name("train-uid");
    request.set_job_uid("job-1");
    controller_.EnsurePodGroup(request, [&ensured](const auto& answer) { ensured.push_back(answer.status()); });
  };
  for (int i = 0; i < 31; ++i) ensure();
  EXPECT_THAT(ensured, ::testing::IsEmpty());
  ensure();
  ASSERT_EQ(ensured.size(), 1U);
  EXPECT_EQ(ensured[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(ToStd(ensured[0].message())), ::testing::HasSubstr("32 calls about it wait already"));
  context_.Advance(absl::Seconds(4));
  controller_.Act(kJobsGroup);
  EXPECT_EQ(ensured.size(), 1U);
  context_.Advance(absl::Seconds(2));
  controller_.Act(kJobsGroup);
  ASSERT_EQ(ensured.size(), 32U) << "though the deletion before them has no answer yet";
  for (const absl::Status& status : ensured) EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(answers_.empty());
  Carry();
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].ok()) << answers_[0].status();
}

TEST_F(DeletePodGroupTest, WhoeverWaitsIsAnsweredWhenTheSlotCloses) {
  Show(Group("pg-1"));
  Delete();
  Delete();
  controller_.CloseSlot(SlotOf(kJobsGroup));
  ASSERT_EQ(answers_.size(), 2U);
  for (const auto& answer : answers_) EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  context_.Answer(runtime::testing::Done(), controller_);  // No caller is left for the answer.
  EXPECT_EQ(answers_.size(), 2U);
}

TEST_F(DeletePodGroupTest, ACallThatDoesNotSayWhichGroupIsRefused) {
  for (const auto clear : {&DeletePodGroupRequest::clear_namespace_, &DeletePodGroupRequest::clear_name,
                           &DeletePodGroupRequest::clear_uid, &DeletePodGroupRequest::clear_job_uid}) {
    DeletePodGroupRequest request = Request();
    (request.*clear)();
    Delete(std::move(request));
    EXPECT_EQ(Code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(Deletions(), 0U);
}

}  // namespace
}  // namespace basalt::pgsvc
