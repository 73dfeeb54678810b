// Calls between replicas, and the room for calls.
#include "common/rpc/grpc/peers/peers.h"

#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/peers/replica.h"
#include "common/rpc/inflight_limiter.h"

namespace basalt::rpc {
namespace {

TEST_F(GrpcTest, RecordsAreHandedOverBetweenReplicas) {
  struct Handler final : ReplicaHandler {
    void ExportRecords(replica::v1::ExportRecordsRequest request,
                       Done<replica::v1::ExportRecordsResponse> done) override {
      if (request.slots_size() == 0) return done(absl::UnavailableError("not released yet"));
      replica::v1::ExportRecordsResponse response;
      response.add_complete(request.slots(0).slot());
      done(std::move(response));
    }
  } handler;
  std::vector<std::unique_ptr<GrpcService>> services;
  services.push_back(MakeReplicaService(*server_loop_, handler, std::make_shared<InflightLimiter>()));
  auto server = GrpcServer::Start({}, std::move(services));
  ASSERT_TRUE(server.ok());
  auto directory = MakeGrpcPeerDirectory(*client_loop_);
  gateway::v1::Member member;
  member.set_address("127.0.0.1:" + std::to_string((*server)->port()));
  const auto ask = [&](replica::v1::ExportRecordsRequest request) {
    std::promise<absl::StatusOr<replica::v1::ExportRecordsResponse>> answer;
    client_loop_->Post([&] {
      directory->Replicas(member)->ExportRecords(std::move(request), kTimeout,
                                                 [&](auto got) { answer.set_value(std::move(got)); });
    });
    return answer.get_future().get();
  };
  EXPECT_EQ(ask({}).status().code(), absl::StatusCode::kUnavailable);
  replica::v1::ExportRecordsRequest request;
  request.add_slots()->set_slot(7);
  const auto page = ask(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->complete(0), 7u);
  directory.reset();
  server->reset();
}

TEST(CallRoomTest, CallsOverTheBoundAreRefusedUntilSomethingEnds) {
  InflightLimiter room(3, 100);
  EXPECT_TRUE(room.TryAcquire(10));
  EXPECT_TRUE(room.TryAcquire(60));
  EXPECT_FALSE(room.TryAcquire(31)) << "bytes";
  EXPECT_TRUE(room.TryAcquire(30));
  EXPECT_FALSE(room.TryAcquire(0)) << "calls";
  for (const size_t bytes : {10, 60, 30}) room.Leave(bytes);
  EXPECT_TRUE(room.TryAcquire(5000)) << "alone";
  EXPECT_FALSE(room.TryAcquire(1));
  room.Leave(5000);
  EXPECT_TRUE(room.TryAcquire(1));
}

}  // namespace
}  // namespace basalt::rpc
