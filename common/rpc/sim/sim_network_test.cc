#include "common/rpc/sim/sim_network.h"

#include <gtest/gtest.h>

#include <optional>

namespace basalt::rpc {
namespace {

using gateway::v1::AttachBatch;
using gateway::v1::AttachRequest;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;

struct FakeGateway final : GatewayHandler {
  struct Session final : AttachSession {
    explicit Session(FakeGateway& gateway) : gateway_(gateway) {}
    ~Session() override { ++gateway_.sessions_destroyed; }
    void OnRequest(AttachRequest request) override { gateway_.requests.push_back(request.ack().sequence()); }
    void OnSent() override { ++gateway_.sent; }
    void OnClosed() override { ++gateway_.sessions_closed; }
    FakeGateway& gateway_;
  };

  std::unique_ptr<AttachSession> OnAttach(AttachSink& sink) override {
    last_sink = &sink;
    return std::make_unique<Session>(*this);
  }
  void Write(WriteRequest request, Done<WriteResponse> done) override {
    writes.push_back(request.name());
    if (hold) {
      held = std::move(done);
    } else {
      done(WriteResponse());
    }
  }
  void Get(gateway::v1::GetRequest, Done<gateway::v1::GetResponse> done) override { done(gateway::v1::GetResponse()); }
  void GetTopology(gateway::v1::GetTopologyRequest, Done<gateway::v1::Topology> done) override {
    done(gateway::v1::Topology());
  }

  AttachSink* last_sink = nullptr;
  std::vector<std::string> writes;
  std::vector<int64_t> requests;
  int sent = 0;
  int sessions_closed = 0;
  int sessions_destroyed = 0;
  bool hold = false;
  Done<WriteResponse> held;
};

struct Observer final : AttachObserver {
  void OnBatch(AttachBatch batch) override { batches.push_back(batch.sequence()); }
  void OnClosed(const absl::Status& status) override { closed = status; }
  std::vector<int64_t> batches;
  std::optional<absl::Status> closed;
};

class SimNetworkTest : public ::testing::Test {
 protected:
  SimNetworkTest() : random_(1), network_(time_, random_), loop_a_(time_, "a"), loop_b_(time_, "b") {
    network_.AddHost("a", loop_a_);
    network_.AddHost("b", loop_b_);
    network_.Serve("b", gateway_);
    peer_ = network_.Gateway("a", "b");
  }

  void Write(const std::string& name) {
    WriteRequest request;
    request.set_name(name);
    peer_->Write(request, absl::Seconds(10),
                 [this](absl::StatusOr<WriteResponse> answer) { answers_.push_back(answer.status().code()); });
  }

  using Codes = std::vector<absl::StatusCode>;

  SimTime time_;
  SeededRandom random_;
  FakeGateway gateway_;
  SimNetwork network_;
  SimLoop loop_a_;
  SimLoop loop_b_;
  std::unique_ptr<GatewayPeer> peer_;
  Codes answers_;
  Observer observer_;
};

TEST_F(SimNetworkTest, ACallIsAnsweredLaterNeverWithinIt) {
  Write("x");
  EXPECT_TRUE(answers_.empty());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.writes, std::vector<std::string>{"x"});
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kOk});
}

TEST_F(SimNetworkTest, ACallWithoutAProcessIsSurelyNotHandled) {
  network_.RemoveHost("b");
  Write("x");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kUnavailable});
}

TEST_F(SimNetworkTest, ALostAnswerAndALostRequestLookTheSameToTheCaller) {
  for (const bool answer : {false, true}) {
    network_.SetOptions({.lose_request = answer ? 0.0 : 1.0, .lose_answer = answer ? 1.0 : 0.0});
    gateway_.writes.clear();
    answers_.clear();
    for (int i = 0; i < 20; ++i) Write("x");
    time_.Advance(absl::Seconds(11));
    EXPECT_EQ(gateway_.writes.size(), answer ? 20U : 0U);
    ASSERT_EQ(answers_.size(), 20U);
    for (const absl::StatusCode code : answers_) {
      EXPECT_TRUE(code == absl::StatusCode::kUnknown || code == absl::StatusCode::kDeadlineExceeded);
    }
  }
}

