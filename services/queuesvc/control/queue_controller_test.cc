#include "services/queuesvc/control/queue_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"

namespace basalt::queuesvc {
namespace {

using runtime::testing::Done;
using runtime::testing::Refused;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kQueue[] = "research";
constexpr char kRunning[] = R"(volcano_queue_pod_group_running_count{queue_name="research"})";

class QueueControllerTest : public ::testing::Test {
 protected:
  void Open(QueueController& controller) { EXPECT_TRUE(controller.OpenSlot(SlotOf(kQueue)).ok()); }

  static kube::v1::Object QueueObject(int64_t resource_version = 1, const std::string& state = "Open") {
    kube::v1::Object object;
    kube::v1::Queue& queue = *object.mutable_queue();
    queue.mutable_meta()->set_name(kQueue);
    queue.mutable_meta()->set_uid("queue-uid");
    queue.mutable_meta()->set_resource_version(resource_version);
    queue.set_parent("root");
    queue.set_state(state);
    return object;
  }
  static kube::v1::Object GroupObject(const std::string& uid) {
    kube::v1::Object object;
    object.mutable_pod_group()->mutable_meta()->set_uid(uid);
    object.mutable_pod_group()->set_phase("Running");
    return object;
  }
  void Show(QueueController& controller, const kube::v1::Object& object, bool gone = false) {
    controller.OnShared(std::string(kube::kWatchQueues), object, gone);
    context_.RunPasses(controller);
  }
  void ObserveQueue(QueueController& controller, bool gone = false, int64_t resource_version = 1, int32_t running = 0) {
    kube::v1::Object object = QueueObject(resource_version);
    object.mutable_queue()->set_running(running);
    Show(controller, object, gone);
  }

  void ObserveGroup(QueueController& controller, const std::string& uid, bool gone = false) {
    if (gone) {
      controller.OnGone(kQueue, {.uid = uid});
    } else {
      controller.OnState(kQueue, std::string(kube::kWatchPodGroups), GroupObject(uid));
    }
    context_.Wake(kQueue);
    context_.RunPasses(controller);
  }

  runtime::testing::ScriptedContext context_;
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
};

TEST_F(QueueControllerTest, OnlyTheOwnerOfAQueueRemovesItsSeries) {
  QueueController owner(context_, metrics_.get(), {});
  QueueController other(context_, metrics_.get(), {});
  Open(owner);
  for (QueueController* controller : {&owner, &other}) ObserveQueue(*controller);
  ObserveGroup(owner, "group-1");
  ASSERT_THAT(metrics_->Text(), HasSubstr(kRunning));
  ObserveQueue(other, /*gone=*/true, 2);
  EXPECT_THAT(metrics_->Text(), HasSubstr(kRunning)) << "the owner writes the series still";
  ObserveQueue(owner, /*gone=*/true, 2);
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr(kRunning)));
}

TEST_F(QueueControllerTest, NothingIsKeptOfAQueueThatIsGoneOnceItsGroupsAre) {
  QueueController controller(context_, metrics_.get(), {});
  Open(controller);
  ObserveQueue(controller);
  ObserveGroup(controller, "group-1");
  context_.Answer(Done(), controller);
  ObserveQueue(controller, /*gone=*/true, 2);
  EXPECT_EQ(controller.kept(), 1U) << "a group names the queue";
  ObserveGroup(controller, "group-1", /*gone=*/true);
  EXPECT_EQ(controller.kept(), 0U);
}

TEST_F(QueueControllerTest, CountsAreWrittenOnceAnIntervalWithTheNewestNumbers) {
  QueueController controller(context_, nullptr, {.publish_interval = absl::Seconds(1)});
  Open(controller);
  ObserveQueue(controller);
  ObserveGroup(controller, "group-0");
  ASSERT_EQ(context_.writes.size(), 1U);
  context_.Answer(Done(), controller);
  for (int i = 1; i <= 5; ++i) ObserveGroup(controller, "group-" + std::to_string(i));
  EXPECT_TRUE(context_.writes.empty());
  context_.Advance(absl::Seconds(1), controller);
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_THAT(context_.writes.front().request.patch().body(), HasSubstr(R"("running":6)"));
}

TEST_F(QueueControllerTest, AWaitThatIsOverBeforeThePassHasEndedIsNotForgotten) {
  QueueController controller(context_, nullptr, {.publish_interval = absl::Seconds(1)});
  Open(controller);
  ObserveQueue(controller);
  ObserveGroup(controller, "group-0");
  ObserveQueue(controller, /*gone=*/false, /*resource_version=*/2, /*running=*/1);
  context_.Answer(Done(), controller);
  ASSERT_TRUE(context_.writes.empty()) << "the status says it all";
  controller.OnState(kQueue, std::string(kube::kWatchPodGroups), GroupObject("group-1"));
  kv::WriteBatch batch;
  controller.Decide(kQueue, batch);
  context_.Advance(absl::Seconds(2));
  controller.Act(kQueue);
  context_.Advance(absl::ZeroDuration(), controller);
  EXPECT_EQ(context_.writes.size(), 1U);
}

