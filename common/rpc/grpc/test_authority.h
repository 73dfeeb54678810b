#pragma once

// Certificates of a test's suite: an authority of its own, and credentials of any process of one cluster.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "common/identity/user_token.h"
#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/library_tls.h"

namespace basalt::rpc {

inline identity::KeyPair ReadPair(const TlsFiles& files) {
  return {*identity::ReadSmallFile(files.certificate), *identity::ReadSmallFile(files.key)};
}

// Makes a token of a user that is a minute old and valid for `left`, provided that `signer` is a gateway of the
// cluster.
inline std::string MakeUserToken(const std::string& user, const std::string& cluster, const identity::KeyPair& signer,
                                 absl::Duration left = absl::Minutes(5)) {
  gateway::v1::UserClaims claims;
  claims.set_cluster(cluster);
  claims.set_user(user);
  claims.mutable_issue_time()->set_seconds(absl::ToUnixSeconds(absl::Now()) - 60);
  claims.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(absl::Now() + left));
  return *identity::SignUserToken(claims, signer);
}

class TestAuthority {
 public:
  TestAuthority(std::string folder, std::string cluster)
      : folder_(std::move(folder)), rules_("basalt.local", std::move(cluster)) {}

  const identity::IdentityRules& rules() const { return rules_; }

  // Writes the files of that process below the folder of the authority.
  TlsFiles FilesOf(identity::Role role, const std::string& replica) const {
    const identity::Identity own{rules_.trust_domain(), rules_.cluster(), role, replica};
    const http::testing::Certificate certificate = http::testing::MakeCertificate(
        {.common_name = replica, .alternative_names = "URI:" + identity::UriOf(own)}, authority_);
    const std::string folder = fmt::format("{}/{}-{}", folder_, identity::NameOf(role), replica);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/tls.crt") << certificate.cert_pem;
    std::ofstream(folder + "/tls.key") << certificate.key_pem;
    std::ofstream(folder + "/ca.crt") << authority_.cert_pem;
    return {.certificate = folder + "/tls.crt", .key = folder + "/tls.key", .authorities = folder + "/ca.crt"};
  }

  std::shared_ptr<const Credentials> CredentialsOf(identity::Role role, const std::string& replica) const {
    absl::StatusOr<std::shared_ptr<const Credentials>> made = Credentials::FromFiles(FilesOf(role, replica), rules_);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : nullptr;
  }

  // Returns the authorities as programs that verify tokens have them.
  std::shared_ptr<const identity::Authorities> authorities() const {
    return *identity::Authorities::FromPem(authority_.cert_pem);
  }
  const std::string& authority_pem() const { return authority_.cert_pem; }

  // Returns credentials of a server that takes clients without a certificate, too, and with one of any authority.
  std::shared_ptr<grpc::ServerCredentials> OpenServerOf(identity::Role role, const std::string& replica) const {
    const TlsFiles files = FilesOf(role, replica);
    grpc::experimental::TlsServerCredentialsOptions options =
        ServerOptions(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(files.key, files.certificate,
                                                                                           files.authorities, 10));
    options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
    return grpc::experimental::TlsServerCredentials(options);
  }

 private:
  const std::string folder_;
  const identity::IdentityRules rules_;
  // Each authority has a name of its own: of two with one name and without key identifiers OpenSSL considers only the
  // first.
  const http::testing::Certificate authority_ =
      http::testing::MakeCertificate({.common_name = "authority " + std::filesystem::path(folder_).filename().string(),
                                      .alternative_names = "",
                                      .authority = true});
};

}  // namespace basalt::rpc