TEST_F(SimNetworkTest, APartitionSwallowsCallsUntilItHeals) {
  network_.Partition("b", "a");
  Write("x");
  time_.Advance(absl::Seconds(11));
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kDeadlineExceeded});
  network_.Heal("a", "b");
  Write("y");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.writes, std::vector<std::string>{"y"});
}

TEST_F(SimNetworkTest, TheDeathOfTheServerLeavesACallInFlightUnknown) {
  gateway_.hold = true;
  Write("x");
  time_.Advance(absl::Seconds(1));
  loop_b_.Kill();
  network_.RemoveHost("b");
  gateway_.held(WriteResponse());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kUnknown});
}

TEST_F(SimNetworkTest, NothingReachesOrLeavesAKilledClient) {
  gateway_.hold = true;
  Write("x");
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  loop_a_.Kill();  // Not removed yet, as after a kill in the middle of a task.
  Write("y");
  gateway_.held(WriteResponse());
  gateway_.last_sink->Send({});
  time_.Advance(absl::Seconds(1));
  network_.RemoveHost("a");
  time_.Advance(absl::Seconds(20));
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(gateway_.writes, std::vector<std::string>{"x"});
  EXPECT_TRUE(observer_.batches.empty());
  EXPECT_FALSE(observer_.closed.has_value());
  EXPECT_EQ(gateway_.sessions_closed, 1);
  EXPECT_EQ(gateway_.sessions_destroyed, 1);
}

TEST_F(SimNetworkTest, AStreamKeepsItsOrderInBothDirections) {
  auto stream = peer_->Attach(observer_);
  for (int i = 1; i <= 50; ++i) {
    AttachRequest request;
    request.mutable_ack()->set_sequence(i);
    stream->Send(request);
  }
  time_.Advance(absl::Seconds(1));
  for (int i = 1; i <= 50; ++i) {
    AttachBatch batch;
    batch.set_sequence(i);
    gateway_.last_sink->Send(batch.SerializeAsString());
  }
  time_.Advance(absl::Seconds(1));
  ASSERT_EQ(gateway_.requests.size(), 50U);
  ASSERT_EQ(observer_.batches.size(), 50U);
  EXPECT_TRUE(std::is_sorted(gateway_.requests.begin(), gateway_.requests.end()));
  EXPECT_TRUE(std::is_sorted(observer_.batches.begin(), observer_.batches.end()));
  EXPECT_EQ(gateway_.sent, 50);
}

TEST_F(SimNetworkTest, APartitionEndsAStreamAtBothEnds) {
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  network_.Partition("a", "b");
  time_.Advance(absl::Seconds(1));
  ASSERT_TRUE(observer_.closed.has_value());
  EXPECT_EQ(observer_.closed->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(gateway_.sessions_closed, 1);
  EXPECT_EQ(gateway_.sessions_destroyed, 1);
}

TEST_F(SimNetworkTest, TheServersCloseArrivesAfterWhatItSentBefore) {
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  AttachBatch batch;
  batch.set_sequence(1);
  gateway_.last_sink->Send(batch.SerializeAsString());
  gateway_.last_sink->Close(absl::FailedPreconditionError("another version"));
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(observer_.batches, std::vector<int64_t>{1});
  ASSERT_TRUE(observer_.closed.has_value());
  EXPECT_EQ(observer_.closed->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(gateway_.sessions_closed, 1);
}

TEST_F(SimNetworkTest, AStreamThatTheClientDropsEndsAtTheServerAndIsSilentAtTheClient) {
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  stream.reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_FALSE(observer_.closed.has_value());
  EXPECT_EQ(gateway_.sessions_destroyed, 1);
}

TEST_F(SimNetworkTest, AStreamToNobodyIsUnavailable) {
  auto other = network_.Gateway("a", "c");
  auto stream = other->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  ASSERT_TRUE(observer_.closed.has_value());
  EXPECT_EQ(observer_.closed->code(), absl::StatusCode::kUnavailable);
}

TEST_F(SimNetworkTest, AServerThatDrainsTakesNothingNewAndAnswersWhatItHas) {
  gateway_.hold = true;
  Write("x");
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] {
    EXPECT_EQ(gateway_.sessions_closed, 1) << "the session hears it first";
    drained = true;
  });
  time_.Advance(absl::Milliseconds(1));
  Write("y");
  Observer refused;
  auto second = peer_->Attach(refused);
  AttachRequest request;
  request.mutable_ack()->set_sequence(1);
  stream->Send(request);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.writes, std::vector<std::string>{"x"});
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kUnavailable});
  EXPECT_EQ(refused.closed.value_or(absl::OkStatus()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(gateway_.requests, std::vector<int64_t>{1}) << "what is open goes on";
  gateway_.held(WriteResponse());
  time_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(answers_, (Codes{absl::StatusCode::kUnavailable, absl::StatusCode::kOk}));
  EXPECT_FALSE(drained);
  EXPECT_FALSE(observer_.closed.has_value());
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(drained);
  EXPECT_TRUE(observer_.closed.has_value());
  EXPECT_EQ(gateway_.sessions_destroyed, 1);
}

TEST_F(SimNetworkTest, ACallThatADrainCutsOffIsUnknownAndStaysSo) {
  gateway_.hold = true;
  Write("x");
  time_.Advance(absl::Seconds(1));
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] {
    drained = true;
    gateway_.held(WriteResponse());
  });
  time_.Advance(absl::Milliseconds(1990));
  EXPECT_FALSE(drained);
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(drained);
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kUnknown});
}

