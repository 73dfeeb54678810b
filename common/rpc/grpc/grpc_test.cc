// The gRPC adapters over real sockets, in one process, each side on a loop of its own.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "basalt/common/v1/health.grpc.pb.h"
#include "common/rpc/grpc/gateway_peer.h"
#include "common/rpc/grpc/gateway_service.h"
#include "common/rpc/grpc/peers.h"
#include "common/rpc/grpc/podgroup.h"
#include "common/rpc/grpc/replica.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/unary.h"
#include "common/rpc/leader_hint.h"

namespace basalt::rpc {
namespace {

using gateway::v1::AttachBatch;
using gateway::v1::AttachRequest;
using gateway::v1::WriteRequest;
using gateway::v1::WriteResponse;

constexpr absl::Duration kTimeout = absl::Seconds(10);

// Runs `task` on the loop and waits for it.
template <typename F>
auto On(Loop& loop, F task) {
  std::promise<decltype(task())> result;
  loop.Post([&] {
    if constexpr (std::is_void_v<decltype(task())>) {
      task();
      result.set_value();
    } else {
      result.set_value(task());
    }
  });
  return result.get_future().get();
}

// Sends kBatches batches as fast as OnSent allows, counts acknowledgements.
struct FakeGateway final : GatewayHandler {
  static constexpr int64_t kBatches = 200;

  struct Session final : AttachSession {
    Session(FakeGateway& owner, AttachSink& to) : gateway(owner), sink(to) { ++gateway.sessions; }
    ~Session() override { --gateway.sessions; }
    void OnRequest(AttachRequest request) override {
      EXPECT_TRUE(gateway.loop.IsCurrent());
      if (request.has_hello()) {
        gateway.hello = request.hello();
        if (!gateway.refuse.ok()) return sink.Close(gateway.refuse);
        SendNext();
      }
      if (request.has_ack()) gateway.acknowledged = request.ack().sequence();
    }
    void OnSent() override {
      EXPECT_TRUE(gateway.loop.IsCurrent());
      if (sent < kBatches) SendNext();
    }
    void OnClosed() override { gateway.closed.set_value(); }
    void SendNext() {
      AttachBatch batch;
      batch.set_sequence(++sent);
      batch.add_items()->mutable_state()->set_routing_key(std::string(1000, 'x'));
      sink.Send(batch.SerializeAsString());
    }
    FakeGateway& gateway;
    AttachSink& sink;
    int64_t sent = 0;
  };

