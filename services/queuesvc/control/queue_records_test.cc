// The records of the queue controller: after the end of its process, after the loss of its disk, and of queues that are
// gone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/testing/scripted_context.h"
#include "common/testing/status_matchers.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {
namespace {

using basalt::testing::IsOk;
using runtime::testing::Done;
using runtime::testing::Refused;
using runtime::testing::ScriptedContext;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Entry = storage::v1::QueueHistoryRecord;

constexpr char kQueue[] = "research";

// Returns a text such as "STATE_CHANGED Closing>Closed".
std::string TextOf(const Entry& entry) {
  std::string text = Entry::Kind_Name(entry.kind()).substr(5);
  if (entry.from_state() != entry.to_state()) text += fmt::format(" {}>{}", entry.from_state(), entry.to_state());
  if (entry.has_refusal()) text += " " + entry.refusal().message();
  if (entry.end_ms() != 0) text += " over";
  return text;
}

class QueueRecordsTest : public ::testing::Test {
 protected:
  QueueRecordsTest() { Start(); }

  // Starts a process on the present disk.
  void Start() {
    controller_.reset();
    context_->writes.clear();
    controller_ = std::make_unique<QueueController>(*context_, nullptr, options_);
    EXPECT_THAT(controller_->OpenSlot(SlotOf(kQueue)), IsOk());
  }
  void LoseDisk() {
    controller_.reset();
    context_ = std::make_unique<ScriptedContext>();
    context_->Advance(absl::Hours(1));
    Start();
  }
  void Observe(const std::string& state, const std::string& uid = "u", bool gone = false) {
    kube::v1::Object object;
    kube::v1::Queue& queue = *object.mutable_queue();
    queue.mutable_meta()->set_name(kQueue);
    queue.mutable_meta()->set_uid(uid);
    queue.mutable_meta()->set_resource_version(++resource_version_);
    queue.mutable_meta()->set_creation_ms(7);
    queue.set_parent("root");
    queue.set_state(state);
    queue.set_running(running_);
    kube::v1::KeyValue& mark = *queue.mutable_meta()->add_annotations();
    mark.set_key(std::string(kube::kClosedByParentKey));
    mark.set_value("false");
    controller_->OnShared(std::string(kube::kWatchQueues), object, gone);
    Pass();
  }
  void ObserveGroup(const std::string& uid) {
    kube::v1::Object object;
    object.mutable_pod_group()->mutable_meta()->set_uid(uid);
    object.mutable_pod_group()->set_phase("Running");
    controller_->OnState(kQueue, std::string(kube::kWatchPodGroups), std::move(object));
    ++running_;
    Pass();
  }
  void ObserveCommand(const std::string& uid, const std::string& action, int64_t creation_ms = 1000) {
    HearCommand(uid, action, creation_ms);
    Pass();
  }
  // Delivers the Command before the next pass.
  void HearCommand(const std::string& uid, const std::string& action, int64_t creation_ms = 1000) {
    kube::v1::Object object;
    kube::v1::Command& command = *object.mutable_command();
    command.mutable_meta()->set_namespace_("default");
    command.mutable_meta()->set_name(uid);
    command.mutable_meta()->set_uid(uid);
    command.mutable_meta()->set_creation_ms(creation_ms);
    command.set_action(action);
    command.mutable_target()->set_name(kQueue);
    controller_->OnState(kQueue, std::string(kube::kWatchCommands), std::move(object));
  }
  void LoseGroup(const std::string& uid) {
    controller_->OnGone(kQueue, {.uid = uid});
    --running_;
    Pass();
  }
  void Pass() {
    context_->Wake(kQueue);
    context_->RunPasses(*controller_);
  }
  void Answer(runtime::WriteOutcome outcome) {
    context_->DropEvents();
    ASSERT_FALSE(context_->writes.empty());
    context_->Answer(std::move(outcome), *controller_);
  }
  void AcceptAll() {
    int accepted = 0;
    for (context_->DropEvents(); !context_->writes.empty(); context_->DropEvents()) {
      Answer(Done());
      ASSERT_LT(++accepted, 100) << "the same is written again and again";
    }
  }
  // Opens a new queue.
  void OpenQueue() {
    Observe("");
    Answer(Done());
    Observe("Open");
    AcceptAll();
  }
  std::vector<std::string> History(const std::string& uid = "u") {
    const auto entries = controller_->records().EntriesOf(kQueue, uid);
    EXPECT_THAT(entries, IsOk());
    std::vector<std::string> texts;
    for (const Entry& entry : *entries) texts.push_back(TextOf(entry));
    return texts;
  }
  std::vector<std::string> Uids() {
    const auto queues = controller_->records().QueuesOf(kQueue);
    EXPECT_THAT(queues, IsOk());
    std::vector<std::string> texts;
    for (const auto& queue : *queues) texts.push_back(queue.uid() + (queue.gone_ms() != 0 ? " gone" : ""));
    return texts;
  }
  bool RecordsInAPass() {
    kv::WriteBatch batch;
    controller_->Decide(kQueue, batch);
    return !batch.empty();
  }

