#pragma once

// Channels of a user of Kubernetes: the client verifies that the server is one of the suite, and has no certificate of
// the suite itself. Any thread. Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/identity/identity.h"
#include "common/identity/issuer.h"

namespace basalt::rpc {

class UserCredentials {
 public:
  // `authorities`: a file of the suite's authorities, in PEM, which is read anew every ten seconds. INVALID_ARGUMENT
  // names the file and the rule.
  static absl::StatusOr<std::unique_ptr<UserCredentials>> FromFile(const std::string& authorities,
                                                                   const identity::IdentityRules& rules);
  virtual ~UserCredentials() = default;

  // For UserService.LogIn: gateways alone are believed, and the user's token is not sent. `certificate`: that by which
  // Kubernetes knows the user, and its key; both empty: the client shows none. INVALID_ARGUMENT says which of the texts
  // cannot be used.
  virtual absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ForLogIn(
      const identity::KeyPair& certificate) const = 0;

  // For all other calls, each of which carries the token that is in force when the call begins; before the first one
  // calls end with UNAVAILABLE. Believes servers as Credentials::ForChannel does, and the client shows no
  // certificate. The same roles give the same credentials: channels to one address share their connection.
  virtual std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const = 0;

  // A token of the suite (LogInResponse.token).
  virtual void SetToken(std::string token) = 0;
};

}  // namespace basalt::rpc