TEST_F(SimNetworkTest, AServerThatHasNothingUnderWayIsDrainedAtOnce) {
  Write("x");
  time_.Advance(absl::Seconds(1));
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] { drained = true; });
  time_.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(drained);
}

TEST_F(SimNetworkTest, AServerThatIsKilledWhileItDrainsNeverEndsToDrain) {
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  bool drained = false;
  network_.Drain("b", absl::Seconds(2), [&] { drained = true; });
  time_.Advance(absl::Seconds(1));
  loop_b_.Kill();
  network_.RemoveHost("b");
  SimLoop again(time_, "b");
  network_.AddHost("b", again);
  network_.Serve("b", gateway_);
  Write("x");
  time_.Advance(absl::Seconds(5));
  EXPECT_FALSE(drained);
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kOk}) << "the next process serves";
  again.Kill();
  network_.RemoveHost("b");
}

TEST_F(SimNetworkTest, APausedServerHandlesLateWhatReachedIt) {
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  loop_b_.Pause();
  Write("x");
  AttachRequest request;
  request.mutable_ack()->set_sequence(1);
  stream->Send(request);
  time_.Advance(absl::Seconds(5));
  EXPECT_TRUE(gateway_.writes.empty());
  EXPECT_TRUE(gateway_.requests.empty());
  loop_b_.Resume();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(gateway_.writes, std::vector<std::string>{"x"});
  EXPECT_EQ(gateway_.requests, std::vector<int64_t>{1});
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kOk});
}

TEST_F(SimNetworkTest, APausedClientHearsLateWhatReachedIt) {
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  Write("x");
  loop_a_.Pause();
  AttachBatch batch;
  batch.set_sequence(1);
  gateway_.last_sink->Send(batch.SerializeAsString());
  time_.Advance(absl::Seconds(5));
  network_.BreakStreams("a", "b");
  time_.Advance(absl::Seconds(20));
  EXPECT_TRUE(observer_.batches.empty());
  EXPECT_FALSE(observer_.closed.has_value());
  EXPECT_EQ(gateway_.sent, 0);
  EXPECT_EQ(gateway_.sessions_closed, 1);
  EXPECT_TRUE(answers_.empty());
  loop_a_.Resume();
  time_.Advance(absl::Seconds(1));
  // The answer came before the call's time was over.
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kOk});
  EXPECT_TRUE(observer_.closed.has_value());
}

TEST_F(SimNetworkTest, ACallAtAPausedServerIsUnknownOnceItIsKilled) {
  loop_b_.Pause();
  Write("x");
  time_.Advance(absl::Seconds(1));
  loop_b_.Kill();
  network_.RemoveHost("b");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(gateway_.writes.empty());
  EXPECT_EQ(answers_, Codes{absl::StatusCode::kUnknown});
}

TEST_F(SimNetworkTest, AStreamThatWaitsAtAPausedServerEndsWithIt) {
  loop_b_.Pause();
  auto stream = peer_->Attach(observer_);
  time_.Advance(absl::Seconds(1));
  EXPECT_FALSE(observer_.closed.has_value());
  loop_b_.Kill();
  network_.RemoveHost("b");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(observer_.closed.has_value());
}

}  // namespace
}  // namespace basalt::rpc