  QueueControllerOptions options_{.publish_interval = absl::ZeroDuration(), .create_default_queues = false};
  int64_t resource_version_ = 0;
  int32_t running_ = 0;  // The number of groups.
  std::unique_ptr<ScriptedContext> context_ = std::make_unique<ScriptedContext>();
  std::unique_ptr<QueueController> controller_;
};

TEST_F(QueueRecordsTest, ADecisionIsTheSameOneAfterItsProcessWasKilledBeforeTheAnswer) {
  Observe("");
  ASSERT_NE(controller_->RecordOf(kQueue), nullptr);
  const int64_t decided = controller_->RecordOf(kQueue)->pending().sequence();
  EXPECT_THAT(History(), IsEmpty());
  Start();
  Observe("Open");
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open"));
  EXPECT_EQ(controller_->records().EntriesOf(kQueue, "u")->front().sequence(), decided);
  Start();
  Observe("Open");
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open")) << "it is told once";
}

TEST_F(QueueRecordsTest, ALostDiskCostsHistoryAndNothingElse) {
  OpenQueue();
  LoseDisk();
  Observe("Open");
  context_->DropEvents();
  EXPECT_TRUE(context_->writes.empty()) << "there is nothing to be done";
  EXPECT_THAT(Uids(), ElementsAre("u"));
  EXPECT_THAT(History(), IsEmpty());
  Observe("Closed");
  EXPECT_THAT(History(), ElementsAre("STATE_OBSERVED Open>Closed"));
}

TEST_F(QueueRecordsTest, NothingIsWrittenWhereNothingWasDecided) {
  OpenQueue();
  EXPECT_FALSE(RecordsInAPass());
  ObserveGroup("g");
  Answer(Done());
  EXPECT_FALSE(RecordsInAPass()) << "the counts are recorded";
  Start();
  running_ = 0;
  Observe("Open");
  ObserveGroup("g");
  Answer(Done());
  EXPECT_FALSE(RecordsInAPass()) << "the same counts again";
}

TEST_F(QueueRecordsTest, AQueueThatIsClosedHasItsStatesInHistory) {
  OpenQueue();
  ObserveGroup("g");
  Answer(Done());
  Observe("Closing");
  AcceptAll();
  LoseGroup("g");
  Answer(Done());
  Observe("Closed");
  EXPECT_THAT(History(),
              ElementsAre("STATE_CHANGED >Open", "STATE_OBSERVED Open>Closing", "STATE_CHANGED Closing>Closed"));
}

TEST_F(QueueRecordsTest, ACommandIsCarriedOutRecordedAndThenDeleted) {
  OpenQueue();
  ObserveCommand("c", "CloseQueue");
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_THAT(context_->writes.front().request.patch().body(), HasSubstr(R"("state":"Closed")"));
  Observe("Closed");
  Answer(Done());
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "STATE_CHANGED Open>Closed", "COMMAND_DONE"));
  context_->DropEvents();
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_EQ(context_->writes.front().request.delete_().uid(), "c");

  // The process ends before the deletion, and somebody opens the queue: the command is not carried out again.
  Start();
  HearCommand("c", "CloseQueue");
  Observe("Open");
  context_->DropEvents();
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_EQ(context_->writes.front().request.delete_().uid(), "c") << "and the queue stays open";
  AcceptAll();
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "STATE_CHANGED Open>Closed", "COMMAND_DONE",
                                     "STATE_OBSERVED Closed>Open"));
  controller_->OnGone(kQueue, {.uid = "c"});
  Pass();
  EXPECT_THAT(controller_->RecordOf(kQueue)->ended_commands(), IsEmpty()) << "the command is gone";
}

