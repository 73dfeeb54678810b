#include "common/rpc/grpc/credentials.h"

#include <fmt/format.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/rpc/grpc/library_log.h"
#include "common/rpc/grpc/library_tls.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/suite_channel.h"
#include "common/rpc/grpc/users.h"

namespace basalt::rpc {
namespace {

namespace tls = grpc::experimental;
using identity::Identity;
using identity::IdentityRules;

std::string ToText(grpc::string_ref text) { return {text.data(), text.size()}; }

// Verifies the clients of a gateway: members have certificates of the suite, users have some of Kubernetes or none.
class ClientVerifier final : public tls::ExternalCertificateVerifier {
 public:
  explicit ClientVerifier(std::shared_ptr<const Users> users) : users_(std::move(users)) {}
  ~ClientVerifier() override = default;

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    if (request->peer_cert().empty()) return true;
    // OpenSSL leaves the client's own certificate out of the chain.
    const std::string chain = ToText(request->peer_cert()) + ToText(request->peer_cert_full_chain());
    std::vector<std::string> uris;
    for (const grpc::string_ref& uri : request->uri_names()) uris.push_back(ToText(uri));
    *sync_status = ToGrpc(users_->CheckHandshake(uris, chain));
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::shared_ptr<const Users> users_;
};

// gRPC calls it on the thread of the call, before any handler.
class Authorizer final : public grpc::AuthMetadataProcessor {
 public:
  explicit Authorizer(std::shared_ptr<const CallGuard> guard) : guard_(std::move(guard)) {}
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const auto value = [&](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? "" : ToText(found->second);
    };
    return ToGrpc(guard_->CheckCall(*context, value(":path"), value(kUserTokenKey)));
  }

 private:
  const std::shared_ptr<const CallGuard> guard_;
};

class InsecureCredentials final : public Credentials {
 public:
  bool is_secure() const override { return false; }
  std::shared_ptr<grpc::ServerCredentials> ForServer(std::shared_ptr<const CallGuard>) const override {
    return grpc::InsecureServerCredentials();
  }
  std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t) const override {
    return grpc::InsecureChannelCredentials();
  }
  const Identity* self() const override { return nullptr; }
  std::shared_ptr<identity::DeniedList> denied() const override { return nullptr; }
  const TlsFiles* files() const override { return nullptr; }
  const IdentityRules* rules() const override { return nullptr; }
};

class TlsCredentials final : public Credentials {
 public:
  TlsCredentials(const TlsFiles& files, const IdentityRules& rules, Identity self)
      : files_(files),
        rules_(rules),
        self_(std::move(self)),
        provider_(std::make_shared<tls::FileWatcherCertificateProvider>(
            files.key, files.certificate, files.authorities,
            static_cast<unsigned>(std::max<int64_t>(absl::ToInt64Seconds(files.refresh), 1)))) {}

  bool is_secure() const override { return true; }

  std::shared_ptr<grpc::ServerCredentials> ForServer(std::shared_ptr<const CallGuard> guard) const override {
    tls::TlsServerCredentialsOptions options = ServerOptions(provider_);
    if (guard->users() == nullptr) {
      options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    } else if (!guard->users()->takes_certificates()) {
      options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    } else {
      // The handshake proves that the client has the key, and ClientVerifier decides whether the certificate is known.
      options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
      options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<ClientVerifier>(guard->users()));
    }
    std::shared_ptr<grpc::ServerCredentials> credentials = tls::TlsServerCredentials(options);
    credentials->SetAuthMetadataProcessor(std::make_shared<Authorizer>(std::move(guard)));
    return credentials;
  }

  std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const override {
    MutexLock lock(mutex_);
    std::shared_ptr<grpc::ChannelCredentials>& known = channels_[servers];
    if (known == nullptr) {
      known = MakeSuiteChannelCredentials(provider_, /*has_certificate=*/true, rules_, servers, denied_);
    }
    return known;
  }
  const Identity* self() const override { return &self_; }
  std::shared_ptr<identity::DeniedList> denied() const override { return denied_; }
  const TlsFiles* files() const override { return &files_; }
  const IdentityRules* rules() const override { return &rules_; }

 private:
  const TlsFiles files_;
  const IdentityRules rules_;
  const Identity self_;
  const std::shared_ptr<identity::DeniedList> denied_ = std::make_shared<identity::DeniedList>();
  mutable Mutex mutex_;
  mutable std::map<uint32_t, std::shared_ptr<grpc::ChannelCredentials>> channels_ BASALT_GUARDED_BY(mutex_);
  const std::shared_ptr<tls::FileWatcherCertificateProvider> provider_;
};

absl::Status In(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return MakeStatus(status.code(), fmt::format("{}: {}", path, ToStd(status.message())));
}

}  // namespace

absl::StatusOr<CheckedFiles> CheckFiles(const TlsFiles& files) {
  BASALT_ASSIGN_OR_RETURN(std::string certificate, identity::ReadSmallFile(files.certificate));
  BASALT_ASSIGN_OR_RETURN(std::string key, identity::ReadSmallFile(files.key));
  BASALT_ASSIGN_OR_RETURN(const std::string authorities, identity::ReadSmallFile(files.authorities));
  absl::StatusOr<identity::CertificateFacts> facts = identity::ReadCertificate(certificate);
  BASALT_RETURN_IF_ERROR(In(files.certificate, facts.status()));
  BASALT_RETURN_IF_ERROR(In(files.key, identity::CheckKey(certificate, key)));
  BASALT_RETURN_IF_ERROR(In(files.authorities, identity::CountCertificates(authorities).status()));
  return CheckedFiles{.facts = *std::move(facts), .own = {std::move(certificate), std::move(key)}};
}

std::shared_ptr<const Credentials> Credentials::Insecure() {
  static const std::shared_ptr<const Credentials> insecure = std::make_shared<InsecureCredentials>();
  return insecure;
}

absl::StatusOr<std::shared_ptr<const Credentials>> Credentials::FromFiles(const TlsFiles& files,
                                                                          const IdentityRules& rules) {
  BASALT_ASSIGN_OR_RETURN(const CheckedFiles checked, CheckFiles(files));
  absl::StatusOr<Identity> own = rules.IdentityOf(checked.facts.uris);
  if (!own.ok()) return In(files.certificate, Invalid(ToStd(own.status().message())));
  TakeOverGrpcLog();
  return std::make_shared<TlsCredentials>(files, rules, *std::move(own));
}

}  // namespace basalt::rpc
