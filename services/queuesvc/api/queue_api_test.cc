// Commands and explanations of queues by the API, over a controller whose writes the test answers.
#include "services/queuesvc/api/queue_api.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "common/testing/status_matchers.h"
#include "services/queuesvc/api/queue_list.h"

namespace basalt::queuesvc {
namespace {

using basalt::testing::IsOk;
using basalt::testing::StatusIs;
using runtime::testing::Done;
using runtime::testing::Refused;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueueApiTest : public ::testing::Test, private QueueWorkers {
 protected:
  QueueApiTest() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_THAT(controller_.OpenSlot(slot), IsOk());
    Observe("root", "", "Open");
    Observe("team", "root", "Open");
    Observe("research", "team", "Open");
    context_.writes.clear();
  }
  void Observe(const std::string& name, const std::string& parent, const std::string& state, int64_t deletion_ms = 0) {
    kube::v1::Object object;
    kube::v1::Queue& queue = *object.mutable_queue();
    queue.mutable_meta()->set_name(name);
    queue.mutable_meta()->set_uid(name + "-uid");
    queue.mutable_meta()->set_resource_version(++version_);
    queue.mutable_meta()->set_deletion_ms(deletion_ms);
    queue.set_parent(parent);
    queue.set_state(state);
    controller_.OnShared(std::string(kube::kWatchQueues), object, /*gone=*/false);
    context_.RunPasses(controller_);
  }
  void ObserveGroup(const std::string& queue, const std::string& name) {
    kube::v1::Object object;
    object.mutable_pod_group()->mutable_meta()->set_uid(name + "-uid");
    object.mutable_pod_group()->mutable_meta()->set_namespace_("ns");
    object.mutable_pod_group()->mutable_meta()->set_name(name);
    object.mutable_pod_group()->set_phase("Running");
    controller_.OnState(queue, std::string(kube::kWatchPodGroups), std::move(object));
    context_.Wake(queue);
    context_.RunPasses(controller_);
  }

  // Nullopt until there is an answer.
  std::optional<absl::StatusOr<queue::v1::CommandQueueResponse>> answer_;
  void Ask(const std::string& name, const std::string& action, const std::string& uid = "",
           const std::string& id = "") {
    answer_.reset();
    queue::v1::CommandQueueRequest request;
    request.set_name(name);
    request.set_action(action);
    request.set_uid(uid);
    request.set_request_id(id);
    api_.Command(std::move(request), /*user_token=*/"", [this](auto got) { answer_ = std::move(got); });
  }
  absl::Status RefusalOf(const std::string& name, const std::string& action, const std::string& uid = "") {
    Ask(name, action, uid);
    EXPECT_TRUE(context_.writes.empty());
    return answer_ ? answer_->status() : absl::OkStatus();
  }
  absl::StatusOr<queue::v1::QueueExplanation> Explain(const std::string& name) {
    absl::StatusOr<queue::v1::QueueExplanation> explanation = absl::InternalError("no answer");
    queue::v1::ExplainQueueRequest request;
    request.set_name(name);
    api_.Explain(request, /*user_token=*/"", [&](auto got) { explanation = std::move(got); });
    return explanation;
  }

  absl::StatusOr<queue::v1::Queue> Get(const std::string& name) {
    absl::StatusOr<queue::v1::Queue> queue = absl::InternalError("no answer");
    queue::v1::GetQueueRequest request;
    request.set_name(name);
    api_.Get(request, [&](auto got) { queue = std::move(got); });
    return queue;
  }
  // Returns the names on the page of two that follows the token.
  std::vector<std::string> List(const std::string& token) {
    queue::v1::ListPartRequest request;
    request.set_slots(SlotSet::All().ToBytes());
    request.mutable_request()->set_page_size(2);
    request.mutable_request()->set_page_token(token);
    std::vector<std::string> names;
    api_.ListPart(request, [&](const absl::StatusOr<queue::v1::ListPartResponse>& part) {
      EXPECT_THAT(part, IsOk());
      for (const queue::v1::Queue& queue : part->queues()) names.push_back(QueueList::KeyOf(queue));
    });
    return names;
  }