TEST_F(QueueRecordsTest, ACommandThatCannotBeDeletedHoldsUpNothing) {
  OpenQueue();
  ObserveCommand("c-1", "CloseQueue", 1000);
  Observe("Closed");
  Answer(Done());
  Answer(Refused(403, "Forbidden", "no deletion"));
  ObserveCommand("c-2", "OpenQueue", 2000);
  context_->DropEvents();
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_THAT(context_->writes.front().request.patch().body(), HasSubstr(R"("state":"Open")"));
  Observe("Open");
  Answer(Done());
  context_->Advance(absl::Minutes(1), *controller_);
  context_->DropEvents();
  ASSERT_FALSE(context_->writes.empty());
  AcceptAll();
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "STATE_CHANGED Open>Closed", "COMMAND_DONE",
                                     "STATE_CHANGED Closed>Open", "COMMAND_DONE"));
  // A Command that was deleted, and that a lagging watch shows once more, is not carried out again.
  ObserveCommand("c-1", "CloseQueue", 1000);
  AcceptAll();
  EXPECT_EQ(controller_->RecordOf(kQueue)->state(), "Open");
  controller_->OnGone(kQueue, {.uid = "c-1"});
  controller_->OnGone(kQueue, {.uid = "c-2"});
  Pass();
  EXPECT_THAT(controller_->RecordOf(kQueue)->ended_commands(), IsEmpty());
}

// The second Command ends as well, and all other work goes on at once.
TEST_F(QueueRecordsTest, CommandsThatAreNotDeletedYetHoldUpNoCounts) {
  OpenQueue();
  ObserveCommand("c-1", "SyncQueue", 1000);
  Answer(Refused(403, "Forbidden", "no deletion"));
  ObserveGroup("g");
  Observe("Open");
  Answer(Done());
  HearCommand("c-2", "SyncQueue", 2000);
  ObserveGroup("h");
  context_->DropEvents();
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_THAT(context_->writes.front().request.patch().body(), HasSubstr(R"("running":2)"));
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "COMMAND_DONE", "COMMAND_DONE"));
}

TEST_F(QueueRecordsTest, AStateThatIsRefusedIsToldInThePlaceOfCountsThatAre) {
  OpenQueue();
  ObserveGroup("g");
  for (int i = 0; i < 24; ++i) {
    if (i == 8) HearCommand("c", "CloseQueue");
    context_->DropEvents();
    ASSERT_FALSE(context_->writes.empty());
    const bool is_state = context_->writes.front().request.patch().resource_version() != 0;
    Answer(is_state ? Refused(403, "Forbidden", "not you") : Refused(500, "InternalError", "no counts"));
    context_->Advance(absl::Minutes(1), *controller_);
  }
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "REFUSED no counts over", "REFUSED Open>Closing not you"));
}

TEST_F(QueueRecordsTest, TwoCommandsAreCarriedOutInTheirOrder) {
  OpenQueue();
  HearCommand("c-2", "OpenQueue", 2000);
  HearCommand("c-1", "CloseQueue", 1000);
  Pass();
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_THAT(context_->writes.front().request.patch().body(), HasSubstr(R"("state":"Closed")"));
  Observe("Closed");
  Answer(Done());
  Answer(Done());  // The answer to the deletion.
  context_->DropEvents();
  ASSERT_EQ(context_->writes.size(), 1U);
  EXPECT_THAT(context_->writes.front().request.patch().body(), HasSubstr(R"("state":"Open")"));
}

