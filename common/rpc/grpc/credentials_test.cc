// Handshakes between processes of the suite and strangers, over real sockets with real files.
#include "common/rpc/grpc/credentials.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "basalt/gateway/v1/gateway.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/http/testing/certificates.h"
#include "common/identity/rights.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

namespace fs = std::filesystem;
using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using http::testing::Certificate;
using http::testing::CertificateSpec;
using http::testing::MakeCertificate;
using ::testing::AllOf;
using ::testing::HasSubstr;

const identity::IdentityRules kRules("basalt.local", "blue");
constexpr uint32_t kGatewayOnly = identity::Only({identity::Role::kGateway});

std::string Uri(std::string_view role, std::string_view replica, std::string_view cluster = "blue") {
  return fmt::format("URI:spiffe://basalt.local/cluster/{}/role/{}/{}", cluster, role, replica);
}

Certificate MakeAuthority() {
  return MakeCertificate({.common_name = "authority", .alternative_names = "", .authority = true});
}

// A folder with the three files of a process, reached by a link as kubelet has it.
class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) { fs::create_directories(path_); }

  TlsFiles Put(const std::string& names, const Certificate& issuer, const Certificate& trusted,
               CertificateSpec spec = {}) {
    spec.alternative_names = names;
    const Certificate own = MakeCertificate(spec, issuer);
    const std::string version = fmt::format("{}/..version-{}", path_, ++versions_);
    fs::create_directory(version);
    std::ofstream(version + "/tls.crt") << own.cert_pem;
    std::ofstream(version + "/tls.key") << own.key_pem;
    std::ofstream(version + "/ca.crt") << trusted.cert_pem;
    const std::string link = path_ + "/..next";
    fs::create_directory_symlink(version, link);
    fs::rename(link, path_ + "/current");
    return files();
  }
  TlsFiles files() const {
    return {.certificate = path_ + "/current/tls.crt",
            .key = path_ + "/current/tls.key",
            .authorities = path_ + "/current/ca.crt",
            .refresh = absl::Seconds(1)};
  }

 private:
  const std::string path_;
  int versions_ = 0;
};

// Answers with the identity of the caller.
class WhoAsks final : public gateway::v1::GatewayService::Service {
 public:
  explicit WhoAsks(const CallGuard& guard) : guard_(guard) {}
  grpc::Status GetTopology(grpc::ServerContext* context, const gateway::v1::GetTopologyRequest*,
                           gateway::v1::Topology* topology) override {
    const absl::StatusOr<identity::Identity> client = guard_.ClientOf(*context->auth_context());
    topology->set_gateway(client.ok() ? identity::UriOf(*client) : std::string(client.status().message()));
    return grpc::Status::OK;
  }

 private:
  const CallGuard& guard_;
};

// The context of a client with a certificate of that URI.
class FakeContext final : public grpc::AuthContext {
 public:
  explicit FakeContext(std::string uri) : uri_(std::move(uri)) {}
  bool IsPeerAuthenticated() const override { return true; }
  std::vector<grpc::string_ref> GetPeerIdentity() const override { return {}; }
  std::string GetPeerIdentityPropertyName() const override { return "peer_uri"; }
  std::vector<grpc::string_ref> FindPropertyValues(const std::string& name) const override {
    if (name != "peer_uri") return {};
    return {grpc::string_ref(uri_)};
  }
  grpc::AuthPropertyIterator begin() const override { return None(); }
  grpc::AuthPropertyIterator end() const override { return None(); }
  void AddProperty(const std::string&, const grpc::string_ref&) override {}
  bool SetPeerIdentityPropertyName(const std::string&) override { return false; }

 private:
  struct None : grpc::AuthPropertyIterator {};
  const std::string uri_;
};

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    const auto read = Credentials::FromFiles(
        server_files_.Put(Uri("gateway", "gateway-0") + ",DNS:localhost,IP:127.0.0.1", authority_, authority_), kRules);
    EXPECT_THAT(read, IsOk());
    credentials_ = *read;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials_->ForServer(guard_), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~CredentialsTest() override { server_->Shutdown(); }

  // Calls over a connection of its own, and returns the client's identity as the service has it.
  absl::StatusOr<std::string> Ask(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = gateway::v1::GatewayService::NewStub(
        grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port_), credentials, arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    gateway::v1::Topology topology;
    const grpc::Status status = stub->GetTopology(&context, {}, &topology);
    if (!status.ok()) return absl::UnavailableError(status.error_message());
    return topology.gateway();
  }
  absl::StatusOr<std::string> AskAs(const std::string& names, const Certificate& issuer, CertificateSpec spec = {}) {
    Folder folder(fmt::format("{}/client-{}", folder_.path(), ++clients_));
    const auto client = Credentials::FromFiles(folder.Put(names, issuer, authority_, std::move(spec)), kRules);
    if (!client.ok()) return client.status();
    return Ask((*client)->ForChannel(kGatewayOnly));
  }

  // Texts that gRPC's threads add.
  class Texts {
   public:
    void Add(std::string text) BASALT_EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      texts_.push_back(std::move(text));
    }
    std::vector<std::string> all() const BASALT_EXCLUDES(mutex_) {
      MutexLock lock(mutex_);
      return texts_;
    }

   private:
    mutable Mutex mutex_;
    std::vector<std::string> texts_ BASALT_GUARDED_BY(mutex_);
  };

  Texts refused_;
  basalt::testing::TempDir folder_;
  Folder server_files_{folder_ / "server"};
  const Certificate authority_ = MakeAuthority();
  std::shared_ptr<const Credentials> credentials_;
  const std::shared_ptr<const CallGuard> guard_ = std::make_shared<CallGuard>(
      kRules, std::make_shared<identity::DeniedList>(),
      [this](const RefusedCall& call) { refused_.Add(fmt::format("{} {} {}", call.path, call.role, call.reason)); });
  WhoAsks service_{*guard_};
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  int clients_ = 0;
};

