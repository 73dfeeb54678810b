#pragma once

// A fixture for tests of basaltctl against real gRPC servers on loopback.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/rpc/grpc/server.h"

namespace basalt::cli {

// Answers the given topology, with slots only if the caller requests them.
class FixedTopologyGateway final : public gateway::v1::GatewayService::Service {
 public:
  explicit FixedTopologyGateway(gateway::v1::Topology topology) : topology_(std::move(topology)) {}
  grpc::Status GetTopology(grpc::ServerContext*, const gateway::v1::GetTopologyRequest* request,
                           gateway::v1::Topology* response) override {
    *response = topology_;
    if (request->slots_of() == gateway::v1::SERVICE_KIND_UNSPECIFIED) response->clear_slots();
    return grpc::Status::OK;
  }

 private:
  const gateway::v1::Topology topology_;
};

// The exit code and the output of a command.
struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class ServedTest : public ::testing::Test {
 protected:
  // Serves `service` until the test ends. Returns the address.
  template <typename Service>
  std::string Serve(std::unique_ptr<Service> service) {
    std::vector<std::unique_ptr<rpc::GrpcService>> services;
    services.push_back(rpc::WrapService(std::move(service)));
    auto server = rpc::GrpcServer::Start({}, std::move(services));
    EXPECT_TRUE(server.ok()) << server.status();
    servers_.push_back(*std::move(server));
    return fmt::format("127.0.0.1:{}", servers_.back()->port());
  }

  // Serves the topology of one attached replica. Returns the address.
  std::string ServeTopology(gateway::v1::ServiceKind service, const std::string& replica, const std::string& address) {
    gateway::v1::Topology topology;
    topology.set_leads(true);
    gateway::v1::MemberStatus& status = *topology.add_members();
    status.set_attached(true);
    status.mutable_member()->set_service(service);
    status.mutable_member()->set_replica(replica);
    status.mutable_member()->set_address(address);
    return Serve(std::make_unique<FixedTopologyGateway>(topology));
  }

  // Runs `command`, which returns an exit code, and captures its output.
  template <typename Command>
  static Ran Captured(Command command) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Ran ran;
    ran.exit_code = command();
    ran.out = ::testing::internal::GetCapturedStdout();
    ran.err = ::testing::internal::GetCapturedStderr();
    return ran;
  }

 private:
  std::vector<std::unique_ptr<rpc::GrpcServer>> servers_;
};

}  // namespace basalt::cli
