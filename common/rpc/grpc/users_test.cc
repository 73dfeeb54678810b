// Users of Kubernetes and strangers at the port of a gateway and of a service, over real sockets.
#include "common/rpc/grpc/users.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/call_guard.h"
#include "common/rpc/grpc/library_tls.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::IsOk;
using http::testing::Certificate;
using http::testing::MakeCertificate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace tls = grpc::experimental;

constexpr char kCluster[] = "blue";

std::shared_ptr<const identity::Authorities> Believing(const std::string& pem) {
  return *identity::Authorities::FromPem(pem);
}

class Everything final : public gateway::v1::GatewayService::Service {
 public:
  grpc::Status GetTopology(grpc::ServerContext* context, const gateway::v1::GetTopologyRequest*,
                           gateway::v1::Topology* topology) override {
    topology->set_gateway(ClaimsIn(UserTokenOf(*context)).user());
    return grpc::Status::OK;
  }
};

// The port of one process.
class Port {
 public:
  Port(const TestAuthority& suite, identity::Role role, const Certificate& kubernetes)
      : files_(suite.FilesOf(role, "r-0")), credentials_(suite.CredentialsOf(role, "r-0")) {
    users_ = std::make_shared<Users>(*credentials_->rules(), denied_, role == identity::Role::kGateway,
                                     TokenBucketOptions{.per_second = 0.001, .burst = 4});
    users_->SetSuite(suite.authorities());
    users_->SetKubernetes(Believing(kubernetes.cert_pem));
    guard_ = std::make_shared<CallGuard>(
        *credentials_->rules(), denied_,
        [this](const RefusedCall& call) {
          MutexLock lock(mutex_);
          refused_.push_back(fmt::format("{} {} {}", call.role, call.client, call.reason));
        },
        users_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials_->ForServer(guard_), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~Port() { server_->Shutdown(); }

  // Calls over a connection of its own. `own` with empty texts: without a certificate.
  template <typename Call>
  grpc::Status Ask(const Certificate& own, const std::string& token, Call call) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = gateway::v1::GatewayService::NewStub(
        grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port_), ClientOf(own), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    if (!token.empty()) context.AddMetadata(kUserTokenKey, token);
    return call(*stub, &context);
  }
  grpc::Status Topology(const Certificate& own, const std::string& token, std::string* user = nullptr) const {
    return Ask(own, token, [user](auto& stub, auto* context) {
      gateway::v1::Topology topology;
      const grpc::Status status = stub.GetTopology(context, {}, &topology);
      if (user != nullptr) *user = topology.gateway();
      return status;
    });
  }
  std::vector<std::string> refused() const {
    MutexLock lock(mutex_);
    return refused_;
  }
  // Returns a token that this process has signed.
  std::string TokenOf(const std::string& user, absl::Duration left = absl::Minutes(5)) const {
    return MakeUserToken(user, kCluster, ReadPair(files_), left);
  }
  identity::DeniedList& denied() { return *denied_; }

 private:
  // The credentials trust every server: these tests are not about the trust of clients.
  static std::shared_ptr<grpc::ChannelCredentials> ClientOf(const Certificate& own) {
    tls::TlsChannelCredentialsOptions options;
    if (!own.cert_pem.empty()) {
      Show(*MakeFixedProvider(/*authorities=*/"", {.certificate_pem = own.cert_pem, .key_pem = own.key_pem}), options);
    }
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());
    return tls::TlsCredentials(options);
  }

  const TlsFiles files_;
  const std::shared_ptr<const Credentials> credentials_;
  const std::shared_ptr<identity::DeniedList> denied_ = std::make_shared<identity::DeniedList>();
  std::shared_ptr<Users> users_;
  mutable Mutex mutex_;
  std::vector<std::string> refused_ BASALT_GUARDED_BY(mutex_);
  std::shared_ptr<CallGuard> guard_;
  Everything service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

class UsersTest : public ::testing::Test {
 protected:
  static Certificate MakeAuthority(const std::string& name) {
    return MakeCertificate({.common_name = name, .alternative_names = "", .authority = true});
  }
  Certificate CertificateOf(identity::Role role) const {
    const TlsFiles files = suite_.FilesOf(role, "x-0");
    return {*identity::ReadSmallFile(files.certificate), *identity::ReadSmallFile(files.key)};
  }
  Certificate UserCertificate(const std::string& names = "", absl::Duration until = absl::Hours(1)) const {
    return MakeCertificate({.common_name = "ann", .organisation = "team-a", .alternative_names = names, .until = until},
                           kubernetes_);
  }

