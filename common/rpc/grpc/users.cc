#include "common/rpc/grpc/users.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"

namespace basalt::rpc {

namespace {

absl::Status Unknown(std::string_view why) { return MakeStatus(absl::StatusCode::kUnauthenticated, why); }

}  // namespace

void Users::SetSuite(std::shared_ptr<const identity::Authorities> authorities) {
  MutexLock lock(mutex_);
  suite_ = std::move(authorities);
}

void Users::SetKubernetes(std::shared_ptr<const identity::Authorities> authorities) {
  MutexLock lock(mutex_);
  kubernetes_ = std::move(authorities);
}

std::shared_ptr<const identity::Authorities> Users::suite() const {
  MutexLock lock(mutex_);
  return suite_;
}

std::shared_ptr<const identity::Authorities> Users::kubernetes() const {
  MutexLock lock(mutex_);
  return kubernetes_;
}

absl::StatusOr<gateway::v1::UserClaims> Users::Verify(std::string_view token) const {
  const std::shared_ptr<const identity::Authorities> authorities = suite();
  if (authorities == nullptr) return Unknown("the authorities of this suite are not read yet");
  std::vector<std::string> gateway;
  absl::StatusOr<gateway::v1::UserClaims> claims = authorities->VerifyUserToken(token, rules_, Now(), &gateway);
  if (!claims.ok()) return claims;
  if (denied_->Has(gateway)) return Unknown("the gateway that signed the user's token is denied");
  if (IsDenied(claims->user())) return Unknown("the user is denied (--denied_identities_file)");
  return claims;
}

absl::Time Users::Now() { return absl::Now(); }

bool Users::AllowCall(const std::string& whose, absl::Time now) {
  MutexLock lock(mutex_);
  return rate_.Allow(whose, now);
}

void Users::SetOwn(identity::KeyPair own) {
  MutexLock lock(mutex_);
  own_ = std::move(own);
}

identity::KeyPair Users::own() const {
  MutexLock lock(mutex_);
  return own_;
}

absl::Status Users::CheckHandshake(const std::vector<std::string>& uris, std::string_view chain_pem) const {
  const std::shared_ptr<const identity::Authorities> authorities = suite();
  if (authorities != nullptr && authorities->VerifyClient(chain_pem, Now()).ok()) return absl::OkStatus();
  // The authority of users signs what they request, so it must not turn a user into a member.
  for (const std::string& uri : uris) {
    if (uri.starts_with("spiffe://")) {
      return Unknown("the certificate of the client states an identity, and is not of an authority of this suite");
    }
  }
  return CheckUserCertificate(chain_pem);
}

absl::Status Users::CheckUserCertificate(std::string_view chain_pem) const {
  const std::shared_ptr<const identity::Authorities> authorities = kubernetes();
  if (authorities == nullptr) return Unknown("the client authority of the cluster is not known yet");
  return authorities->VerifyClient(chain_pem, Now());
}

std::string UserTokenOf(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto token = metadata.find(kUserTokenKey);
  return token == metadata.end() ? "" : std::string(token->second.data(), token->second.size());
}

gateway::v1::UserClaims ClaimsIn(std::string_view token) {
  gateway::v1::UserToken read;
  gateway::v1::UserClaims claims;
  if (!read.ParseFromArray(token.data(), static_cast<int>(token.size())) || !claims.ParseFromString(read.claims())) {
    claims.Clear();
  }
  return claims;
}

}  // namespace basalt::rpc
