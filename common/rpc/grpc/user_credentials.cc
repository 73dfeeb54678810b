#include "common/rpc/grpc/user_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>

#include <map>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/identity/denied.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/construction_fence.h"
#include "common/rpc/grpc/library_log.h"
#include "common/rpc/grpc/suite_channel.h"
#include "common/rpc/grpc/user_token_key.h"

namespace basalt::rpc {
namespace {

constexpr unsigned kRefreshSeconds = 10;

class HeldToken {
 public:
  void Set(std::string token) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    token_ = std::move(token);
  }
  std::string Get() const BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return token_;
  }

 private:
  mutable Mutex mutex_;
  std::string token_ BASALT_GUARDED_BY(mutex_);
};

// gRPC asks the plugin for each call, once the handshake is over and the server is verified.
class TokenPlugin final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenPlugin(std::shared_ptr<const HeldToken> token) : token_(std::move(token)) { constructed_.Release(); }
  ~TokenPlugin() override { constructed_.Acquire(); }
  bool IsBlocking() const override { return false; }
  const char* GetType() const override { return "basalt-user-token"; }
  std::string DebugString() override { return GetType(); }
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<std::string, std::string>* metadata) override {
    constructed_.Acquire();
    std::string token = token_->Get();
    if (token.empty()) return {grpc::StatusCode::UNAVAILABLE, "the user has not logged in"};
    metadata->emplace(kUserTokenKey, std::move(token));
    return grpc::Status::OK;
  }

 private:
  const std::shared_ptr<const HeldToken> token_;
  ConstructionFence constructed_;
};

class TlsUserCredentials final : public UserCredentials {
 public:
  TlsUserCredentials(const std::string& authorities, const identity::IdentityRules& rules)
      : authorities_(authorities), rules_(rules) {}

  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ForLogIn(
      const identity::KeyPair& certificate) const override {
    namespace tls = grpc::experimental;
    BASALT_ASSIGN_OR_RETURN(const std::string authorities, identity::ReadSmallFile(authorities_));
    const bool has_certificate = !certificate.certificate_pem.empty();
    if (has_certificate) {
      BASALT_RETURN_IF_ERROR(identity::CheckKey(certificate.certificate_pem, certificate.key_pem));
    }
    BASALT_ASSIGN_OR_RETURN(const TlsProvider provider, MakeFixedProvider(authorities, certificate));
    return MakeSuiteChannelCredentials(provider, has_certificate, rules_, identity::Only({identity::Role::kGateway}),
                                       denied_);
  }

  std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const override {
    MutexLock lock(mutex_);
    std::shared_ptr<grpc::ChannelCredentials>& known = channels_[servers];
    if (known == nullptr) {
      known = grpc::CompositeChannelCredentials(
          MakeSuiteChannelCredentials(provider_, /*has_certificate=*/false, rules_, servers, denied_), plugin_);
    }
    return known;
  }

  void SetToken(std::string token) override { token_->Set(std::move(token)); }

 private:
  const std::string authorities_;
  const identity::IdentityRules rules_;
  // Always empty.
  const std::shared_ptr<const identity::DeniedList> denied_ = std::make_shared<identity::DeniedList>();
  const std::shared_ptr<HeldToken> token_ = std::make_shared<HeldToken>();
  const std::shared_ptr<grpc::CallCredentials> plugin_ =
      grpc::MetadataCredentialsFromPlugin(std::make_unique<TokenPlugin>(token_));
  mutable Mutex mutex_;
  mutable std::map<uint32_t, std::shared_ptr<grpc::ChannelCredentials>> channels_ BASALT_GUARDED_BY(mutex_);
  const std::shared_ptr<grpc::experimental::FileWatcherCertificateProvider> provider_ =
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(authorities_, kRefreshSeconds);
};

}  // namespace

absl::StatusOr<std::unique_ptr<UserCredentials>> UserCredentials::FromFile(const std::string& authorities,
                                                                           const identity::IdentityRules& rules) {
  BASALT_ASSIGN_OR_RETURN(const std::string text, identity::ReadSmallFile(authorities));
  if (const absl::Status status = identity::CountCertificates(text).status(); !status.ok()) {
    return Annotate(status, authorities);
  }
  TakeOverGrpcLog();
  return std::make_unique<TlsUserCredentials>(authorities, rules);
}

}  // namespace basalt::rpc
