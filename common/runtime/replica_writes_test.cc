// Writes and reads for a key or for a caller: the owner that they name, and which of their ends reach a callback.
#include "common/runtime/ask_owner.h"
#include "common/runtime/replica_fixture.h"

namespace basalt::runtime {
namespace {

TEST_F(ReplicaTest, AWriteCarriesItsOwnerAndItsAnswerIsSeenBeforeItsEnd) {
  SendReadySlot();
  Write();
  ASSERT_EQ(gateway_.writes.size(), 1U);
  const WriteRequest& sent = gateway_.writes[0].request;
  EXPECT_EQ(sent.owner().slot(), slot_);
  EXPECT_EQ(sent.owner().slot_epoch(), 1);
  EXPECT_EQ(sent.owner().member().incarnation(), replica_->self().incarnation());
  EXPECT_EQ(sent.timeout_ms(), 10'000);
  WriteResponse response;
  *response.mutable_object() = Pod("a", 2000);
  Answer(response);
  EXPECT_EQ(Take(), (Trace{"state ns/job a@2000", "done", "decide ns/job", "act ns/job"}));
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kDone);
  gateway_.Send({State("a", 1999)});
  EXPECT_EQ(Take(), Trace{}) << "the watch is behind the answer";
}

TEST_F(ReplicaTest, AWriteCarriesTheTokenOfTheSessionAndWaitsForTheNextOne) {
  SendReadySlot();
  WriteForCaller();
  ASSERT_EQ(gateway_.writes.size(), 1U);
  EXPECT_EQ(gateway_.writes[0].request.owner().token(), "the token of the session");
  gateway_.Close(absl::UnavailableError("the gateway is gone"));
  time_.RunDueTasks();
  gateway_.token = "the next token";
  Answer(absl::UnauthenticatedError("the token is not that of replica 'jobsvc-0'"));
  EXPECT_EQ(gateway_.writes.size(), 1U) << "no session has begun";
  EXPECT_TRUE(outcomes_.empty());
  time_.Advance(absl::Seconds(1));
  gateway_.Send({Assignment(1), Begin(), State("a", 10), End()});
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(gateway_.writes.size(), 2U);
  EXPECT_EQ(gateway_.writes[1].request.owner().token(), "the next token");
}

TEST_F(ReplicaTest, ADeletionThatIsDoneEndsTheObjectBeforeTheWriteEnds) {
  SendReadySlot();
  Write();
  WriteResponse response;
  *response.mutable_object() = Pod("a", 10);
  response.set_gone(true);
  Answer(response);
  EXPECT_EQ(Take(), (Trace{"gone ns/job a", "done", "decide ns/job", "act ns/job"}));
  EXPECT_TRUE(outcomes_[0].gone);
}

TEST_F(ReplicaTest, ARefusalOfKubernetesIsHandedOnAsItIs) {
  SendReadySlot();
  Write();
  WriteResponse response;
  response.mutable_error()->set_code(409);
  response.mutable_error()->set_reason("Conflict");
  Answer(response);
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kRefused);
  EXPECT_EQ(outcomes_[0].error.reason(), "Conflict");
}

TEST_F(ReplicaTest, AnUnsentWriteIsSentAgainUntilItsDeadline) {
  SendReadySlot();
  Write();
  size_t sent = 0;
  while (outcomes_.empty() && sent < 1000) {
    if (gateway_.writes.size() > sent) {
      sent = gateway_.writes.size();
      Answer(absl::UnavailableError("not the leader"));
    }
    time_.Advance(absl::Milliseconds(10));
  }
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kNotSent);
  EXPECT_GT(sent, 5U);
  EXPECT_LT(gateway_.writes.back().request.timeout_ms(), 5000) << "what is left of the deadline, not a new one";
}

TEST_F(ReplicaTest, AnUnknownOutcomeIsReportedOnceTheServerMustHaveGivenUp) {
  for (const auto code : {absl::StatusCode::kUnknown, absl::StatusCode::kDeadlineExceeded}) {
    outcomes_.clear();
    gateway_.writes.clear();
    SendReadySlot();
    Write();
    Answer(absl::Status(code, "lost"));
    time_.Advance(absl::Seconds(9));
    EXPECT_TRUE(outcomes_.empty());
    time_.Advance(absl::Seconds(3));
    ASSERT_EQ(outcomes_.size(), 1U);
    EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kUnknown);
    EXPECT_EQ(gateway_.writes.size(), 1U) << "never sent again by itself";
  }
}

