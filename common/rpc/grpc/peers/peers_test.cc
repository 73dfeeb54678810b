// Calls between replicas, and the limit on how many calls a process takes at once.
#include "common/rpc/grpc/peers/peers.h"

#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/peers/podgroup.h"
#include "common/rpc/grpc/peers/replica.h"
#include "common/rpc/inflight_limiter.h"

namespace basalt::rpc {
namespace {

TEST_F(GrpcTest, PodGroupsAreAskedForAtTheirMembersAddress) {
  struct Handler final : PodGroupHandler {
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                        Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      if (request.name() == "busy") return done(absl::FailedPreconditionError("an older version is still going"));
      podgroup::v1::EnsurePodGroupResponse response;
      response.mutable_pod_group()->mutable_meta()->set_name(request.name());
      done(std::move(response));
    }
    void DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                        Done<podgroup::v1::DeletePodGroupResponse> done) override {
      podgroup::v1::DeletePodGroupResponse response;
      response.mutable_pod_group()->mutable_meta()->set_uid(request.uid());
      response.set_gone(true);
      done(std::move(response));
    }
  } handler;
  std::vector<std::unique_ptr<GrpcService>> services;
  services.push_back(MakePodGroupService(*server_loop_, handler, std::make_shared<InflightLimiter>()));
  auto server = GrpcServer::Start({}, std::move(services));
  ASSERT_TRUE(server.ok());
  auto directory = MakeGrpcPeerDirectory(*client_loop_);
  gateway::v1::Member member;
  member.set_address("127.0.0.1:" + std::to_string((*server)->port()));
  EXPECT_EQ(directory->Services(member), nullptr) << "of no service";
  member.set_service(gateway::v1::SERVICE_KIND_POD_GROUP);
  const auto ask = [&](const std::string& name) {
    std::promise<absl::StatusOr<podgroup::v1::EnsurePodGroupResponse>> answer;
    client_loop_->Post([&] {
      podgroup::v1::EnsurePodGroupRequest request;
      request.set_name(name);
      const auto peer = std::static_pointer_cast<PodGroupPeer>(directory->Services(member));
      EXPECT_EQ(peer, directory->Services(member));
      peer->EnsurePodGroup(request, kTimeout, [&](auto got) { answer.set_value(std::move(got)); });
    });
    return answer.get_future().get();
  };
  const auto made = ask("group");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->pod_group().meta().name(), "group");
  EXPECT_EQ(ask("busy").status().code(), absl::StatusCode::kFailedPrecondition);
  std::promise<absl::StatusOr<podgroup::v1::DeletePodGroupResponse>> deleted;
  client_loop_->Post([&] {
    podgroup::v1::DeletePodGroupRequest request;
    request.set_uid("group-uid");
    const auto peer = std::static_pointer_cast<PodGroupPeer>(directory->Services(member));
    peer->DeletePodGroup(request, kTimeout, [&](auto got) { deleted.set_value(std::move(got)); });
  });
  const auto answer = deleted.get_future().get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->pod_group().meta().uid(), "group-uid");
  EXPECT_TRUE(answer->gone());
  directory.reset();
  server->reset();
}

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

TEST(CallRoomTest, WhatComesOverTheBoundIsRefusedUntilSomethingEnds) {
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

TEST_F(GrpcTest, CallsOverTheBoundAreRefusedAndTheOthersAnswered) {
  struct Handler final : PodGroupHandler {
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest, Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      done(podgroup::v1::EnsurePodGroupResponse());
    }
    void DeletePodGroup(podgroup::v1::DeletePodGroupRequest, Done<podgroup::v1::DeletePodGroupResponse> done) override {
      done(podgroup::v1::DeletePodGroupResponse());
    }
  } handler;
  std::vector<std::unique_ptr<GrpcService>> services;
  const auto limiter = std::make_shared<InflightLimiter>();
  services.push_back(MakePodGroupService(*server_loop_, handler, limiter));
  auto server = GrpcServer::Start({}, std::move(services));
  ASSERT_TRUE(server.ok());
  auto directory = MakeGrpcPeerDirectory(*client_loop_);
  gateway::v1::Member member;
  member.set_address("127.0.0.1:" + std::to_string((*server)->port()));
  member.set_service(gateway::v1::SERVICE_KIND_POD_GROUP);
  const auto ask = [&] {
    std::promise<absl::Status> answer;
    client_loop_->Post([&] {
      const auto peer = std::static_pointer_cast<PodGroupPeer>(directory->Services(member));
      peer->EnsurePodGroup({}, kTimeout, [&](auto got) { answer.set_value(got.status()); });
    });
    return answer.get_future().get();
  };
  EXPECT_TRUE(ask().ok());
  size_t taken = 0;
  absl::Status refused;
  // A call that is over gives its place back a moment later.
  while (refused.ok()) {
    while (limiter->TryAcquire(0)) ++taken;
    refused = ask();
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  for (size_t i = 0; i < taken; ++i) limiter->Leave(0);
  EXPECT_TRUE(ask().ok());
  directory.reset();
  server->reset();
}

}  // namespace
}  // namespace basalt::rpc