  QueueApi& api() { return api_; }

  runtime::testing::ScriptedContext context_;
  QueueController controller_{context_, nullptr, {.create_default_queues = false}};

 private:
  size_t count() const override { return 1; }
  void OnWorkerOf(uint32_t, Task task) override { task(controller_); }
  void OnWorker(size_t, Task task) override { task(controller_); }

  QueueApi api_{*this, std::make_shared<watch::WatchHub>(1)};
  int64_t version_ = 0;
};

TEST_F(QueueApiTest, QueuesOfKaisAreReadInTheSamePagesAndNothingElse) {
  kube::v1::Object kai;
  kai.mutable_kai_queue()->mutable_meta()->set_name("team");
  kai.mutable_kai_queue()->mutable_meta()->set_uid("kai-uid");
  controller_.OnState("kai/team", std::string(kube::kWatchKaiQueues), std::move(kai));
  EXPECT_THAT(List(""), ElementsAre("kai/team", "research"));
  EXPECT_THAT(List("kai/team"), ElementsAre("research", "root"));
  EXPECT_THAT(List("research"), ElementsAre("root", "team"));
  const absl::StatusOr<queue::v1::Queue> got = Get("kai/team");
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ(got->kai().object().meta().uid(), "kai-uid");
  EXPECT_THAT(Get("kai/none"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("queue kai/none does not exist")));
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("queue kai/team is of KAI's scheduler: it is read here, and nothing else"));
  EXPECT_THAT(RefusalOf("kai/team", "CloseQueue"), refused);
  EXPECT_THAT(Explain("kai/team").status(), refused);
}

TEST_F(QueueApiTest, AQueueThatGroupsNameAndThatDoesNotExistIsListedUntilNoneDoes) {
  ObserveGroup("typo", "a");
  EXPECT_THAT(List("team"), ElementsAre("typo"));
  EXPECT_THAT(Get("typo"), StatusIs(absl::StatusCode::kNotFound));
  controller_.OnGone("typo", {.reason = runtime::Gone::Reason::kDeleted, .uid = "a-uid", .ns = "ns", .name = "a"});
  context_.Wake("typo");
  context_.RunPasses(controller_);
  EXPECT_THAT(List("team"), ElementsAre());
}