TEST_F(CredentialsTest, AMemberIsWhoItsCertificateSays) {
  const absl::StatusOr<std::string> answer = AskAs(Uri("jobsvc", "jobsvc-0"), authority_);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(*answer, "spiffe://basalt.local/cluster/blue/role/jobsvc/jobsvc-0");
}

TEST_F(CredentialsTest, StrangersHaveNoConnection) {
  EXPECT_FALSE(Ask(grpc::InsecureChannelCredentials()).ok()) << "without TLS";
  grpc::SslCredentialsOptions without_certificate;
  without_certificate.pem_root_certs = authority_.cert_pem;
  EXPECT_FALSE(Ask(grpc::SslCredentials(without_certificate)).ok());
  EXPECT_FALSE(AskAs(Uri("jobsvc", "jobsvc-0"), MakeAuthority()).ok()) << "of another authority";
  EXPECT_FALSE(AskAs(Uri("jobsvc", "jobsvc-0"), authority_, {.until = -absl::Minutes(1)}).ok()) << "it has expired";
  EXPECT_FALSE(AskAs(Uri("jobsvc", "jobsvc-0"), authority_, {.from = absl::Hours(1)}).ok()) << "its time has not come";
  EXPECT_THAT(refused_.all(), ::testing::IsEmpty()) << "no call has come as far as the guard";
}

TEST_F(CredentialsTest, ARoleCallsWhatItsRowsNameAndNothingElse) {
  Folder folder(folder_ / "client");
  const auto client = Credentials::FromFiles(folder.Put(Uri("operator", "someone"), authority_, authority_), kRules);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(Ask((*client)->ForChannel(kGatewayOnly)), IsOk());
  const auto stub = gateway::v1::GatewayService::NewStub(
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", port_), (*client)->ForChannel(kGatewayOnly)));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  gateway::v1::GetResponse response;
  const grpc::Status status = stub->Get(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(),
            "role operator may not call /basalt.gateway.v1.GatewayService/Get (docs/security.md)");
  EXPECT_THAT(refused_.all(), ::testing::ElementsAre("/basalt.gateway.v1.GatewayService/Get operator role"));
}

// The authority signs for other clusters, too.
TEST_F(CredentialsTest, AMemberOfAnotherClusterCallsNothing) {
  Folder folder(folder_ / "green");
  const auto green = Credentials::FromFiles(folder.Put(Uri("jobsvc", "jobsvc-0", "green"), authority_, authority_),
                                            identity::IdentityRules("basalt.local", "green"));
  ASSERT_THAT(green, IsOk());
  grpc::SslCredentialsOptions plain;  // These trust the server, whatever its cluster.
  plain.pem_root_certs = authority_.cert_pem;
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  plain.pem_cert_chain = read(folder.files().certificate);
  plain.pem_private_key = read(folder.files().key);
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("localhost");
  const auto stub = gateway::v1::GatewayService::NewStub(
      grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port_), grpc::SslCredentials(plain), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  gateway::v1::Topology topology;
  const grpc::Status status = stub->GetTopology(&context, {}, &topology);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("is of cluster green, this process of cluster blue"));
  EXPECT_THAT(refused_.all(), ::testing::ElementsAre("/basalt.gateway.v1.GatewayService/GetTopology  identity"));
}