TEST_F(QueueRecordsTest, AChangeOfOursIsToldByAnEventOnceItIsSeen) {
  OpenQueue();
  ObserveCommand("c", "CloseQueue");
  Observe("Closed");
  std::vector<std::string> events;
  for (const auto& write : context_->writes) {
    if (write.request.resource().plural() == "events") events.push_back(write.request.create().body());
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_THAT(events[0], HasSubstr("state Open -> Closed: command default/c"));
  EXPECT_THAT(events[0], HasSubstr(R"("namespace":"default")"));
}

TEST_F(QueueRecordsTest, CountsAreKeptAsTheyWereLastWritten) {
  OpenQueue();
  for (int i = 0; i < 5; ++i) {
    ObserveGroup(std::to_string(i));
    Answer(Done());
  }
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open"));
  Start();
  EXPECT_EQ(controller_->RecordOf(kQueue)->counts().running(), 5);
}

TEST_F(QueueRecordsTest, ARefusalIsOneEntryHoweverOftenItIsTriedAndAcrossARestart) {
  Observe("");
  for (int i = 0; i < 4; ++i) {
    Answer(Refused(403, "Forbidden", "not you"));
    context_->Advance(absl::Minutes(1), *controller_);
  }
  EXPECT_THAT(History(), ElementsAre("REFUSED >Open not you"));
  Start();
  Observe("");
  Answer(Refused(403, "Forbidden", "not you"));
  EXPECT_THAT(History(), ElementsAre("REFUSED >Open not you"));
  context_->Advance(absl::Minutes(1), *controller_);
  Answer(Done());
  Observe("Open");
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "REFUSED >Open not you over"));
}

TEST_F(QueueRecordsTest, AConflictAndALostAnswerAreNoRefusals) {
  Observe("");
  Answer(Refused(409, "Conflict", "changed meanwhile"));
  context_->Answer(absl::UnavailableError("nobody can be asked"), *controller_);
  context_->Advance(absl::Minutes(1), *controller_);
  Answer({.kind = runtime::WriteOutcome::Kind::kUnknown, .status = absl::UnavailableError("lost")});
  EXPECT_THAT(History(), IsEmpty());
}

TEST_F(QueueRecordsTest, AQueueThatIsGoneIsRememberedBesideTheNextOfItsName) {
  OpenQueue();
  Observe("Open", "u", /*gone=*/true);
  EXPECT_THAT(Uids(), ElementsAre("u gone"));
  EXPECT_EQ(controller_->RecordOf(kQueue), nullptr);
  EXPECT_EQ(controller_->kept(), 0U);
  Observe("", "v");
  Answer(Done());
  Observe("Open", "v");
  EXPECT_THAT(Uids(), ElementsAre("u gone", "v"));
  EXPECT_THAT(History("u"), ElementsAre("STATE_CHANGED >Open"));
  EXPECT_THAT(History("v"), ElementsAre("STATE_CHANGED >Open"));
}

TEST_F(QueueRecordsTest, OneThatWentWhileNobodyLookedIsGone) {
  OpenQueue();
  Start();
  context_->RunPasses(*controller_);
  EXPECT_THAT(Uids(), ElementsAre("u")) << "it may only be unseen";
  controller_->OnGone(kQueue,
                      {.reason = runtime::Gone::Reason::kAbsent, .watch = std::string(kube::kWatchQueues), .uid = "u"});
  Pass();
  EXPECT_THAT(Uids(), ElementsAre("u gone"));
  EXPECT_EQ(controller_->kept(), 0U);
}