TEST_F(QueueApiTest, ACommandIsAnsweredOnceItIsThere) {
  Ask("research", "CloseQueue", "research-uid", "one");
  ASSERT_EQ(context_.writes.size(), 1U);
  const gateway::v1::WriteRequest request = context_.writes.front().request;
  EXPECT_EQ(FindString(*ParseJson(request.create().body()), "action"), "CloseQueue");
  EXPECT_FALSE(answer_.has_value());
  context_.Answer(Done(), controller_);
  ASSERT_TRUE(answer_.has_value());
  ASSERT_THAT(*answer_, IsOk());
  EXPECT_EQ((*answer_)->command(), "default/" + request.name());

  Ask("research", "CloseQueue", "", "one");
  context_.Answer(Refused(409, "AlreadyExists"), controller_);
  ASSERT_THAT(*answer_, IsOk());
  EXPECT_EQ((*answer_)->command(), "default/" + request.name()) << "the same request is asked once more";

  Ask("research", "CloseQueue");
  EXPECT_NE(context_.writes.front().request.name(), request.name());
  context_.Answer(Refused(403, "Forbidden", "not you"), controller_);
  EXPECT_THAT(answer_->status(), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(QueueApiTest, AMistakeIsRefusedAndNothingIsWritten) {
  EXPECT_THAT(RefusalOf("research", "SyncQueue"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(RefusalOf("research", "").message()), HasSubstr("action: '' is none"));
  EXPECT_THAT(RefusalOf("missing", "OpenQueue"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(RefusalOf("research", "OpenQueue", "another"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(RefusalOf("root", "CloseQueue"), StatusIs(absl::StatusCode::kFailedPrecondition));
  Observe("research", "team", "Open", /*deletion_ms=*/5);
  EXPECT_THAT(RefusalOf("research", "OpenQueue"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Explain("missing"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QueueApiTest, AQueueBelowClosedOnesIsExplainedWithTheHighestOfThemAndItsPodGroups) {
  ObserveGroup("research", "b");
  ObserveGroup("research", "a");
  ASSERT_THAT(Explain("research"), IsOk());
  EXPECT_EQ(Explain("research")->causes_size(), 0);
  EXPECT_EQ(Explain("research")->pod_groups_size(), 0) << "nothing is kept by them";
  Observe("root", "", "Closed");
  Observe("team", "root", "Closed");
  Observe("research", "team", "Closing");
  const auto explanation = Explain("research");
  ASSERT_THAT(explanation, IsOk());
  EXPECT_EQ(explanation->queue().pod_groups().running(), 2);
  EXPECT_THAT(explanation->pod_groups(), ElementsAre("ns/a", "ns/b"));
  EXPECT_EQ(explanation->pod_groups_total(), 2);
  ASSERT_EQ(explanation->causes_size(), 3);
  EXPECT_EQ(explanation->causes(0).message(), "state Open -> Closing: somebody else wrote it");
  EXPECT_EQ(explanation->causes(1).subject(), "queue team");
  EXPECT_THAT(explanation->causes(1).advice(), HasSubstr("basaltctl queue open root, then basaltctl queue open team, "
                                                         "then basaltctl queue open research;"));
  EXPECT_EQ(explanation->causes(2).kind(), queue::v1::QueueCause::KIND_POD_GROUPS);
}

// A problem that neither definition nor policy has refused, as under upstream's definition, is reported.
TEST_F(QueueApiTest, AStoredQueueIsHeldAgainstTheRulesForOneToBeMade) {
  kube::v1::Object object;
  kube::v1::Queue& queue = *object.mutable_queue();
  queue.mutable_meta()->set_name("greedy");
  queue.mutable_meta()->set_uid("greedy-uid");
  queue.mutable_meta()->set_resource_version(100);
  queue.set_parent("team");
  queue.set_state("Open");
  kube::v1::KeyValue& deserved = *queue.add_deserved();
  deserved.set_key("cpu");
  deserved.set_value("2");
  *queue.add_capability() = deserved;
  queue.mutable_capability(0)->set_value("1");
  controller_.OnShared(std::string(kube::kWatchQueues), object, /*gone=*/false);
  context_.RunPasses(controller_);
  const std::string own = "cpu: 2 is more than the capability, 1; lower it, or raise capability";
  std::vector<std::string> events;
  for (const auto& write : context_.writes) {
    if (write.request.resource().plural() == "events") events.push_back(write.request.create().body());
  }
  EXPECT_THAT(events, ElementsAre(HasSubstr("spec.deserved: " + own)));
  const auto explanation = Explain("greedy");
  ASSERT_THAT(explanation, IsOk());
  ASSERT_EQ(explanation->causes_size(), 2);
  for (const queue::v1::QueueCause& cause : explanation->causes()) {
    EXPECT_EQ(cause.kind(), queue::v1::QueueCause::KIND_SPEC);
    EXPECT_EQ(cause.subject(), "spec.deserved");
  }
  EXPECT_EQ(explanation->causes(0).message(), own);
  EXPECT_EQ(explanation->causes(1).message(), "cpu: the queues below team would have 2 together, and it has 0");
}

TEST_F(QueueApiTest, AQueueIsMadeBelowAParentThatIsThere) {
  std::optional<absl::StatusOr<queue::v1::Queue>> made;
  const auto create = [&](const std::string& manifest, bool dry_run = false) {
    made.reset();
    queue::v1::CreateQueueRequest request;
    request.set_manifest_json(manifest);
    request.set_dry_run(dry_run);
    api().Create(request, /*user_token=*/"", [&](auto got) { made = std::move(got); });
  };
  const auto manifest = [](const std::string& name, const std::string& parent) {
    return R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":")" + name +
           R"("},"spec":{"parent":")" + parent + R"("}})";
  };
  create(manifest("vision", "team"));
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_EQ(context_.writes.front().request.name(), "vision");
  EXPECT_EQ(context_.writes.front().request.create().body(), manifest("vision", "team"));
  kube::v1::Object object;
  object.mutable_queue()->mutable_meta()->set_name("vision");
  context_.Answer(Done(object), controller_);
  ASSERT_TRUE(made && made->ok());
  EXPECT_EQ((*made)->object().meta().name(), "vision");
  create(manifest("speech", "team"), /*dry_run=*/true);
  EXPECT_TRUE(context_.writes.front().request.dry_run());
  context_.Answer(Done(), controller_);
  ASSERT_TRUE(made && made->ok());
  EXPECT_EQ((*made)->object().meta().name(), "speech") << "a dry run is answered without an object";
  EXPECT_EQ((*made)->object().parent(), "team");
  create(manifest("research", "team"));
  context_.Answer(Refused(409, "AlreadyExists"), controller_);
  EXPECT_THAT(made->status(), StatusIs(absl::StatusCode::kAlreadyExists));
  for (const std::string& refused : {manifest("vision", "missing"), manifest("", "team"), std::string("[]"),
                                     std::string(R"({"apiVersion":"v1","kind":"Queue"})"),
                                     std::string(R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Job"})")}) {
    create(refused);
    EXPECT_THAT(made->status(), StatusIs(absl::StatusCode::kInvalidArgument)) << refused;
    EXPECT_TRUE(context_.writes.empty());
  }
  const auto asking = [](const std::string& spec) {
    return R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"vision"},"spec":{)" +
           spec + "}}";
  };
  create(asking(R"("parent":"team","capability":{"cpu":"many"})"));
  EXPECT_THAT(made->status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spec.capability.cpu: ")));
  create(asking(R"("parent":"team","capability":{"cpu":"-1"})"));
  EXPECT_THAT(made->status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("spec.capability: cpu: -1 is negative; use 0 or more")));
  for (const char* const weight : {"1e300", "4294967297", "18446744073709551615", "\"5\"", "1.5"}) {
    create(asking(fmt::format(R"("parent":"team","weight":{})", weight)));
    EXPECT_THAT(made->status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spec.weight: must be an integer of 32 bits")))
        << weight;
  }
  create(asking(R"("parent":"vision")"));
  EXPECT_THAT(made->status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is the queue itself")));
  create(R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"vision","annotations":)"
         R"({"volcano.sh/hierarchy":"root/a","volcano.sh/hierarchy-weights":"1"}}})");
  EXPECT_THAT(made->status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must have as many parts")));
  create(asking(R"("parent":"team","deserved":{"cpu":2},"guarantee":{"resource":{"cpu":1}})"));
  EXPECT_THAT(made->status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("spec.guarantee.resource: cpu: the queues below team would have 1 together")));
  EXPECT_TRUE(context_.writes.empty());
}

TEST_F(QueueApiTest, AQueueThatNobodyNeedsIsDeletedByItsUid) {
  std::optional<absl::StatusOr<queue::v1::DeleteQueueResponse>> deleted;
  const auto ask = [&](const std::string& name, const std::string& uid = "") {
    deleted.reset();
    queue::v1::DeleteQueueRequest request;
    request.set_name(name);
    request.set_uid(uid);
    api().Delete(request, /*user_token=*/"", [&](auto got) { deleted = std::move(got); });
  };
  ask("research");
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_EQ(context_.writes.front().request.delete_().uid(), "research-uid");
  context_.Answer(Done(), controller_);
  EXPECT_THAT(*deleted, IsOk());
  ask("team");
  EXPECT_THAT(deleted->status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(deleted->status().message()), HasSubstr("is the parent of 1 queues, as research"));
  ask("root");
  EXPECT_THAT(deleted->status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  ask("research", "another");
  EXPECT_THAT(deleted->status(), StatusIs(absl::StatusCode::kNotFound));
  ask("missing");
  EXPECT_THAT(deleted->status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(context_.writes.empty());
}

}  // namespace
}  // namespace basalt::queuesvc
