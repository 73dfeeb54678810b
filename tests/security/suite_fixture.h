#pragma once

// Runs the whole suite in this process, for tests of strangers that can reach its ports.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/testing/temp_dir.h"
#include "dev/in_process_suite.h"

namespace basalt::security {

// Returns a channel with a connection of its own.
inline std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

class SuiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto suite = dev::InProcessSuite::Start(
        {.dir = dir_ / "suite", .crds = {BASALT_SOURCE_DIR "/deploy/crds"}, .default_duration = absl::Hours(1)});
    ASSERT_TRUE(suite.ok()) << suite.status();
    suite_ = *std::move(suite);
    const auto gateway = gateway::v1::GatewayService::NewStub(Connect(suite_->gateway()));
    grpc::ClientContext context;
    gateway::v1::Topology topology;
    ASSERT_TRUE(gateway->GetTopology(&context, {}, &topology).ok());
    for (const auto& status : topology.members()) members_[status.member().service()] = status.member();
  }
  std::string AddressOf(gateway::v1::ServiceKind service) { return members_[service].address(); }

  const testing::TempDir dir_;
  std::unique_ptr<dev::InProcessSuite> suite_;
  std::map<int, gateway::v1::Member> members_;
};

}  // namespace basalt::security
