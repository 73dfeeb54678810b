// Calls at the gateway: each gets its own answer, and an unanswered call ends with a status that fits.
#include <fmt/format.h>

#include <atomic>

#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/status_bridge.h"

namespace basalt::rpc {
namespace {

TEST_F(GrpcTest, CallsAreAnsweredWithTheirStatus) {
  const auto done = Write("a");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->object().pod().name(), "a");
  EXPECT_EQ(Write("refuse").status(), absl::UnavailableError("not the leader"));
  const absl::Status cut = Write("long").status();
  EXPECT_EQ(cut.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LE(cut.message().size(), kMaxStatusMessage);
}

TEST_F(GrpcTest, ACallThatIsNotAnsweredInTimeMayHaveBeenHandled) {
  EXPECT_EQ(Write("hold", absl::Milliseconds(50)).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(GrpcTest, ACallThatTheHandlerDropsMayHaveBeenHandled) {
  EXPECT_EQ(Write("drop").status().code(), absl::StatusCode::kUnknown);
}

TEST_F(GrpcTest, ACallWithoutAServerIsSurelyNotHandled) {
  server_.reset();
  EXPECT_EQ(Write("a").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcTest, AServerThatEndsInTheMiddleOfACallLeavesItUnknown) {
  auto answer = HoldWrite();
  server_->Drain(absl::ZeroDuration());  // Does not wait for the handler.
  EXPECT_NE(answer.get().status().code(), absl::StatusCode::kUnavailable);
  On(*server_loop_, [&] { gateway_.held.front()(WriteResponse()); });  // Too late: the answer is dropped.
}

TEST_F(GrpcTest, WritesThatComeTogetherAreEachAnsweredWithTheirOwn) {
  constexpr int kWrites = 1000;
  std::vector<std::string> names(kWrites);
  std::promise<void> all;
  int answered = 0;
  On(*client_loop_, [&] {
    for (int i = 0; i < kWrites; ++i) {
      WriteRequest request;
      request.set_name(i % 10 == 3 ? "refuse" : fmt::format("pod-{}", i));
      peer_->Write(request, kTimeout, [&, i](absl::StatusOr<WriteResponse> got) {
        names[i] = got.ok() ? got->object().pod().name() : std::string(got.status().message());
        if (++answered == kWrites) all.set_value();
      });
    }
    EXPECT_EQ(answered, 0);
  });
  all.get_future().get();
  for (int i = 0; i < kWrites; ++i) EXPECT_EQ(names[i], i % 10 == 3 ? "not the leader" : fmt::format("pod-{}", i));
}

TEST_F(GrpcTest, AWriteThatWaitsHoldsNoOtherUp) {
  auto answer = HoldWrite();
  EXPECT_TRUE(Write("a").ok());
  On(*server_loop_, [&] { gateway_.held.front()(WriteResponse()); });
  EXPECT_TRUE(answer.get().ok());
}

TEST_F(GrpcTest, ARefusalThatIsNoTextEndsNoStream) {
  EXPECT_EQ(Write("cut").status(), absl::InvalidArgumentError("'caf\xc3'"));
  EXPECT_TRUE(Write("a").ok());
}

TEST_F(GrpcTest, AWriteThatNoMessageCanHoldIsRefusedAlone) {
  std::promise<absl::Status> answer;
  On(*client_loop_, [&] {
    WriteRequest request;
    request.mutable_create()->set_body(std::string(62 << 20, 'x'));
    peer_->Write(std::move(request), kTimeout, [&](const auto& got) { answer.set_value(got.status()); });
  });
  EXPECT_EQ(answer.get_future().get().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Write("a").ok());
}

TEST_F(GrpcTest, ManyLargeWritesGoInSeveralMessages) {
  std::promise<void> all;
  std::atomic<int> done = 0;
  On(*client_loop_, [&] {
    for (int i = 0; i < 40; ++i) {
      WriteRequest request;
      request.set_name("large");
      request.mutable_create()->set_body(std::string(3 << 20, 'x'));
      peer_->Write(std::move(request), kTimeout, [&](const auto& got) {
        EXPECT_TRUE(got.ok()) << got.status();
        if (++done == 40) all.set_value();
      });
    }
  });
  all.get_future().get();
}

// As when a gateway stops: no call that it has begun is left unknown.
TEST_F(GrpcTest, AServerThatDrainsAnswersWhatItHasTakenAndRefusesTheRest) {
  auto answer = HoldWrite();
  std::thread drain([&] { server_->Drain(absl::Minutes(1)); });
  // Waits until the server drains.
  absl::Status refused;
  while (refused.ok()) refused = Write("a").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  On(*server_loop_, [&] { gateway_.held.front()(WriteResponse()); });
  EXPECT_TRUE(answer.get().ok());
  drain.join();  // Returns long before its deadline.
  EXPECT_EQ(Write("a").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcTest, APeerThatIsDestroyedEndsWhatIsUnderWay) {
  Observer observer(*client_loop_);
  Attach(observer);
  observer.all.get_future().get();
  On(*client_loop_, [&] {
    WriteRequest request;
    request.set_name("hold");
    peer_->Write(request, kTimeout, [](const auto&) {});
    observer.stream.reset();
  });
  peer_.reset();
  gateway_.closed.get_future().get();
}

// The context of a call may hold the last channel of the process, whose end joins gRPC's threads.
TEST_F(GrpcTest, ThingsThatACallOwnsAreDestroyedOnTheLoop) {
  // Its Post returns, on another thread, only when the task has run and is destroyed.
  struct WaitingLoop final : Loop {
    explicit WaitingLoop(Loop& to) : inner(to) {}
    absl::Time Now() const override { return inner.Now(); }
    TimerId RunAt(absl::Time when, Task task) override { return inner.RunAt(when, std::move(task)); }
    void Cancel(TimerId id) override { inner.Cancel(id); }
    bool IsCurrent() const override { return inner.IsCurrent(); }
    void Post(Task task) override {
      if (inner.IsCurrent()) return inner.Post(std::move(task));
      On(inner, [&] {
        task();
        task = nullptr;
      });
    }
    Loop& inner;
  } loop(*client_loop_);
  peer_ = MakeGrpcGatewayPeer(loop, {address_});
  std::promise<bool> gone_on_the_loop;
  std::shared_ptr<void> owned(nullptr, [&](void*) { gone_on_the_loop.set_value(loop.IsCurrent()); });
  On(*client_loop_, [&] {
    WriteRequest request;
    request.set_name("a");
    peer_->Write(request, kTimeout, [owned = std::move(owned)](const auto&) {});
  });
  EXPECT_TRUE(gone_on_the_loop.get_future().get());
  peer_.reset();  // Destroyed before the loop.
}

}  // namespace
}  // namespace basalt::rpc
