// Calls about pod groups over a real stream: how they travel, and how they end if the stream ends.
#include "common/rpc/grpc/peers/group_calls_fixture.h"

#include "common/rpc/group_calls.h"
#include "common/rpc/grpc/calls.h"
#include "common/rpc/grpc/unary.h"
#include "common/rpc/reopen_pause.h"

namespace basalt::rpc {
namespace {

int MessagesFor(int calls) {
  const int most = static_cast<int>(kGroupCallBounds.message_calls);
  return (calls + most - 1) / most;
}

TEST_F(GroupCallsTest, AThousandGroupsThatAreAskedForAtOnceTakeFourMessagesAndEachHasItsOwnAnswer) {
  ScriptedGroups& server = StartScripted();
  CallTally tally(1000);
  Ask(tally, 0, 1000);
  tally.Wait(*client_loop_);
  EXPECT_EQ(server.messages, MessagesFor(1000));
  EXPECT_EQ(MessagesFor(1000), 4);
  EXPECT_EQ(server.streams, 1);
  EXPECT_TRUE(tally.EachOnce());
  for (size_t call = 0; call < 1000; ++call) EXPECT_EQ(tally.name(call), fmt::format("group-{}", call));
}

TEST_F(GroupCallsTest, ACallThatIsAloneIsAMessageOfItsOwn) {
  ScriptedGroups& server = StartScripted();
  for (int call = 1; call <= 10; ++call) {
    EXPECT_TRUE(AskOne().ok());
    EXPECT_EQ(server.messages, call);
  }
  EXPECT_EQ(server.streams, 1);
}

TEST_F(GroupCallsTest, AnswersGivenTogetherComeBackTogether) {
  StartReal();
  const auto stub = PodGroupService::NewStub(MakeChannel(address()));
  grpc::ClientContext context;
  const auto stream = stub->Call(&context);
  CallBatch batch;
  constexpr size_t kCalls = 1000;
  for (size_t id = 1; id <= kCalls; ++id) {
    CallBatch::Call& call = *batch.add_calls();
    call.set_id(id);
    if (id % 3 == 0) call.mutable_deletion();
    if (id % 3 == 1) call.mutable_ensure()->set_name(fmt::format("group-{}", id));
  }
  stream->WaitForInitialMetadata();
  stream->Write(batch);
  int messages = 0;
  std::map<uint64_t, CallAnswers::Answer> answers;
  CallAnswers message;
  while (answers.size() < kCalls && stream->Read(&message)) {
    ++messages;
    for (const CallAnswers::Answer& answer : message.answers()) answers[answer.id()] = answer;
  }
  EXPECT_EQ(messages, MessagesFor(static_cast<int>(kCalls)));
  ASSERT_EQ(answers.size(), kCalls);
  EXPECT_EQ(answers[1].ensured().pod_group().meta().name(), "group-1");
  EXPECT_TRUE(answers[3].deleted().gone());
  EXPECT_EQ(answers[2].not_handled().code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(answers[2].not_handled().message(), "ensure or deletion is required");
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GroupCallsTest, AServerThatDiesInTheMiddleLeavesNoCallWithoutItsAnswer) {
  ScriptedGroups& server = StartScripted();
  server.SetScript([&server](ScriptedStream& stream, int number) {
    if (number > 1) return server.AnswerAll(stream);
    stream.SendInitialMetadata();
    CallBatch batch;
    stream.Read(&batch);
    CallAnswers answers;
    for (int i = 0; i < 100; ++i) *answers.add_answers() = AnswerOf(batch.calls(i));
    stream.Write(answers);
    stream.Read(&batch);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server dies");
  });
  CallTally tally(1000);
  Ask(tally, 0, 1000);
  tally.Wait(*client_loop_);
  EXPECT_TRUE(tally.EachOnce());
  CodeCounts counts = tally.CountCodes();
  const int both = 2 * static_cast<int>(kGroupCallBounds.message_calls);
  EXPECT_EQ(counts[absl::StatusCode::kOk], 100);
  EXPECT_GE(counts[absl::StatusCode::kUnknown], both - 100) << "sent, and perhaps handled";
  EXPECT_EQ(counts[absl::StatusCode::kUnavailable], 900 - counts[absl::StatusCode::kUnknown]) << "surely not handled";
  EXPECT_TRUE(AskOne().ok()) << "on the next stream";
  EXPECT_EQ(server.streams, 2);
}

TEST_F(GroupCallsTest, AServerThatIsCutOffLeavesWhatItHoldsUnknown) {
  StartReal();
  Hold();
  CallTally tally(300);
  Ask(tally, 0, 300);
  WaitUntilHeld(300);
  server_->Drain(absl::ZeroDuration());  // Does not wait for the handler.
  tally.Wait(*client_loop_);
  EXPECT_TRUE(tally.EachOnce());
  EXPECT_EQ(tally.CountCodes(), (CodeCounts{{absl::StatusCode::kUnknown, 300}}));
  On(*server_loop_, [&] { handler_.AnswerHeld(); });  // Too late: the answers are dropped.
  EXPECT_EQ(AskOne().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GroupCallsTest, AServerThatDrainsAnswersWhatItHasTaken) {
  StartReal();
  Hold();
  CallTally tally(300);
  Ask(tally, 0, 300);
  WaitUntilHeld(300);
  std::thread drain([&] { server_->Drain(kLong); });
  absl::Status refused;
  while (refused.ok()) {
    refused = AskBusy();
    if (absl::IsFailedPrecondition(refused)) refused = absl::OkStatus();
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  On(*server_loop_, [&] { handler_.AnswerHeld(); });
  tally.Wait(*client_loop_);
  EXPECT_EQ(tally.CountCodes(), (CodeCounts{{absl::StatusCode::kOk, 300}}));
  drain.join();
}

TEST_F(GroupCallsTest, ASlowServerIsGivenNoMoreThanTheBoundAndTheRestWaitsOrIsRefusedAtOnce) {
  struct Case {
    std::string what;
    size_t bytes;
    size_t calls;
    size_t held;
    size_t kept;
  };
  const size_t mib = 1 << 20;
  const CallBounds& most = kGroupCallBounds;
  const std::vector<Case> cases = {
      {"calls", 0, most.open_calls + 5000, most.sent_calls, most.open_calls},
      // A call is a little larger than its value.
      {"bytes", mib, 100, most.sent_bytes / mib - 1, most.open_bytes / mib - 1},
  };
  StartReal();
  Hold();
  for (const Case& at : cases) {
    On(*server_loop_, [&] { handler_.most_held = 0; });
    CallTally tally(at.calls);
    Ask(tally, 0, at.calls, kLong, at.bytes);
    for (size_t answered = 0; answered < at.kept;) {
      WaitUntilHeld(std::min(at.held, at.kept - answered));
      answered += On(*server_loop_, [&] {
        const size_t held = handler_.held.size();
        handler_.AnswerHeld();
        return held;
      });
    }
    tally.Wait(*client_loop_);
    EXPECT_TRUE(tally.EachOnce()) << at.what;
    EXPECT_EQ(On(*server_loop_, [&] { return handler_.most_held; }), at.held) << at.what;
    EXPECT_EQ(tally.CountCodes(),
              (CodeCounts{{absl::StatusCode::kOk, static_cast<int>(at.kept)},
                          {absl::StatusCode::kResourceExhausted, static_cast<int>(at.calls - at.kept)}}))
        << at.what;
  }
}

TEST_F(GroupCallsTest, ACallThatIsNotAnsweredInTimeMayHaveBeenHandledAndHoldsNoOtherUp) {
  StoppedLoop loop(*client_loop_);
  StartReal(&loop);
  Hold();
  CallTally late(1);
  Ask(late, 0, 1, absl::Seconds(15));
  WaitUntilHeld(1);
  loop.Move(absl::Seconds(15));
  late.Wait(*client_loop_);
  EXPECT_EQ(late.status(0).code(), absl::StatusCode::kDeadlineExceeded);
  On(*server_loop_, [&] {
    handler_.hold = false;
    handler_.AnswerHeld();  // The answers are dropped.
  });
  EXPECT_TRUE(AskOne().ok());
  EXPECT_TRUE(late.EachOnce());
  StopClient();
}

TEST_F(GroupCallsTest, AStreamThatEndsAtOnceIsOpenedAgainAfterAPauseAndCallsMeanwhileAreRefused) {
  StoppedLoop loop(*client_loop_);
  ScriptedGroups& server = StartScripted(&loop);
  server.SetScript([](ScriptedStream&, int) { return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not here"); });
  EXPECT_FALSE(AskOne().ok());
  for (int call = 0; call < 10; ++call) EXPECT_EQ(AskOne().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.streams, 1);
  loop.Move(ReopenPause::kFirst);
  EXPECT_FALSE(AskOne().ok());
  EXPECT_EQ(server.streams, 2);
  StopClient();
}

TEST_F(GroupCallsTest, ADirectoryThatIsDestroyedEndsWhatIsUnderWay) {
  StartReal();
  Hold();
  CallTally tally(300);
  Ask(tally, 0, 300);
  WaitUntilHeld(300);
  peer_.reset();
  directory_.reset();
  tally.Wait(*client_loop_);
  EXPECT_TRUE(tally.EachOnce());
  EXPECT_EQ(tally.CountCodes(), (CodeCounts{{absl::StatusCode::kUnknown, 300}}));
}

TEST_F(GroupCallsTest, APeerThatNobodyHoldsAnyMoreStillBringsItsAnswers) {
  StartReal();
  CallTally tally(1000);
  On(*client_loop_, [&] {
    for (size_t call = 0; call < 1000; ++call) peer_->EnsurePodGroup({}, kLong, tally.Expect(call));
  });
  peer_.reset();  // Runs on another thread than the loop.
  tally.Wait(*client_loop_);
  EXPECT_EQ(tally.CountCodes(), (CodeCounts{{absl::StatusCode::kOk, 1000}}));
}

TEST_F(GroupCallsTest, PodGroupsAreAskedForAtTheirMembersAddress) {
  StartReal();
  On(*client_loop_, [&] {
    EXPECT_EQ(PeerOf(gateway::v1::SERVICE_KIND_UNSPECIFIED), nullptr);
    EXPECT_EQ(PeerOf(gateway::v1::SERVICE_KIND_POD_GROUP), peer_);
  });
  EXPECT_EQ(AskBusy().code(), absl::StatusCode::kFailedPrecondition);
  std::promise<absl::StatusOr<DeletePodGroupResponse>> deleted;
  On(*client_loop_, [&] {
    DeletePodGroupRequest request;
    request.set_uid("group-uid");
    peer_->DeletePodGroup(request, kLong, [&](auto got) { deleted.set_value(std::move(got)); });
  });
  const auto answer = deleted.get_future().get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->pod_group().meta().uid(), "group-uid");
  EXPECT_TRUE(answer->gone());
}

TEST_F(GroupCallsTest, CallsOverTheBoundAreRefusedAndTheOthersAnswered) {
  StartReal();
  EXPECT_TRUE(AskOne().ok());
  size_t taken = 0;
  absl::Status refused;
  // A call that is over gives its place back a moment later.
  while (refused.ok()) {
    while (limiter_->TryAcquire(0)) ++taken;
    refused = AskOne();
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  for (size_t i = 0; i < taken; ++i) limiter_->Leave(0);
  EXPECT_TRUE(AskOne().ok());
}

}  // namespace
}  // namespace basalt::rpc
