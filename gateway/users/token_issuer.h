#pragma once

// Issues tokens of the suite to users of Kubernetes, and answers replicas' questions about users' rights. Confined to
// one loop.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/user.pb.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/identity/user_token.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "gateway/users/reviews.h"

namespace basalt::gateway {

// The functions of the surrounding process that the issuer needs. They are called on the loop.
struct UserKeys {
  std::string cluster;
  // UNAUTHENTICATED if the token does not count.
  std::function<absl::StatusOr<v1::UserClaims>(std::string_view token)> verify;
  // UNAUTHENTICATED if the chain is not one of a user.
  std::function<absl::Status(std::string_view chain_pem)> check_certificate;
  std::function<bool(std::string_view user)> is_denied;
  // Returns the statuses of identity::SignUserToken.
  std::function<absl::StatusOr<std::string>(const v1::UserClaims& claims)> sign;
  // Whether a user, or the host of a client, may make one more call now.
  std::function<bool(const std::string& whose)> allow;
  std::function<absl::Time()> now;  // The wall clock, which those who verify tokens use, too.
  // Receives the authorities that sign certificates of users, each time that they have changed.
  std::function<void(std::shared_ptr<const identity::Authorities> authorities)> set_authorities;
};

struct TokenIssuerOptions {
  ReviewOptions reviews;
  absl::Duration token_lifetime = identity::kLongestUserToken;
  absl::Duration authority_refresh = absl::Minutes(5);  // How often the cluster's client authority is read.
  absl::Duration authority_retry = absl::Seconds(10);   // How soon it is read again after a failure.
};

class TokenIssuer {
 public:
  // All references must outlive the issuer. The client authority is read at once, and then from time to time.
  TokenIssuer(Loop& loop, http::Client& client, obs::Metrics& metrics, UserKeys keys, TokenIssuerOptions options);
  ~TokenIssuer();

  // Returns the statuses that user.proto lists. `done` runs on the loop, and not after the end of the issuer.
  void LogIn(const v1::LogInRequest& request, const std::string& chain_pem, const std::string& host,
             rpc::Done<v1::LogInResponse> done);
  void ReviewAccess(const v1::ReviewAccessRequest& request, rpc::Done<v1::ReviewAccessResponse> done);

 private:
  absl::StatusOr<v1::UserClaims> UserOfCertificate(const std::string& chain_pem, absl::Time& until) const;
  absl::StatusOr<v1::LogInResponse> IssueToken(v1::UserClaims claims, absl::Time until) const;
  void ReadAuthority();

  Loop& loop_;
  http::Client& client_;
  const UserKeys keys_;
  const TokenIssuerOptions options_;
  Reviews reviews_;
  std::unique_ptr<http::Call> reading_;
  std::string authority_;  // The PEM text that was read last.
  std::string said_;  // The last failure to read the authority that was logged. Empty if the last attempt succeeded.
  TimerId timer_ = kNoTimer;
};

}  // namespace basalt::gateway
