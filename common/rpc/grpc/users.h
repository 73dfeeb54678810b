#pragma once

// The users of Kubernetes that a server knows: by a token of the suite, and at a gateway by a certificate of the
// cluster's client authority. Any thread; calls may be repeated. Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/identity/denied.h"
#include "common/identity/identity.h"
#include "common/identity/user_token.h"
#include "common/rpc/grpc/user_token_key.h"
#include "common/time/keyed_rate.h"

namespace basalt::rpc {

class Users {
 public:
  // `denied` is the list of the process. `takes_certificates`: the server is a gateway's. `rate` limits the calls of
  // one user.
  Users(identity::IdentityRules rules, std::shared_ptr<const identity::DeniedList> denied, bool takes_certificates,
        const TokenBucketOptions& rate)
      : rules_(std::move(rules)), denied_(std::move(denied)), takes_certificates_(takes_certificates), rate_(rate) {}

  // Replaces the authorities of the suite. Before the first ones no token is valid.
  void SetSuite(std::shared_ptr<const identity::Authorities> authorities) BASALT_EXCLUDES(mutex_);
  // Replaces the authorities that sign the certificates of users. Before the first ones no such certificate is valid.
  void SetKubernetes(std::shared_ptr<const identity::Authorities> authorities) BASALT_EXCLUDES(mutex_);
  bool takes_certificates() const { return takes_certificates_; }

  // Returns the time of the wall clock, in which tokens and certificates state their validity.
  static absl::Time Now();

  // UNAUTHENTICATED states why the token is not valid now.
  absl::StatusOr<gateway::v1::UserClaims> Verify(std::string_view token) const;
  bool IsDenied(std::string_view user) const { return denied_->Has({identity::UriOfUser(user)}); }
  // Returns whether `whose` may make one more call now, and counts that call. `now` never goes back.
  bool AllowCall(const std::string& whose, absl::Time now) BASALT_EXCLUDES(mutex_);

  // Certificate and key of this process, as they were last read; they belong together. Empty texts before the first
  // SetOwn.
  void SetOwn(identity::KeyPair own) BASALT_EXCLUDES(mutex_);
  identity::KeyPair own() const BASALT_EXCLUDES(mutex_);

  // Checks the certificate of a client in a handshake. UNAUTHENTICATED: the chain leads neither to the suite's
  // authorities nor to those of users, or the certificate states an identity of the suite that the suite has not given.
  absl::Status CheckHandshake(const std::vector<std::string>& uris, std::string_view chain_pem) const;
  // Returns whether the chain is one of a user. UNAUTHENTICATED states why not.
  absl::Status CheckUserCertificate(std::string_view chain_pem) const;

 private:
  std::shared_ptr<const identity::Authorities> suite() const BASALT_EXCLUDES(mutex_);
  std::shared_ptr<const identity::Authorities> kubernetes() const BASALT_EXCLUDES(mutex_);

  const identity::IdentityRules rules_;
  const std::shared_ptr<const identity::DeniedList> denied_;
  const bool takes_certificates_;
  mutable Mutex mutex_;
  KeyedRate rate_ BASALT_GUARDED_BY(mutex_);
  identity::KeyPair own_ BASALT_GUARDED_BY(mutex_);
  std::shared_ptr<const identity::Authorities> suite_ BASALT_GUARDED_BY(mutex_);
  std::shared_ptr<const identity::Authorities> kubernetes_ BASALT_GUARDED_BY(mutex_);
};

// Returns the token that the client of a call has sent, unchecked. Empty if there is none.
std::string UserTokenOf(const grpc::ServerContextBase& context);
// Returns the claims of a token, without checking the signature. Empty if they cannot be read.
gateway::v1::UserClaims ClaimsIn(std::string_view token);

}  // namespace basalt::rpc