TEST_F(ReplicaTest, AnotherOwnersSlotPausesAndItsWriteIsNotSentAgain) {
  SendReadySlot();
  Write();
  Answer(absl::FailedPreconditionError("not the owner"));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0].kind, WriteOutcome::Kind::kNotSent);
  EXPECT_EQ(Take(), Trace{"done"}) << "its passes wait";
  time_.Advance(absl::Seconds(3));
  EXPECT_EQ(Take(), (Trace{"decide ns/job", "act ns/job"}));
  EXPECT_EQ(gateway_.writes.size(), 1U);
}

TEST_F(ReplicaTest, ASlotThatIsLostTakesItsWritesWithItAndIsReleased) {
  SendReadySlot();
  Write();
  gateway::v1::Member other = Member(gateway::v1::SERVICE_KIND_JOB, "jobsvc-1");
  gateway_.Send({Assignment(2, {other}, false)});
  EXPECT_EQ(Take(), Trace{fmt::format("close {}", slot_)});
  size_t released = 0;
  for (const AttachRequest& request : gateway_.requests) {
    if (!request.has_released()) continue;
    EXPECT_EQ(request.released().epoch(), 2);
    released += request.released().slots_size();
  }
  EXPECT_EQ(released, kSlotCount) << "opened or not: the new owner waits for each";
  WriteResponse response;
  *response.mutable_object() = Pod("a", 2000);
  Answer(response);
  EXPECT_EQ(Take(), Trace{});
  Write();
  EXPECT_EQ(gateway_.writes.size(), 1U);
  EXPECT_TRUE(outcomes_.empty());
}

// A caller of a service waits for the write, and gets its outcome.
TEST_F(ReplicaTest, AWriteForACallerOutlivesItsSlotAndTouchesNothingOfIt) {
  const std::pair<absl::StatusOr<WriteResponse>, WriteOutcome::Kind> answers[] = {
      {WriteResponse(), WriteOutcome::Kind::kDone},
      {absl::FailedPreconditionError("not the owner"), WriteOutcome::Kind::kNotSent},
      {absl::UnknownError("the connection broke"), WriteOutcome::Kind::kUnknown}};
  int64_t epoch = 1;
  for (const auto& [answer, kind] : answers) {
    gateway_.Send({Assignment(epoch), Begin(epoch), State("a", 10), End()});
    time_.RunDueTasks();
    WriteForCaller();
    gateway_.Send({Assignment(++epoch, {Member(gateway::v1::SERVICE_KIND_JOB, "jobsvc-1")}, false)});
    time_.RunDueTasks();
    Take();
    Answer(answer);
    time_.Advance(absl::Seconds(30));
    ASSERT_EQ(outcomes_.size(), 1U);
    EXPECT_EQ(outcomes_[0].kind, kind);
    EXPECT_EQ(Take(), Trace{}) << "no pass";
    outcomes_.clear();
    ++epoch;
  }
}

TEST_F(ReplicaTest, AReadForACallerOutlivesItsSlotAndOneOfAPassDoesNot) {
  gateway_.Send({Assignment(1), Begin(1), State("a", 10), End()});
  time_.RunDueTasks();
  int answers = 0;
  context().Get(kKey, {}, [&](const auto&) { FAIL() << "whoever has the slot now looks itself"; });
  context().GetForCaller(kKey, {}, [&](const auto& answer) { answers += answer.ok() ? 1 : 0; });
  time_.RunDueTasks();
  gateway_.Send({Assignment(2, {Member(gateway::v1::SERVICE_KIND_JOB, "jobsvc-1")}, false)});
  time_.RunDueTasks();
  ASSERT_EQ(gateway_.gets.size(), 2U);
  for (auto& done : gateway_.gets) done(gateway::v1::GetResponse());
  time_.RunDueTasks();
  EXPECT_EQ(answers, 1);
}

