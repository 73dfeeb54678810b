// The stream of a replica: what it carries, how it ends, and how its gateway is found.
#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/leader_hint.h"

namespace basalt::rpc {
namespace {

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

// A second gateway, which refuses every stream.
class Standby {
 public:
  explicit Standby(absl::Status refusal) : loop_(MakeThreadLoop("standby")), handler_(*loop_) {
    On(*loop_, [&] { handler_.refuse = std::move(refusal); });
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(MakeGatewayService(*loop_, handler_, std::make_shared<InflightLimiter>()));
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

// Answers when the test requests it.
struct HeldResolver final : discovery::Resolver {
  explicit HeldResolver(std::promise<Done>& to) : asked(to) {}
  void Resolve(HostPort, Done done) override { asked.set_value(std::move(done)); }
  std::promise<Done>& asked;
};

// A stream whose gateway is being looked up.
class LookedUpTest : public GrpcTest {
 protected:
  LookedUpTest() {
    peer_ = MakeGrpcGatewayPeer(*client_loop_, *discovery::ParseGatewayNames({"dns:///gw:7"}),
                                std::make_unique<HeldResolver>(asked_));
    Attach(observer_);
  }

  std::promise<discovery::Resolver::Done> asked_;
  Observer observer_{*client_loop_};
};

TEST_F(LookedUpTest, AStreamBeginsWhenItsGatewayHasBeenLookedUp) {
  auto done = asked_.get_future().get();
  EXPECT_EQ(Write("a").status().code(), absl::StatusCode::kUnavailable) << "surely not sent";
  On(*client_loop_, [&] { done(std::vector<std::string>{address_}); });
  observer_.all.get_future().get();
  On(*client_loop_, [&] { observer_.stream.reset(); });
  gateway_.closed.get_future().get();
  EXPECT_EQ(On(*server_loop_, [&] { return gateway_.hello.version(); }), "7") << "said before there was a connection";
}

TEST_F(LookedUpTest, AStreamWhoseGatewayCannotBeLookedUpSaysSo) {
  auto done = asked_.get_future().get();
  On(*client_loop_, [&] { done(absl::UnavailableError("gw cannot be looked up: why")); });
  EXPECT_EQ(observer_.closed.get_future().get(),
            absl::UnavailableError("--gateway 'dns:///gw:7': gw cannot be looked up: why"));
  On(*client_loop_, [&] { observer_.stream.reset(); });
}

TEST_F(LookedUpTest, AStreamThatIsDroppedBeforeItsGatewayIsKnownNeverBegins) {
  On(*client_loop_, [&] { observer_.stream.reset(); });
  auto done = asked_.get_future().get();
  On(*client_loop_, [&] { done(std::vector<std::string>{address_}); });
  peer_.reset();
  EXPECT_EQ(On(*server_loop_, [&] { return gateway_.sessions; }), 0);
  EXPECT_EQ(observer_.received, 0);
}

}  // namespace
}  // namespace basalt::rpc
