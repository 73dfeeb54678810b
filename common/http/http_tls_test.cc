#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "common/http/curl/curl_client.h"
#include "common/http/failure.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/server/beast_server.h"
#include "common/http/testing/certificates.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::http {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::TempDir;
using ::testing::AllOf;
using testing::Certificate;
using testing::CertificateSpec;
using ::testing::HasSubstr;
using testing::MakeCertificate;
using ::testing::StartsWith;

const CertificateSpec kAuthority = {.common_name = "authority", .alternative_names = "", .authority = true};

// Answers with the authorization that it got. The one in `refused` gets a 401.
class EchoHandler : public Handler {
 public:
  void Handle(const Request& request, std::shared_ptr<ResponseWriter> writer) override {
    const std::string auth(FindHeader(request.headers, "authorization"));
    const int status = !refused.empty() && auth == refused ? 401 : 200;
    writer->Whole(status, {{"X-Auth", auth}}, status == 200 ? request.body : "who?");
  }
  std::string refused;  // Is set before the first request.
};

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override { Serve(MakeCertificate({}, authority_)); }

  void Serve(const Certificate& certificate, ServerOptions options = {}) {
    server_.reset();
    options.tls_cert_file = Write("cert", certificate.cert_pem);
    options.tls_key_file = Write("key", certificate.key_pem);
    auto started = StartServer(*server_loop_, handler_, options);
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
    return dir_ / name;
  }

  CurlOptions Trusting() {
    CurlOptions options;
    options.ca_pem = authority_.cert_pem;
    return options;
  }

  void Connect(CurlOptions options) {
    if (options.base_url.empty()) options.base_url = "https://127.0.0.1:" + std::to_string(server_->port());
    client_ = MakeCurlClient(*loop_, std::move(options));
  }

  absl::StatusOr<Response> Post(const std::string& body) {
    Request request;
    request.method = "POST";
    request.target = "/";
    request.body = body;
    return FetchAndWait(*loop_, *client_, std::move(request));
  }

  absl::StatusOr<Response> Do(CurlOptions options) {
    Connect(std::move(options));
    return Post(std::string(100'000, 't'));
  }

  static std::string AuthOf(const absl::StatusOr<Response>& response) {
    return response.ok() ? std::string(FindHeader(response->headers, "X-Auth")) : response.status().ToString();
  }

  TempDir dir_;
  const Certificate authority_ = MakeCertificate(kAuthority);
  EchoHandler handler_;
  std::unique_ptr<Loop> server_loop_ = MakeThreadLoop("server");
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("client");
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(TlsTest, TrustsACertificateByFileOrByText) {
  CurlOptions by_file;
  by_file.ca_file = Write("ca", authority_.cert_pem);
  for (const CurlOptions& options : {by_file, Trusting()}) {
    const auto response = Do(options);
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->body.size(), 100'000U);
  }
}

TEST_F(TlsTest, ARefusedServerIsNamedAndNothingIsSentToIt) {
  const Certificate stranger = MakeCertificate(kAuthority);
  CertificateSpec expired, early, elsewhere;
  expired.until = -absl::Minutes(1);
  early.from = absl::Hours(1);
  early.until = absl::Hours(2);
  elsewhere.alternative_names = "DNS:elsewhere";
  const struct {
    Certificate server;
    Failure failure;
    const char* words;
  } rows[] = {
      {MakeCertificate({}, stranger), Failure::kCertificateAuthority, "certificate: unknown authority: "},
      {MakeCertificate({}), Failure::kCertificateAuthority, "certificate: unknown authority: "},
      {MakeCertificate(expired, authority_), Failure::kCertificateExpired, "certificate: expired: "},
      {MakeCertificate(early, authority_), Failure::kCertificateNotYetValid, "certificate: not valid yet: "},
      {MakeCertificate(elsewhere, authority_), Failure::kCertificateName, "certificate: wrong host name: "},
  };
  for (const auto& row : rows) {
    Serve(row.server);
    const absl::Status status = Do(Trusting()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(FailureOf(status), row.failure) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(row.words));
    CurlOptions careless;
    careless.insecure_skip_verify = true;
    EXPECT_THAT(Do(careless), IsOk());
  }
}

TEST_F(TlsTest, OtherFailuresToConnectAreNamedToo) {
  CurlOptions none = Trusting();
  none.base_url = "https://127.0.0.1:1";
  EXPECT_EQ(FailureOf(Do(none).status()), Failure::kConnect);
  CurlOptions unreadable;
  unreadable.ca_file = dir_ / "absent";
  EXPECT_EQ(FailureOf(Do(unreadable).status()), Failure::kAuthorityUnreadable);
  CurlOptions own = Trusting();
  own.cert_file = dir_ / "absent";
  own.key_file = dir_ / "absent";
  EXPECT_EQ(FailureOf(Do(own).status()), Failure::kOwnCertificate);
  auto plain = StartServer(*server_loop_, handler_, {});
  ASSERT_THAT(plain, IsOk());
  CurlOptions tls = Trusting();
  tls.base_url = "https://127.0.0.1:" + std::to_string((*plain)->port());
  EXPECT_EQ(FailureOf(Do(tls).status()), Failure::kTls);
}

TEST_F(TlsTest, VerifiesAgainstAnotherNameWhereOneIsGiven) {
  CurlOptions options = Trusting();
  options.tls_server_name = "kubernetes";
  EXPECT_THAT(Do(options), IsOk());
  options.tls_server_name = "elsewhere";
  EXPECT_EQ(FailureOf(Do(options).status()), Failure::kCertificateName);
}

TEST_F(TlsTest, ReplacedAuthorityAndServerCertificateAreTakenOnNewConnections) {
  CurlOptions options;
  options.ca_file = Write("ca", authority_.cert_pem);
  EXPECT_THAT(Do(options), IsOk());
  const Certificate next = MakeCertificate(kAuthority);
  Write("ca", next.cert_pem);
  const uint16_t port = server_->port();
  ServerOptions same;
  same.port = port;
  Serve(MakeCertificate({}, next), same);
  // The first request may fail, since the kept connection is gone.
  Post("").IgnoreError();
  EXPECT_THAT(Post("x"), IsOk());
}

TEST_F(TlsTest, AClientCertificateIsShownWhereOneIsAskedFor) {
  ServerOptions asking;
  asking.tls_client_ca_file = Write("clients", authority_.cert_pem);
  Serve(MakeCertificate({}, authority_), asking);
  const Certificate mine = MakeCertificate({.common_name = "me", .alternative_names = ""}, authority_);
  CurlOptions options = Trusting();
  options.cert_pem = mine.cert_pem;
  options.key_pem = mine.key_pem;
  EXPECT_THAT(Do(options), IsOk());
  EXPECT_FALSE(Do(Trusting()).ok());
}

TEST_F(TlsTest, TakesTheTokenFromAFile) {
  CurlOptions options = Trusting();
  options.bearer_token = "given";
  options.bearer_token_file = Write("token", "from-a-file\n");
  EXPECT_EQ(AuthOf(Do(options)), "Bearer from-a-file");
}

TEST_F(TlsTest, ARefusedTokenIsReadAgainAndTheRequestGoesOutOnceMore) {
  handler_.refused = "Bearer old";
  CurlOptions options = Trusting();
  options.bearer_token_file = Write("token", "old");
  const auto first = Do(options);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->status, 401) << "there is no other";
  EXPECT_EQ(first->body, "who?");
  Write("token", "new");
  // The client reads the file at most once a second.
  while (true) {
    const auto second = Post("again");
    ASSERT_THAT(second, IsOk());
    if (second->status == 401) continue;
    EXPECT_EQ(second->body, "again");
    EXPECT_EQ(AuthOf(second), "Bearer new");
    break;
  }
}

TEST_F(TlsTest, WithoutATokenNothingIsSent) {
  CurlOptions options = Trusting();
  options.bearer_token_file = dir_ / "absent";
  const absl::Status status = Do(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(FailureOf(status), Failure::kCredentials);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("credentials: none"), HasSubstr("absent")));
}

