// What a server says of itself, and what a status becomes on the wire.
#include "common/rpc/grpc/server.h"

#include <grpcpp/grpcpp.h>

#include "basalt/common/v1/health.grpc.pb.h"
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