TEST_F(QueueControllerTest, AQueueWhoseWritesAreRefusedHoldsUpNoOther) {
  QueueController controller(context_, nullptr, {.publish_interval = absl::ZeroDuration()});
  Open(controller);
  ObserveQueue(controller);
  ObserveGroup(controller, "group-0");
  for (int i = 0; i < 5; ++i) {
    context_.Answer(Refused(403, "Forbidden", "no"), controller);
    context_.Advance(absl::Seconds(30), controller);
    context_.DropEvents();
  }
  ASSERT_EQ(context_.writes.size(), 1U) << "the refused one is under way";
  constexpr char kOther[] = "other";
  EXPECT_TRUE(controller.OpenSlot(SlotOf(kOther)).ok());
  kube::v1::Object object;
  object.mutable_queue()->mutable_meta()->set_name(kOther);
  object.mutable_queue()->set_parent("root");
  Show(controller, object);
  ASSERT_EQ(context_.writes.size(), 2U);
  EXPECT_EQ(context_.writes.back().request.name(), kOther);
}

// An older definition, or a policy, may refuse the parent, or drop it silently.
TEST_F(QueueControllerTest, AParentThatIsNotTakenIsTriedLaterAndHoldsUpNothing) {
  struct Row {
    const char* what;
    bool is_dropped = false;
    bool are_counts_refused = false;
  };
  for (const Row& row : {Row{"refused"}, Row{"dropped", true}, Row{"refused, and counts too", false, true}}) {
    SCOPED_TRACE(row.what);
    runtime::testing::ScriptedContext context;
    QueueController controller(context, nullptr, {.publish_interval = absl::ZeroDuration()});
    Open(controller);
    kube::v1::Object object = QueueObject(/*resource_version=*/0);
    object.mutable_queue()->clear_parent();
    controller.OnShared(std::string(kube::kWatchQueues), object, /*gone=*/false);
    context.RunPasses(controller);
    int tries = 0;
    int counts = 0;
    for (int second = 0; second < 60; ++second) {
      controller.OnState(kQueue, std::string(kube::kWatchPodGroups), GroupObject(std::to_string(second)));
      context.Wake(kQueue);
      context.RunPasses(controller);
      for (context.DropEvents(); !context.writes.empty(); context.DropEvents()) {
        const bool is_parent = context.writes.front().request.subresource().empty();
        ++(is_parent ? tries : counts);
        ASSERT_LE(tries + counts, 200) << "it is written again and again";
        if (is_parent ? !row.is_dropped : row.are_counts_refused) {
          context.Answer(is_parent ? Refused(422, "Invalid", "no parent") : Refused(500, "", "no counts"), controller);
          continue;
        }
        if (!is_parent) object.mutable_queue()->set_running(second + 1);
        if (!is_parent) controller.OnShared(std::string(kube::kWatchQueues), object, /*gone=*/false);
        context.Answer(Done(object), controller);
      }
      context.Advance(absl::Seconds(1), controller);
    }
    EXPECT_GE(tries, 4);
    EXPECT_LE(tries, 12);
    EXPECT_GE(counts, row.are_counts_refused ? 4 : 59) << "of each second, unless they are refused";
    const auto history = controller.records().EntriesOf(kQueue, "queue-uid");
    ASSERT_TRUE(history.ok());
    int refusals = 0;
    for (const auto& entry : *history) refusals += entry.has_refusal() ? 1 : 0;
    EXPECT_EQ(refusals, 1) << "it is told once";
  }
}

TEST_F(QueueControllerTest, ClosingASlotForgetsItsQueuesAloneAndOpeningItKnowsThem) {
  QueueController controller(context_, metrics_.get(), {});
  Open(controller);
  ObserveQueue(controller);
  ObserveGroup(controller, "group-1");
  context_.Answer(Done(), controller);
  ASSERT_TRUE(controller.Find(kQueue).has_value());
  EXPECT_EQ(controller.Find(kQueue)->pod_groups().running(), 1);
  controller.CloseSlot(SlotOf("another") == SlotOf(kQueue) ? SlotOf(kQueue) + 1 : SlotOf("another"));
  EXPECT_EQ(controller.kept(), 1U);
  controller.CloseSlot(SlotOf(kQueue));
  EXPECT_EQ(controller.kept(), 0U);
  EXPECT_FALSE(controller.Find(kQueue).has_value());
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr(kRunning)));
  Open(controller);
  context_.RunPasses(controller);
  EXPECT_TRUE(controller.Find(kQueue).has_value());
}