  const basalt::testing::TempDir folder_;
  const TestAuthority suite_{folder_.path(), kCluster};
  const Certificate kubernetes_ = MakeAuthority("kubernetes");
  const Certificate nobody_{};
  Port gateway_{suite_, identity::Role::kGateway, kubernetes_};
  Port service_{suite_, identity::Role::kJobsvc, kubernetes_};
};

TEST_F(UsersTest, AUserCallsWithATokenOfAGatewayAndNeedsNoCertificate) {
  for (const Port* port : {&gateway_, &service_}) {
    std::string user;
    EXPECT_TRUE(port->Topology(nobody_, gateway_.TokenOf("ann"), &user).ok());
    EXPECT_EQ(user, "ann");
    EXPECT_THAT(port->refused(), IsEmpty());
  }
  EXPECT_TRUE(gateway_.Topology(UserCertificate(), gateway_.TokenOf("ann")).ok());
}

TEST_F(UsersTest, WhoHasNoTokenThatCountsCallsNothing) {
  const std::string expired = gateway_.TokenOf("ann", -absl::Seconds(1));
  const std::string of_a_service = service_.TokenOf("ann");
  for (const Port* port : {&gateway_, &service_}) {
    for (const std::string& token : {std::string(), std::string("rubbish"), expired, of_a_service}) {
      EXPECT_EQ(port->Topology(nobody_, token).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    }
    EXPECT_THAT(port->refused(), ElementsAre("  identity", "  identity", "  identity", "  identity"));
  }
  EXPECT_EQ(gateway_.Topology(UserCertificate(), "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(UsersTest, AUserCallsWhatTheRowsGiveUsersAndNothingElse) {
  const grpc::Status status = gateway_.Ask(nobody_, gateway_.TokenOf("ann"), [](auto& stub, auto* context) {
    gateway::v1::GetResponse response;
    return stub.Get(context, {}, &response);
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("users may not call /basalt.gateway.v1.GatewayService/Get"));
  EXPECT_THAT(gateway_.refused(), ElementsAre("user user:ann role"));
}

TEST_F(UsersTest, AUserMakesSoManyCallsAndOthersGoOn) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(service_.Topology(nobody_, gateway_.TokenOf("ann")).ok());
  const grpc::Status status = service_.Topology(nobody_, gateway_.TokenOf("ann"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("--user_rate"));
  EXPECT_TRUE(service_.Topology(nobody_, gateway_.TokenOf("bob")).ok());
  EXPECT_THAT(service_.refused(), ElementsAre("user user:ann rate"));
}

TEST_F(UsersTest, ADeniedUserCallsNothing) {
  service_.denied().Set({"user:ann"});
  EXPECT_EQ(service_.Topology(nobody_, gateway_.TokenOf("ann")).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(service_.Topology(nobody_, gateway_.TokenOf("bob")).ok());
  EXPECT_THAT(service_.refused(), ElementsAre("user user:ann denied"));
}

// The authority that signs users' certificates turns no user into a member.
TEST_F(UsersTest, ACertificateOfTheClientAuthorityMakesNoMember) {
  const Certificate pretender = UserCertificate("URI:spiffe://basalt.local/cluster/blue/role/operator/root");
  for (const Port* port : {&gateway_, &service_}) {
    EXPECT_EQ(port->Topology(pretender, "").error_code(), grpc::StatusCode::UNAVAILABLE) << "no handshake";
    EXPECT_EQ(port->Topology(pretender, gateway_.TokenOf("ann")).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(port->refused(), IsEmpty());
  }
}

TEST_F(UsersTest, OtherCertificatesHaveNoConnection) {
  const std::string token = gateway_.TokenOf("ann");
  const Certificate other = MakeCertificate({.common_name = "ann", .alternative_names = ""}, MakeAuthority("other"));
  for (const Port* port : {&gateway_, &service_}) {
    EXPECT_EQ(port->Topology(other, token).error_code(), grpc::StatusCode::UNAVAILABLE) << "of another authority";
    EXPECT_EQ(port->Topology(UserCertificate("", -absl::Minutes(1)), token).error_code(), grpc::StatusCode::UNAVAILABLE)
        << "its time is over";
  }
  EXPECT_EQ(service_.Topology(UserCertificate(), token).error_code(), grpc::StatusCode::UNAVAILABLE)
      << "certificates of users are for gateways";
}

TEST_F(UsersTest, MembersAreWhoTheirCertificatesSayBesideUsers) {
  for (const Port* port : {&gateway_, &service_}) {
    EXPECT_TRUE(port->Topology(CertificateOf(identity::Role::kJobsvc), "").ok());
    // A token that a member hands on does not change the member's identity.
    EXPECT_TRUE(port->Topology(CertificateOf(identity::Role::kJobsvc), gateway_.TokenOf("ann")).ok());
  }
}

}  // namespace
}  // namespace basalt::rpc
