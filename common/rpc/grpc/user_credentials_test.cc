// Handshakes and calls of a user of Kubernetes, over real sockets with real files.
#include "common/rpc/grpc/user_credentials.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/rpc/grpc/user_token_key.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint32_t kGateways = identity::Only({identity::Role::kGateway});

// Answers with the credentials that the client has sent: its token, and the name in its certificate.
class ShownByClient final : public gateway::v1::GatewayService::Service {
 public:
  grpc::Status GetTopology(grpc::ServerContext* context, const gateway::v1::GetTopologyRequest*,
                           gateway::v1::Topology* response) override {
    const auto token = context->client_metadata().find(kUserTokenKey);
    response->set_leader(
        token == context->client_metadata().end() ? "none" : std::string(token->second.data(), token->second.size()));
    for (const grpc::string_ref& name : context->auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME)) {
      response->set_gateway(std::string(name.data(), name.size()));
    }
    const MutexLock lock(mutex_);
    ++calls_;
    return grpc::Status::OK;
  }
  int calls() const {
    const MutexLock lock(mutex_);
    return calls_;
  }

 private:
  mutable Mutex mutex_;
  int calls_ BASALT_GUARDED_BY(mutex_) = 0;
};

class UserCredentialsTest : public ::testing::Test {
 protected:
  ~UserCredentialsTest() override {
    for (const auto& server : servers_) server->Shutdown();
  }

  // Starts a server of that role, which runs until the test ends. From now on Ask calls it.
  ShownByClient& Serve(identity::Role role) {
    services_.push_back(std::make_unique<ShownByClient>());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", authority_.OpenServerOf(role, "server"), &port_);
    builder.RegisterService(services_.back().get());
    servers_.push_back(builder.BuildAndStart());
    return *services_.back();
  }
  static std::unique_ptr<UserCredentials> UserOf(const TestAuthority& authority) {
    auto made =
        UserCredentials::FromFile(authority.FilesOf(identity::Role::kReader, "any").authorities, authority.rules());
    EXPECT_THAT(made, IsOk());
    return *std::move(made);
  }
  grpc::Status Ask(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub =
        gateway::v1::GatewayService::NewStub(grpc::CreateChannel(fmt::format("127.0.0.1:{}", port_), credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    shown_.Clear();
    return stub->GetTopology(&context, {}, &shown_);
  }

  const basalt::testing::TempDir folder_;
  const TestAuthority authority_{folder_ / "blue", "blue"};
  std::vector<std::unique_ptr<ShownByClient>> services_;
  std::vector<std::unique_ptr<grpc::Server>> servers_;
  int port_ = 0;
  gateway::v1::Topology shown_;
};

TEST_F(UserCredentialsTest, EachCallCarriesTheTokenThatIsInForce) {
  const ShownByClient& gateway = Serve(identity::Role::kGateway);
  const auto user = UserOf(authority_);
  const auto channel = user->ForChannel(kGateways);
  EXPECT_EQ(channel, user->ForChannel(kGateways)) << "channels share connections";
  const grpc::Status early = Ask(channel);
  EXPECT_EQ(early.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(early.error_message(), HasSubstr("the user has not logged in"));
  EXPECT_EQ(gateway.calls(), 0);
  for (const char* token : {"first", "second"}) {
    user->SetToken(token);
    ASSERT_TRUE(Ask(channel).ok());
    EXPECT_EQ(shown_.leader(), token);
    EXPECT_EQ(shown_.gateway(), "") << "no certificate";
  }
}

TEST_F(UserCredentialsTest, ALogInCarriesNoTokenAndTheCertificateThatItIsGiven) {
  Serve(identity::Role::kGateway);
  const auto user = UserOf(authority_);
  user->SetToken("token");
  const auto without = user->ForLogIn({});
  ASSERT_THAT(without, IsOk());
  ASSERT_TRUE(Ask(*without).ok());
  EXPECT_EQ(shown_.leader(), "none");
  EXPECT_EQ(shown_.gateway(), "");
  const http::testing::Certificate ann = http::testing::MakeCertificate({.common_name = "ann"});
  const auto with = user->ForLogIn({.certificate_pem = ann.cert_pem, .key_pem = ann.key_pem});
  ASSERT_THAT(with, IsOk());
  ASSERT_TRUE(Ask(*with).ok());
  EXPECT_EQ(shown_.leader(), "none");
  EXPECT_EQ(shown_.gateway(), "ann");
  EXPECT_THAT(user->ForLogIn({.certificate_pem = ann.cert_pem, .key_pem = "nothing"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(UserCredentialsTest, AServerThatIsNotTheOneThatIsMeantSeesNoCall) {
  const ShownByClient& gateway = Serve(identity::Role::kGateway);
  const TestAuthority stranger(folder_ / "stranger", "blue");
  const struct {
    const char* what;
    std::unique_ptr<UserCredentials> user;
    uint32_t servers;
  } rows[] = {
      {"another role", UserOf(authority_), identity::Only({identity::Role::kJobsvc})},
      {"another authority", UserOf(stranger), kGateways},
      {"another cluster",
       *UserCredentials::FromFile(authority_.FilesOf(identity::Role::kReader, "any").authorities,
                                  identity::IdentityRules("basalt.local", "green")),
       kGateways},
  };
  for (const auto& row : rows) {
    row.user->SetToken("token");
    EXPECT_EQ(Ask(row.user->ForChannel(row.servers)).error_code(), grpc::StatusCode::UNAVAILABLE) << row.what;
    if (row.servers == kGateways) {
      EXPECT_EQ(Ask(*row.user->ForLogIn({})).error_code(), grpc::StatusCode::UNAVAILABLE) << row.what;
    }
  }
  EXPECT_EQ(gateway.calls(), 0);
  const ShownByClient& jobsvc = Serve(identity::Role::kJobsvc);
  EXPECT_EQ(Ask(*UserOf(authority_)->ForLogIn({})).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(jobsvc.calls(), 0);
}

TEST_F(UserCredentialsTest, AWrongFileIsNamedWithTheRule) {
  EXPECT_THAT(UserCredentials::FromFile("/nowhere/ca.crt", authority_.rules()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nowhere/ca.crt")));
  const std::string key = authority_.FilesOf(identity::Role::kReader, "any").key;
  EXPECT_THAT(UserCredentials::FromFile(key, authority_.rules()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(key + ": ")));
}

}  // namespace
}  // namespace basalt::rpc