TEST_F(TlsTest, APluginGivesATokenOrAClientCertificate) {
  ServerOptions asking;
  asking.tls_client_ca_file = Write("clients", authority_.cert_pem);
  Serve(MakeCertificate({}, authority_), asking);
  const Certificate mine = MakeCertificate({.common_name = "me", .alternative_names = ""}, authority_);
  std::string pem = mine.cert_pem, key = mine.key_pem;
  for (std::string* text : {&pem, &key}) {
    for (size_t at; (at = text->find('\n')) != std::string::npos;) text->replace(at, 1, "\\n");
  }
  const std::string path = Write("plugin",
                                 "#!/bin/sh\necho run >>\"$OUT\"\ncat <<'END'\n"
                                 R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                                 R"("status":{"token":"t","clientCertificateData":")" +
                                     pem + R"(","clientKeyData":")" + key + "\"}}\nEND\n");
  chmod(path.c_str(), 0700);
  CurlOptions options = Trusting();
  options.exec_plugin = ExecPlugin{.api_version = std::string(kExecV1), .command = path};
  options.exec_plugin->environment = {{"OUT", dir_ / "runs"}};
  EXPECT_EQ(AuthOf(Do(options)), "Bearer t");
  EXPECT_EQ(AuthOf(Post("x")), "Bearer t");
  std::ifstream runs(dir_ / "runs");
  std::string line, more;
  EXPECT_TRUE(std::getline(runs, line));
  EXPECT_FALSE(std::getline(runs, more)) << "it is run once for all requests";
}

TEST_F(TlsTest, AClientMayEndWhileItsPluginRuns) {
  const std::string path = Write("plugin", "#!/bin/sh\nexec sleep 1000\n");
  chmod(path.c_str(), 0700);
  CurlOptions options = Trusting();
  options.exec_plugin = ExecPlugin{.api_version = std::string(kExecV1), .command = path};
  Connect(options);
  std::promise<void> done;
  loop_->Post([&] {
    const auto call = Fetch(*client_, {}, [](const absl::StatusOr<Response>&) { FAIL(); });
    done.set_value();
  });
  done.get_future().wait();
  client_.reset();
}

TEST_F(TlsTest, FixedHeadersGoWithEveryRequest) {
  CurlOptions options = Trusting();
  options.headers = {{"Authorization", "Basic x"}};
  EXPECT_EQ(AuthOf(Do(options)), "Basic x");
}

TEST_F(TlsTest, MissingFilesAreRefusedAtTheStart) {
  ServerOptions options;
  options.tls_cert_file = dir_ / "absent";
  options.tls_key_file = dir_ / "key";
  EXPECT_EQ(StartServer(*server_loop_, handler_, options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::http