TEST_F(CredentialsTest, AClientBelievesNoServerOfAnotherRole) {
  Folder folder(folder_ / "client");
  const auto client = Credentials::FromFiles(folder.Put(Uri("jobsvc", "jobsvc-0"), authority_, authority_), kRules);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(Ask((*client)->ForChannel(identity::Only({identity::Role::kPgsvc}))),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(refused_.all(), ::testing::IsEmpty()) << "the server has seen no call";
  EXPECT_EQ((*client)->ForChannel(kGatewayOnly), (*client)->ForChannel(kGatewayOnly)) << "channels share connections";
}

// Hello, Get, Write and ExportRecords state a member (members_test.cc).
TEST_F(CredentialsTest, AMemberIsThatOfTheCertificate) {
  struct Case {
    const char* names;
    gateway::v1::ServiceKind service;
    const char* replica;
    bool is_member;
  };
  constexpr auto kJob = gateway::v1::SERVICE_KIND_JOB;
  const std::string jobsvc = Uri("jobsvc", "jobsvc-0");
  const Case cases[] = {
      {jobsvc.c_str(), kJob, "jobsvc-0", true},
      {jobsvc.c_str(), kJob, "jobsvc-1", false},
      {jobsvc.c_str(), gateway::v1::SERVICE_KIND_QUEUE, "jobsvc-0", false},
      {"URI:spiffe://basalt.local/ns/a/sa/b", kJob, "jobsvc-1", true},
      {"URI:spiffe://basalt.local/ns/a/sa/b", gateway::v1::SERVICE_KIND_POD_GROUP, "jobsvc-1", false}};
  const identity::IdentityRules mapped("basalt.local", "blue",
                                       {{.path = "ns/a/sa/b", .role = identity::Role::kJobsvc}});
  int refused = 0;
  const CallGuard guard(mapped, std::make_shared<identity::DeniedList>(),
                        [&refused](const RefusedCall&) { ++refused; });
  for (const Case& test : cases) {
    FakeContext context(std::string(test.names).substr(4));
    gateway::v1::Member member;
    member.set_service(test.service);
    member.set_replica(test.replica);
    refused = 0;
    const absl::StatusOr<identity::Identity> client = guard.ClientOf(context);
    ASSERT_THAT(client, IsOk());
    EXPECT_EQ(guard.CheckMember(*client, member, "").ok(), test.is_member) << test.names << " " << test.replica;
    EXPECT_EQ(refused, test.is_member ? 0 : 1);
  }
}

TEST_F(CredentialsTest, AClientBelievesNoServerOfAnotherCluster) {
  Folder folder(folder_ / "client");
  const identity::IdentityRules green("basalt.local", "green");
  const auto client =
      Credentials::FromFiles(folder.Put(Uri("jobsvc", "jobsvc-0", "green"), authority_, authority_), green);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT(Ask((*client)->ForChannel(kGatewayOnly)), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(refused_.all(), ::testing::IsEmpty()) << "the server has seen no call";
}

// Both sides read the files again, also if a link to their folder is replaced.
TEST_F(CredentialsTest, FilesThatAreReplacedCountForTheNextConnection) {
  const Certificate next = MakeAuthority();
  server_files_.Put(Uri("gateway", "gateway-0"), next, next);
  Folder folder(folder_ / "client");
  const auto client = Credentials::FromFiles(folder.Put(Uri("pgsvc", "pgsvc-0"), next, next), kRules);
  ASSERT_THAT(client, IsOk());
  absl::StatusOr<std::string> answer = absl::UnknownError("");
  for (const absl::Time end = absl::Now() + absl::Seconds(30); !answer.ok() && absl::Now() < end;) {
    answer = Ask((*client)->ForChannel(kGatewayOnly));
  }
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(*answer, "spiffe://basalt.local/cluster/blue/role/pgsvc/pgsvc-0");
  Folder old(folder_ / "old");
  const auto of_before = Credentials::FromFiles(old.Put(Uri("jobsvc", "jobsvc-0"), authority_, next), kRules);
  ASSERT_THAT(of_before, IsOk());
  EXPECT_FALSE(Ask((*of_before)->ForChannel(kGatewayOnly)).ok()) << "of the authority that was exchanged";
}

TEST_F(CredentialsTest, AWrongFileIsNamedWithTheRule) {
  Folder folder(folder_ / "client");
  const TlsFiles good = folder.Put(Uri("jobsvc", "jobsvc-0"), authority_, authority_);
  const auto refused = [](const std::string& file, const std::string& why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(file), HasSubstr(why)));
  };
  TlsFiles files = good;
  files.certificate = "/nowhere/tls.crt";
  EXPECT_THAT(Credentials::FromFiles(files, kRules), refused("/nowhere/tls.crt", "cannot be read"));
  files = good;
  files.key = server_files_.files().key;
  EXPECT_THAT(Credentials::FromFiles(files, kRules), refused(files.key, "not that of the certificate"));
  files = good;
  files.authorities = good.key;
  EXPECT_THAT(Credentials::FromFiles(files, kRules), refused(good.key, "no certificate"));
  EXPECT_THAT(Credentials::FromFiles(good, identity::IdentityRules("basalt.local", "green")),
              refused(good.certificate, "the certificate is of cluster blue, this process of cluster green"));
}

}  // namespace
}  // namespace basalt::rpc