TEST_F(QueueRecordsTest, AQueueThatWeMadeSaysSo) {
  options_.create_default_queues = true;
  controller_ = std::make_unique<QueueController>(*context_, nullptr, options_);
  ASSERT_THAT(controller_->OpenSlot(SlotOf(kube::kDefaultQueue)), IsOk());
  context_->RunPasses(*controller_);
  ASSERT_EQ(context_->writes.size(), 1U);
  kube::v1::Object made;
  made.mutable_queue()->mutable_meta()->set_name(std::string(kube::kDefaultQueue));
  made.mutable_queue()->mutable_meta()->set_uid("d");
  controller_->OnState(kube::kDefaultQueue, std::string(kube::kWatchQueues), kube::v1::Object(made));
  context_->RunPasses(*controller_);  // The answer is not known yet.
  Answer(Done(made));
  const auto entries = controller_->records().EntriesOf(kube::kDefaultQueue, "d");
  ASSERT_THAT(entries, IsOk());
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(TextOf(entries->front()), "CREATED");
}

TEST_F(QueueRecordsTest, ARecordThatCannotBeReadIsDroppedAndTheQueueBeginsAnew) {
  OpenQueue();
  kv::WriteBatch batch;
  std::string key;
  kv::PutSlot(key, SlotOf(kQueue));
  kv::PutText(key, kQueue);
  batch.Put(kv::Family::kRecords, key, "\xff");
  ASSERT_THAT(context_->store().Write(batch), IsOk());
  Start();
  EXPECT_EQ(controller_->RecordOf(kQueue), nullptr);
  context_->Advance(absl::Seconds(1));
  Observe("Closed");
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open")) << "what was told stays";
  Observe("Open");
  EXPECT_THAT(History(), ElementsAre("STATE_CHANGED >Open", "STATE_OBSERVED Closed>Open"));
  EXPECT_THAT(Uids(), ElementsAre("u"));
}

// The index travels behind the record when the slot moves, and is lost if the previous owner ends in between.
TEST_F(QueueRecordsTest, AQueueWhoseIndexWasLostIsFoundAgainOnceThereIsSomethingToTell) {
  OpenQueue();
  kv::WriteBatch batch;
  const auto drop = [&batch](std::string_view key, std::string_view) {
    batch.Delete(kv::Family::kHistoryIndex, key);
    return true;
  };
  ASSERT_THAT(context_->store().Scan(kv::Family::kHistoryIndex, "", "", drop), IsOk());
  ASSERT_THAT(context_->store().Write(batch), IsOk());
  Start();
  Observe("Open");
  EXPECT_THAT(Uids(), IsEmpty());
  Observe("Closed");
  EXPECT_THAT(Uids(), ElementsAre("u"));
}

TEST_F(QueueRecordsTest, TooManyEntriesCostTheOldest) {
  options_.history_limits.entries = 3;
  Start();
  OpenQueue();
  for (int i = 0; i < 4; ++i) {
    context_->Advance(absl::Milliseconds(1));
    Observe(i % 2 == 0 ? "Closed" : "Open");
  }
  EXPECT_THAT(History(),
              ElementsAre("STATE_OBSERVED Closed>Open", "STATE_OBSERVED Open>Closed", "STATE_OBSERVED Closed>Open"));
}

TEST_F(QueueRecordsTest, TheHistoryOfWhatIsGoneIsDroppedInTime) {
  OpenQueue();
  context_->Advance(absl::Hours(24 * 30), *controller_);
  EXPECT_THAT(Uids(), ElementsAre("u")) << "it is there";
  Observe("Open", "u", /*gone=*/true);
  context_->Advance(absl::Hours(24 * 6), *controller_);
  EXPECT_THAT(Uids(), ElementsAre("u gone"));
  context_->Advance(absl::Hours(24 * 2), *controller_);
  EXPECT_THAT(Uids(), IsEmpty());
  EXPECT_THAT(History(), IsEmpty());
}

TEST_F(QueueRecordsTest, ASlotThatIsClosedKeepsItsRecordsForWhoeverOpensIt) {
  OpenQueue();
  controller_->CloseSlot(SlotOf(kQueue));
  EXPECT_EQ(controller_->RecordOf(kQueue), nullptr);
  ASSERT_THAT(controller_->OpenSlot(SlotOf(kQueue)), IsOk());
  ASSERT_NE(controller_->RecordOf(kQueue), nullptr);
  EXPECT_EQ(controller_->RecordOf(kQueue)->state(), "Open");
}

}  // namespace
}  // namespace basalt::queuesvc