TEST_F(ReplicaTest, AnAnswerOfAnotherServiceIsOrderedAsThatOfAWrite) {
  SendReadySlot();
  kube::v1::Object answered = Pod("a", 12);
  context().MergeAnswer(kKey, answered, /*gone=*/false);
  EXPECT_EQ(Take(), (Trace{"state ns/job a@12", "decide ns/job", "act ns/job"}));
  gateway_.Send({State("a", 11)});
  EXPECT_EQ(Take(), Trace{}) << "older";
  context().MergeAnswer(kKey, answered, /*gone=*/true);
  EXPECT_EQ(Take(), (Trace{"gone ns/job a", "decide ns/job", "act ns/job"}));
  gateway_.Send({State("a", 11)});
  EXPECT_EQ(Take(), Trace{}) << "its end is known";
}

TEST_F(ReplicaTest, AnAnswerAfterTheReplicaHasStoppedIsDropped) {
  SendReadySlot();
  Write();
  bool stopped = false;
  replica_->Stop([&] { stopped = true; });
  time_.RunDueTasks();
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(gateway_.attached());
  Answer(WriteResponse());
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(ReplicaTest, NoAnswerIsBroughtToTheLoopsOfWorkersThatHaveStopped) {
  MakeReplica({&ending_loop_, &ending_loop_});
  gateway_.Send({Assignment(1, {Member(gateway::v1::SERVICE_KIND_POD_GROUP, "pgsvc-0")}), Begin(), End()});
  time_.RunDueTasks();
  Write();
  int answers = 0;
  context().Get(kKey, {}, [&](const auto&) { ++answers; });
  peers_.silent = true;
  ASSERT_TRUE(AskOwner(context(), gateway::v1::SERVICE_KIND_POD_GROUP, "ns/group", &rpc::PodGroupPeer::EnsurePodGroup,
                       {}, absl::Seconds(1), [&](const auto&) { ++answers; }));
  time_.RunDueTasks();
  ASSERT_EQ(gateway_.writes.size(), 1U);
  ASSERT_EQ(gateway_.gets.size(), 1U);
  ASSERT_EQ(peers_.unanswered.size(), 1U);

  replica_->Stop([&] { ending_loop_.ended = true; });
  time_.RunDueTasks();
  ASSERT_TRUE(ending_loop_.ended);
  Answer(WriteResponse());
  gateway_.gets.back()(gateway::v1::GetResponse());
  peers_.unanswered.back()(podgroup::v1::EnsurePodGroupResponse());
  time_.RunDueTasks();
  EXPECT_EQ(ending_loop_.late_posts, 0);
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_EQ(answers, 0);
}

// Returns a key of another slot of the same worker.
std::string AnotherKey(uint32_t slot) {
  for (int i = 0;; ++i) {
    std::string key = fmt::format("ns/another-{}", i);
    if (SlotOf(key) != slot && SlotOf(key) % 2 == slot % 2) return key;
  }
}

TEST_F(ReplicaTest, ASlotThatClosesTakesItsOwnWritesAndKeysAndNoOthers) {
  const std::string another = AnotherKey(slot_);
  const auto item_of = [&](gateway::v1::Item item) {
    if (item.has_begin()) item.mutable_begin()->set_slot(SlotOf(another));
    if (item.has_end()) item.mutable_end()->set_slot(SlotOf(another));
    if (item.has_state()) {
      item.mutable_state()->set_slot(SlotOf(another));
      item.mutable_state()->set_routing_key(another);
    }
    return item;
  };
  gateway_.Send({Assignment(1), Begin(), End(), item_of(Begin()), item_of(End())});
  Take();
  Write();
  WriteForCaller();
  context().Write(another, WriteRequest(), [this](WriteOutcome) { trace_.push_back("done of another"); });
  Take();
  ASSERT_EQ(gateway_.writes.size(), 3U);
  // One batch touches both slots, and the next one closes the first before a round has recorded the keys.
  const int64_t acknowledged = gateway_.last_ack();
  gateway_.Send({State("a", 2000), item_of(State("b", 2001))});
  gateway_.Send({Begin(2)});
  time_.RunDueTasks();
  EXPECT_EQ(gateway_.last_ack(), acknowledged + 2) << "what closed waits for no record, and the other key has its own";
  Take();
  for (auto& write : gateway_.writes) write.done(WriteResponse());
  EXPECT_EQ(Take(), (Trace{"done of another", fmt::format("decide {}", another), fmt::format("act {}", another)}));
  EXPECT_EQ(outcomes_.size(), 1U) << "a caller hears of its write all the same";
}

}  // namespace
}  // namespace basalt::runtime
