// The services that a server lists, and the form of a status on the wire.
#include "common/rpc/grpc/server.h"

#include <google/protobuf/empty.pb.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include "basalt/common/v1/health.grpc.pb.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/http/testing/raw_connection.h"
#include "common/rpc/error_details.h"
#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/status_bridge.h"

namespace basalt::rpc {
namespace {

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

// Each of these characters takes six bytes on the wire, and headers may have 8 KiB.
TEST_F(GrpcTest, DetailsArriveBesideALongMessage) {
  std::string sentence = "f: ";
  while (sentence.size() < 400) sentence += "ä";
  On(*server_loop_, [&] { gateway_.topology = InvalidFields(std::vector<FieldViolation>(20, {"f", sentence})); });
  const auto stub =
      gateway::v1::GatewayService::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  gateway::v1::Topology response;
  const absl::Status status = FromGrpc(stub->GetTopology(&context, {}, &response));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  ASSERT_TRUE(BadRequestOf(status).has_value());
  EXPECT_EQ(BadRequestOf(status)->field_violations(0).description(), sentence);
}

using HealthStub = grpc::health::v1::Health::Stub;

// Connects by a connection of its own.
std::unique_ptr<HealthStub> Connect(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::health::v1::Health::NewStub(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
}

grpc::StatusCode Check(HealthStub& stub, absl::Duration patience) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(patience));
  grpc::health::v1::HealthCheckResponse response;
  return stub.Check(&context, {}, &response).error_code();
}

// Returns whether the server of that port has the method.
bool Serves(int port, const char* name) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kTimeout));
  const google::protobuf::Empty request;
  google::protobuf::Empty response;
  const grpc::internal::RpcMethod method(name, grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status = grpc::internal::BlockingUnaryCall<google::protobuf::Empty, google::protobuf::Empty>(
      channel.get(), method, &context, request, &response);
  return status.error_code() != grpc::StatusCode::UNIMPLEMENTED;
}

TEST(GrpcBoundsTest, AServerShowsItsServicesAndConnectionsOnlyWhereItIsAskedTo) {
  constexpr const char* kMethods[] = {"/grpc.channelz.v1.Channelz/GetServers",
                                      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const bool shows_itself : {false, true, false}) {
    const auto server = GrpcServer::Start({.bounds = {.shows_itself = shows_itself}}, {});
    ASSERT_TRUE(server.ok()) << server.status();
    for (const char* method : kMethods) EXPECT_EQ(Serves((*server)->port(), method), shows_itself) << method;
  }
}

TEST(GrpcBoundsTest, AStreamBeyondTheBoundOfItsConnectionWaitsAndOtherConnectionsGoOn) {
  const auto server = GrpcServer::Start({.bounds = {.max_streams = 2}}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto greedy = Connect((*server)->port());
  const auto other = Connect((*server)->port());
  // A watch of the health goes on until it is cancelled.
  grpc::ClientContext contexts[2];
  std::unique_ptr<grpc::ClientReader<grpc::health::v1::HealthCheckResponse>> watches[2];
  for (int i = 0; i < 2; ++i) {
    watches[i] = greedy->Watch(&contexts[i], {});
    grpc::health::v1::HealthCheckResponse first;
    ASSERT_TRUE(watches[i]->Read(&first));
  }
  EXPECT_EQ(Check(*greedy, absl::Milliseconds(300)), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Check(*other, kTimeout), grpc::StatusCode::OK);
  contexts[0].TryCancel();
  EXPECT_EQ(watches[0]->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Check(*greedy, kTimeout), grpc::StatusCode::OK);
  contexts[1].TryCancel();
  watches[1]->Finish();
}

TEST(GrpcBoundsTest, AConnectionOnWhichNobodySpeaksHttp2IsClosed) {
  const auto server = GrpcServer::Start({.bounds = {.handshake_timeout = absl::Seconds(1)}}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  http::testing::RawConnection silent(static_cast<uint16_t>((*server)->port()));
  const auto other = Connect((*server)->port());
  EXPECT_EQ(Check(*other, kTimeout), grpc::StatusCode::OK);
  EXPECT_EQ(silent.ReadToEnd().find("timed out"), std::string::npos);
  EXPECT_EQ(Check(*other, kTimeout), grpc::StatusCode::OK);
}

TEST(GrpcBoundsTest, AConnectionWithoutACallIsClosedAndOneWithAStreamIsNot) {
  const auto server = GrpcServer::Start({.bounds = {.idle_timeout = absl::Milliseconds(500)}}, {});
  ASSERT_TRUE(server.ok()) << server.status();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const std::string address = "127.0.0.1:" + std::to_string((*server)->port());
  const auto idle = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  const auto busy = Connect((*server)->port());
  grpc::ClientContext context;
  const auto watch = busy->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  const auto deadline = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kTimeout);
  ASSERT_TRUE(idle->WaitForConnected(deadline));
  EXPECT_TRUE(idle->WaitForStateChange(GRPC_CHANNEL_READY, deadline)) << "it is not closed";
  (*server)->SetServing(true);
  EXPECT_TRUE(watch->Read(&response)) << "a stream is no idleness";
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  context.TryCancel();
  watch->Finish();
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