TEST_F(QueueControllerTest, AWriteThatFailsIsMadeAgainLaterAndLater) {
  QueueController controller(context_, nullptr, {.publish_interval = absl::ZeroDuration()});
  Open(controller);
  ObserveQueue(controller);
  ObserveGroup(controller, "group-0");
  int tries = 0;
  for (int second = 0; second < 60; ++second) {
    while (!context_.writes.empty()) {
      ++tries;
      context_.Answer(Refused(403, "Forbidden", "no"), controller);
    }
    context_.Advance(absl::Seconds(1), controller);
    context_.DropEvents();
  }
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 12);
}

// Somebody else has brought about the state that the first Command requested: its failures hold up nothing else.
TEST_F(QueueControllerTest, ACommandDoesNotWaitForWhatTheOneBeforeHasFailedAt) {
  QueueController controller(context_, nullptr, {});
  Open(controller);
  const auto see = [&](const kube::v1::Object& object) {
    Show(controller, object);
    context_.DropEvents();
  };
  const auto ask = [&](const std::string& name, const std::string& action) {
    kube::v1::Object command;
    command.mutable_command()->mutable_meta()->set_name(name);
    command.mutable_command()->mutable_meta()->set_uid(name);
    command.mutable_command()->mutable_meta()->set_creation_ms(absl::ToUnixMillis(context_.ApiNow()));
    command.mutable_command()->set_action(action);
    controller.OnState(kQueue, std::string(kube::kWatchCommands), std::move(command));
    context_.Wake(kQueue);
    context_.RunPasses(controller);
  };
  see(QueueObject());
  ask("close", "CloseQueue");
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(context_.writes.size(), 1U);
    context_.Answer(Refused(500, "InternalError", "no"), controller);
    context_.DropEvents();
    if (i < 5) context_.Advance(absl::Seconds(30), controller);
  }
  see(QueueObject(2, "Closed"));
  ASSERT_EQ(context_.writes.size(), 1U) << "the Command is deleted";
  ask("open", "OpenQueue");
  context_.Answer(Done(), controller);
  context_.DropEvents();
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_THAT(context_.writes.front().request.patch().body(), HasSubstr(R"("state":"Open")"));
}

TEST_F(QueueControllerTest, AQueueThatIsMadeAnewDoesNotWaitForWhatTheOneBeforeHasFailedAt) {
  QueueController controller(context_, nullptr, {});
  Open(controller);
  kube::v1::Object object = QueueObject(/*resource_version=*/0, /*state=*/"");
  Show(controller, object);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(context_.writes.size(), 1U);
    context_.Answer(Refused(404, "NotFound", "it is gone"), controller);
    context_.DropEvents();
    if (i < 5) context_.Advance(absl::Seconds(30), controller);
  }
  controller.OnShared(std::string(kube::kWatchQueues), object, /*gone=*/true);
  object.mutable_queue()->mutable_meta()->set_uid("another");
  Show(controller, object);
  EXPECT_EQ(context_.writes.size(), 1U);
}

// The read shows the version that the write named: something else answers with a conflict, as a policy may.
TEST_F(QueueControllerTest, AConflictThatNoOtherVersionExplainsIsARefusal) {
  QueueController controller(context_, nullptr, {});
  Open(controller);
  gateway::v1::GetResponse read;
  *read.mutable_object() = QueueObject(7, /*state=*/"");
  Show(controller, read.object());
  int tries = 0;
  for (int second = 0; second < 60; ++second) {
    while (!context_.writes.empty()) {
      ASSERT_LE(++tries, 12) << "it is written again and again";
      context_.Answer(Refused(409, "Conflict", "the object has been modified"), controller);
      ASSERT_EQ(context_.gets.size(), 1U);
      context_.Answer(read, controller);
    }
    context_.Advance(absl::Seconds(1), controller);
  }
  EXPECT_GE(tries, 4);
}

// The read fails: the write is sent again as soon as the watch shows the newer version, or later.
TEST_F(QueueControllerTest, AConflictWhoseReadFailsIsOverOnceTheWatchShowsTheNewerVersion) {
  QueueController controller(context_, nullptr, {});
  Open(controller);
  Show(controller, QueueObject(7, /*state=*/""));
  context_.Answer(Refused(409, "Conflict"), controller);
  EXPECT_TRUE(context_.writes.empty()) << "the read is under way";
  Show(controller, QueueObject(8, /*state=*/""));
  ASSERT_EQ(context_.writes.size(), 1U);
  EXPECT_EQ(context_.writes.front().request.patch().resource_version(), 8);
  context_.Answer(Refused(409, "Conflict"), controller);
  context_.Answer(absl::UnavailableError("no gateway"), controller);
  EXPECT_TRUE(context_.writes.empty()) << "this read is about the version before";
  context_.Answer(absl::UnavailableError("no gateway"), controller);
  EXPECT_TRUE(context_.writes.empty());
  context_.Advance(absl::Seconds(1), controller);
  EXPECT_EQ(context_.writes.size(), 1U);
}

}  // namespace
}  // namespace basalt::queuesvc
