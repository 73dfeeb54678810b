#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>

#include "common/http/curl/curl_client.h"
#include "common/http/server/beast_server.h"

namespace basalt::http {
namespace {

// A self-signed certificate for 127.0.0.1 and "kubernetes", valid for an hour.
void WriteCertificate(const std::string& cert_file, const std::string& key_file) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), -60);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key);
  X509_NAME* name = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(cert, name);
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, cert, cert, nullptr, nullptr, 0);
  for (const auto& [nid, value] : {std::pair{NID_subject_alt_name, "IP:127.0.0.1,DNS:kubernetes"},
                                   std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(cert, key, EVP_sha256());
  FILE* out = fopen(cert_file.c_str(), "w");
  PEM_write_X509(out, cert);
  fclose(out);
  out = fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  fclose(out);
  X509_free(cert);
  EVP_PKEY_free(key);
}

class EchoHandler : public Handler {
 public:
  void Handle(const Request& request, std::shared_ptr<ResponseWriter> writer) override {
    writer->Whole(200, {{"X-Auth", std::string(FindHeader(request.headers, "authorization"))}}, request.body);
  }
};

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "tlsXXXXXX";
    dir_ = mkdtemp(pattern.data());
    WriteCertificate(dir_ + "/cert", dir_ + "/key");
    WriteCertificate(dir_ + "/other", dir_ + "/otherkey");
    ServerOptions options;
    options.tls_cert_file = dir_ + "/cert";
    options.tls_key_file = dir_ + "/key";
    auto started = StartServer(*server_loop_, handler_, options);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  absl::StatusOr<Response> Do(CurlOptions options) {
    if (options.base_url.empty()) options.base_url = "https://127.0.0.1:" + std::to_string(server_->port());
    auto client = MakeCurlClient(*loop_, options);
    std::promise<absl::StatusOr<Response>> result;
    std::unique_ptr<Call> call;
    loop_->Post([&] {
      Request request;
      request.method = "POST";
      request.target = "/";
      request.body = std::string(100'000, 't');
      call = Fetch(*client, std::move(request), [&](absl::StatusOr<Response> r) { result.set_value(std::move(r)); });
    });
    absl::StatusOr<Response> response = result.get_future().get();
    std::promise<void> done;
    loop_->Post([&] {
      call.reset();
      done.set_value();
    });
    done.get_future().wait();
    return response;
  }

  std::string Text(const std::string& name) {
    std::ifstream file(dir_ + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string dir_;
  std::unique_ptr<Loop> server_loop_ = MakeThreadLoop("server");
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("client");
  EchoHandler handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, TrustsACertificateByFileOrByText) {
  CurlOptions by_file, by_text;
  by_file.ca_file = dir_ + "/cert";
  by_text.ca_pem = Text("cert");
  for (const CurlOptions& options : {by_file, by_text}) {
    const auto response = Do(options);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->body.size(), 100'000U);
  }
}

TEST_F(TlsTest, RefusesAnUnknownCertificateBeforeAnythingIsSent) {
  CurlOptions options;
  options.ca_file = dir_ + "/other";
  EXPECT_EQ(Do(options).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Do({}).status().code(), absl::StatusCode::kUnavailable);
  CurlOptions careless;
  careless.insecure_skip_verify = true;
  EXPECT_TRUE(Do(careless).ok());
}

TEST_F(TlsTest, VerifiesAgainstAnotherNameWhereOneIsGiven) {
  CurlOptions options;
  options.ca_file = dir_ + "/cert";
  options.tls_server_name = "kubernetes";
  EXPECT_TRUE(Do(options).ok()) << Do(options).status();
  options.tls_server_name = "elsewhere";
  EXPECT_EQ(Do(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TlsTest, TakesTheTokenFromAFile) {
  std::ofstream(dir_ + "/token") << "from-a-file\n";
  CurlOptions options;
  options.ca_file = dir_ + "/cert";
  options.bearer_token = "given";
  options.bearer_token_file = dir_ + "/token";
  const auto response = Do(options);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(FindHeader(response->headers, "X-Auth"), "Bearer from-a-file");
}

TEST_F(TlsTest, MissingFilesAreRefusedAtTheStart) {
  ServerOptions options;
  options.tls_cert_file = dir_ + "/absent";
  options.tls_key_file = dir_ + "/key";
  EXPECT_EQ(StartServer(*server_loop_, handler_, options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::http