  explicit FakeGateway(Loop& on) : loop(on) {}
  std::unique_ptr<AttachSession> OnAttach(AttachSink& sink) override { return std::make_unique<Session>(*this, sink); }
  void Write(WriteRequest request, Done<WriteResponse> done) override {
    EXPECT_TRUE(loop.IsCurrent());
    if (request.name() == "hold") return held.push_back(std::move(done));
    if (request.name() == "drop") return;
    if (request.name() == "cut") return done(absl::InvalidArgumentError("'caf\xc3'"));
    if (request.name() == "refuse") return done(absl::UnavailableError("not the leader"));
    if (request.name() == "long") return done(absl::InvalidArgumentError(std::string(100'000, 'y')));
    WriteResponse response;
    response.mutable_object()->mutable_pod()->set_name(request.name());
    done(std::move(response));
  }
  void Get(gateway::v1::GetRequest, Done<gateway::v1::GetResponse> done) override { done(gateway::v1::GetResponse()); }
  void GetTopology(gateway::v1::GetTopologyRequest, Done<gateway::v1::Topology> done) override {
    done(gateway::v1::Topology());
  }

  Loop& loop;
  gateway::v1::Hello hello;
  absl::Status refuse;
  int64_t acknowledged = 0;
  int sessions = 0;
  std::promise<void> closed;
  std::vector<Done<WriteResponse>> held;
};

struct Observer final : AttachObserver {
  explicit Observer(Loop& on) : loop(on) {}
  void OnBatch(AttachBatch batch) override {
    EXPECT_TRUE(loop.IsCurrent());
    EXPECT_EQ(batch.sequence(), ++received);
    AttachRequest ack;
    ack.mutable_ack()->set_sequence(batch.sequence());
    stream->Send(std::move(ack));
    if (received == FakeGateway::kBatches) all.set_value();
  }
  void OnClosed(const absl::Status& status) override {
    EXPECT_TRUE(loop.IsCurrent());
    closed.set_value(status);
  }
  Loop& loop;
  std::unique_ptr<AttachStream> stream;
  int64_t received = 0;
  std::promise<void> all;
  std::promise<absl::Status> closed;
};

class GrpcTest : public ::testing::Test {
 protected:
  GrpcTest() : server_loop_(MakeThreadLoop("server")), client_loop_(MakeThreadLoop("client")), gateway_(*server_loop_) {
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(MakeGatewayService(*server_loop_, gateway_));
    auto server = GrpcServer::Start({}, std::move(services));
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = "127.0.0.1:" + std::to_string(server_->port());
    peer_ = MakeGrpcGatewayPeer(*client_loop_, {address_});
  }
  ~GrpcTest() override {
    peer_.reset();
    server_.reset();
    server_loop_.reset();
    client_loop_.reset();
  }

  std::future<absl::StatusOr<WriteResponse>> StartWrite(const std::string& name, absl::Duration timeout = kTimeout) {
    const auto answer = std::make_shared<std::promise<absl::StatusOr<WriteResponse>>>();
    client_loop_->Post([this, name, timeout, answer] {
      WriteRequest request;
      request.set_name(name);
      peer_->Write(request, timeout, [this, answer](absl::StatusOr<WriteResponse> got) {
        EXPECT_TRUE(client_loop_->IsCurrent());
        answer->set_value(std::move(got));
      });
    });
    return answer->get_future();
  }
  absl::StatusOr<WriteResponse> Write(const std::string& name, absl::Duration timeout = kTimeout) {
    return StartWrite(name, timeout).get();
  }
  // Until the gateway has taken it, and holds it.
  std::future<absl::StatusOr<WriteResponse>> HoldWrite() {
    auto answer = StartWrite("hold");
    while (On(*server_loop_, [&] { return gateway_.held.empty(); })) std::this_thread::yield();
    return answer;
  }
  void Attach(Observer& observer) {
    On(*client_loop_, [&] {
      observer.stream = peer_->Attach(observer);
      AttachRequest hello;
      hello.mutable_hello()->set_version("7");
      observer.stream->Send(std::move(hello));
    });
  }

  void ExpectRefusal() {
    Observer observer(*client_loop_);
    Attach(observer);
    EXPECT_EQ(observer.closed.get_future().get().code(), absl::StatusCode::kUnavailable);
    On(*client_loop_, [&] { observer.stream.reset(); });
  }
  void ExpectBatches() {
    Observer observer(*client_loop_);
    Attach(observer);
    observer.all.get_future().get();
    On(*client_loop_, [&] { observer.stream.reset(); });
    gateway_.closed.get_future().get();
  }

  std::unique_ptr<Loop> server_loop_;
  std::unique_ptr<Loop> client_loop_;
  FakeGateway gateway_;
  std::unique_ptr<GrpcServer> server_;
  std::string address_;
  std::unique_ptr<GatewayPeer> peer_;
};

TEST_F(GrpcTest, AStreamCarriesBatchesDownAndAcknowledgementsUp) {
  Observer observer(*client_loop_);
  Attach(observer);
  observer.all.get_future().get();
  On(*client_loop_, [&] { observer.stream.reset(); });
  gateway_.closed.get_future().get();
  EXPECT_EQ(On(*server_loop_, [&] { return gateway_.hello.version(); }), "7");
  EXPECT_EQ(On(*server_loop_, [&] { return gateway_.sessions; }), 0);
}

TEST_F(GrpcTest, TheServersCloseReachesTheObserver) {
  On(*server_loop_, [&] { gateway_.refuse = absl::FailedPreconditionError("version 7 here, 8 there"); });
  Observer observer(*client_loop_);
  Attach(observer);
  const absl::Status status = observer.closed.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "version 7 here, 8 there");
  gateway_.closed.get_future().get();
  On(*client_loop_, [&] { observer.stream.reset(); });
}

TEST_F(GrpcTest, AServerThatEndsClosesItsStreams) {
  Observer observer(*client_loop_);
  Attach(observer);
  observer.all.get_future().get();
  server_->Drain(absl::ZeroDuration());
  EXPECT_FALSE(observer.closed.get_future().get().ok());
  gateway_.closed.get_future().get();
  On(*client_loop_, [&] { observer.stream.reset(); });
}

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

TEST_F(GrpcTest, WhatCannotReachAServerIsSurelyNotHandled) {
  server_.reset();
  EXPECT_EQ(Write("a").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcTest, AServerThatEndsInTheMiddleOfACallLeavesItUnknown) {
  auto answer = HoldWrite();
  server_->Drain(absl::ZeroDuration());  // Does not wait for the handler.
  EXPECT_NE(answer.get().status().code(), absl::StatusCode::kUnavailable);
  On(*server_loop_, [&] { gateway_.held.front()(WriteResponse()); });  // Too late: heard by nobody.
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

// As a gateway that stops has it: nothing of what it has begun is left unknown.
TEST_F(GrpcTest, AServerThatDrainsAnswersWhatItHasTakenAndRefusesTheRest) {
  auto answer = HoldWrite();
  std::thread drain([&] { server_->Drain(absl::Minutes(1)); });
  // Until the server has been told.
  absl::Status refused;
  while (refused.ok()) refused = Write("a").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  On(*server_loop_, [&] { gateway_.held.front()(WriteResponse()); });
  EXPECT_TRUE(answer.get().ok());
  drain.join();  // Long before its deadline.
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
TEST_F(GrpcTest, WhatACallOwnsIsLetGoOnTheLoop) {
  // Post from another thread returns when the task has run and is gone.
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
  peer_.reset();  // Before the loop.
}

// A second gateway, which refuses every stream.
class Standby {
 public:
  explicit Standby(absl::Status refusal) : loop_(MakeThreadLoop("standby")), handler_(*loop_) {
    On(*loop_, [&] { handler_.refuse = std::move(refusal); });
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(MakeGatewayService(*loop_, handler_));
    auto server = GrpcServer::Start({}, std::move(services));
    EXPECT_TRUE(server.ok());
    server_ = *std::move(server);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }

 private:
  const std::unique_ptr<Loop> loop_;
  FakeGateway handler_;
  std::unique_ptr<GrpcServer> server_;
};

TEST_F(GrpcTest, AttachGoesOnToTheNextAddressUntilOneLeads) {
  const Standby standby(absl::UnavailableError("not the leader"));
  peer_ = MakeGrpcGatewayPeer(*client_loop_, {standby.address(), address_});
  ExpectRefusal();
  ExpectBatches();
}

TEST_F(GrpcTest, AttachGoesStraightToTheLeaderThatAStandbyNames) {
  const Standby standby(WithLeader(absl::UnavailableError("'a' does not lead, 'b' does"), address_));
  peer_ = MakeGrpcGatewayPeer(*client_loop_, {standby.address(), "127.0.0.1:1", "127.0.0.1:2"});
  ExpectRefusal();
  ExpectBatches();
}

// Answers when the test lets it.
struct HeldResolver final : discovery::Resolver {
  explicit HeldResolver(std::promise<Done>& to) : asked(to) {}
  void Resolve(discovery::HostPort, Done done) override { asked.set_value(std::move(done)); }
  std::promise<Done>& asked;
};

TEST_F(GrpcTest, AStreamBeginsWhenItsGatewayHasBeenLookedUp) {
  std::promise<discovery::Resolver::Done> asked;
  peer_ = MakeGrpcGatewayPeer(*client_loop_, *discovery::ParseGatewayNames({"dns:///gw:7"}),
                              std::make_unique<HeldResolver>(asked));
  Observer observer(*client_loop_);
  Attach(observer);
  auto done = asked.get_future().get();
  EXPECT_EQ(Write("a").status().code(), absl::StatusCode::kUnavailable) << "surely not sent";
  On(*client_loop_, [&] { done(std::vector<std::string>{address_}); });
  observer.all.get_future().get();
  On(*client_loop_, [&] { observer.stream.reset(); });
  gateway_.closed.get_future().get();
  EXPECT_EQ(On(*server_loop_, [&] { return gateway_.hello.version(); }), "7") << "said before there was a connection";
}

TEST_F(GrpcTest, AStreamWhoseGatewayCannotBeLookedUpSaysSo) {
  std::promise<discovery::Resolver::Done> asked;
  peer_ = MakeGrpcGatewayPeer(*client_loop_, *discovery::ParseGatewayNames({"dns:///gw:7"}),
                              std::make_unique<HeldResolver>(asked));
  Observer observer(*client_loop_);
  Attach(observer);
  auto done = asked.get_future().get();
  On(*client_loop_, [&] { done(absl::UnavailableError("gw cannot be looked up: why")); });
  EXPECT_EQ(observer.closed.get_future().get(),
            absl::UnavailableError("--gateway 'dns:///gw:7': gw cannot be looked up: why"));
  On(*client_loop_, [&] { observer.stream.reset(); });
}

TEST_F(GrpcTest, AStreamThatIsDroppedBeforeItsGatewayIsKnownNeverBegins) {
  std::promise<discovery::Resolver::Done> asked;
  peer_ = MakeGrpcGatewayPeer(*client_loop_, *discovery::ParseGatewayNames({"dns:///gw:7"}),
                              std::make_unique<HeldResolver>(asked));
  Observer observer(*client_loop_);
  Attach(observer);
  On(*client_loop_, [&] { observer.stream.reset(); });
  auto done = asked.get_future().get();
  On(*client_loop_, [&] { done(std::vector<std::string>{address_}); });
  peer_.reset();
  EXPECT_EQ(On(*server_loop_, [&] { return gateway_.sessions; }), 0);
  EXPECT_EQ(observer.received, 0);
}

TEST_F(GrpcTest, HealthFollowsSetServing) {
  auto stub = grpc::health::v1::Health::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  for (const bool serving : {false, true, false}) {
    server_->SetServing(serving);
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, {}, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.status() == grpc::health::v1::HealthCheckResponse::SERVING, serving);
  }
}

TEST_F(GrpcTest, APortInUseIsAnError) {
  const auto second = GrpcServer::Start({.address = address_}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(GrpcTest, PodGroupsAreAskedForAtTheirMembersAddress) {
  struct Handler final : PodGroupHandler {
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                        Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      if (request.name() == "busy") return done(absl::FailedPreconditionError("an older version is still going"));
      podgroup::v1::EnsurePodGroupResponse response;
      response.mutable_pod_group()->mutable_meta()->set_name(request.name());
      done(std::move(response));
    }
  } handler;
  std::vector<std::unique_ptr<GrpcService>> services;
  services.push_back(MakePodGroupService(*server_loop_, handler));
  auto server = GrpcServer::Start({}, std::move(services));
  ASSERT_TRUE(server.ok());
  auto directory = MakeGrpcPeerDirectory(*client_loop_);
  gateway::v1::Member member;
  member.set_address("127.0.0.1:" + std::to_string((*server)->port()));
  const auto ask = [&](const std::string& name) {
    std::promise<absl::StatusOr<podgroup::v1::EnsurePodGroupResponse>> answer;
    client_loop_->Post([&] {
      podgroup::v1::EnsurePodGroupRequest request;
      request.set_name(name);
      const auto peer = directory->PodGroups(member);
      EXPECT_EQ(peer, directory->PodGroups(member));
      peer->EnsurePodGroup(request, kTimeout, [&](auto got) { answer.set_value(std::move(got)); });
    });
    return answer.get_future().get();
  };
  const auto made = ask("group");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->pod_group().meta().name(), "group");
  EXPECT_EQ(ask("busy").status().code(), absl::StatusCode::kFailedPrecondition);
  directory.reset();
  server->reset();
}

TEST_F(GrpcTest, RecordsAreHandedOverBetweenReplicas) {
  struct Handler final : ReplicaHandler {
    void HandOver(replica::v1::HandOverRequest request, Done<replica::v1::HandOverResponse> done) override {
      if (request.slots_size() == 0) return done(absl::UnavailableError("not released yet"));
      replica::v1::HandOverResponse response;
      response.add_complete(request.slots(0).slot());
      done(std::move(response));
    }
  } handler;
  std::vector<std::unique_ptr<GrpcService>> services;
  services.push_back(MakeReplicaService(*server_loop_, handler));
  auto server = GrpcServer::Start({}, std::move(services));
  ASSERT_TRUE(server.ok());
  auto directory = MakeGrpcPeerDirectory(*client_loop_);
  gateway::v1::Member member;
  member.set_address("127.0.0.1:" + std::to_string((*server)->port()));
  const auto ask = [&](replica::v1::HandOverRequest request) {
    std::promise<absl::StatusOr<replica::v1::HandOverResponse>> answer;
    client_loop_->Post([&] {
      directory->Replicas(member)->HandOver(std::move(request), kTimeout,
                                            [&](auto got) { answer.set_value(std::move(got)); });
    });
    return answer.get_future().get();
  };
  EXPECT_EQ(ask({}).status().code(), absl::StatusCode::kUnavailable);
  replica::v1::HandOverRequest request;
  request.add_slots()->set_slot(7);
  const auto page = ask(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->complete(0), 7u);
  directory.reset();
  server->reset();
}

TEST(CallRoomTest, WhatComesOverTheBoundIsRefusedUntilSomethingEnds) {
  CallRoom room(3, 100);
  EXPECT_TRUE(room.Enter(10));
  EXPECT_TRUE(room.Enter(60));
  EXPECT_FALSE(room.Enter(31)) << "bytes";
  EXPECT_TRUE(room.Enter(30));
  EXPECT_FALSE(room.Enter(0)) << "calls";
  for (const size_t bytes : {10, 60, 30}) room.Leave(bytes);
  EXPECT_TRUE(room.Enter(5000)) << "alone";
  EXPECT_FALSE(room.Enter(1));
  room.Leave(5000);
  EXPECT_TRUE(room.Enter(1));
}

TEST_F(GrpcTest, CallsOverTheBoundAreRefusedAndTheOthersAnswered) {
  struct Handler final : PodGroupHandler {
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest, Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      done(podgroup::v1::EnsurePodGroupResponse());
    }
  } handler;
  std::vector<std::unique_ptr<GrpcService>> services;
  services.push_back(MakePodGroupService(*server_loop_, handler));
  auto server = GrpcServer::Start({}, std::move(services));
  ASSERT_TRUE(server.ok());
  auto directory = MakeGrpcPeerDirectory(*client_loop_);
  gateway::v1::Member member;
  member.set_address("127.0.0.1:" + std::to_string((*server)->port()));
  const auto ask = [&] {
    std::promise<absl::Status> answer;
    client_loop_->Post([&] {
      directory->PodGroups(member)->EnsurePodGroup({}, kTimeout, [&](auto got) { answer.set_value(got.status()); });
    });
    return answer.get_future().get();
  };
  EXPECT_TRUE(ask().ok());
  size_t taken = 0;
  absl::Status refused;
  // A call that is over gives its room back a moment later.
  while (refused.ok()) {
    while (CallRoom::Get().Enter(0)) ++taken;
    refused = ask();
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  for (size_t i = 0; i < taken; ++i) CallRoom::Get().Leave(0);
  EXPECT_TRUE(ask().ok());
  directory.reset();
  server->reset();
}

TEST(StatusBridgeTest, EveryCodeSurvivesTheWayThereAndBack) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  EXPECT_TRUE(FromGrpc(ToGrpc(absl::OkStatus())).ok());
}

TEST(StatusBridgeTest, ALongMessageIsCutBetweenCharacters) {
  std::string text;
  while (text.size() < 2 * kMaxStatusMessage) text += "ä";
  const grpc::Status cut = ToGrpc(absl::InternalError(text));
  EXPECT_LE(cut.error_message().size(), kMaxStatusMessage);
  EXPECT_NE(cut.error_message().find("ä … (cut)"), std::string::npos);
}

}  // namespace
}  // namespace basalt::rpc
