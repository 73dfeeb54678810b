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
  // `authorities` is a file of the suite's authorities, in PEM, which is read again every ten seconds. INVALID_ARGUMENT
  // names the file and the rule.
  static absl::StatusOr<std::unique_ptr<UserCredentials>> FromFile(const std::string& authorities,
                                                                   const identity::IdentityRules& rules);
  virtual ~UserCredentials() = default;

  // Returns credentials for UserService.LogIn: they trust only gateways, and do not send the user's token.
  // `certificate` is the one by which Kubernetes knows the user, and its key; both are empty if the client sends none.
  // INVALID_ARGUMENT names the text that cannot be used.
  virtual absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ForLogIn(
      const identity::KeyPair& certificate) const = 0;

  // Returns credentials for all other calls. Each call carries the token that is in force when the call begins; before
  // the first token calls end with UNAVAILABLE. They trust servers as Credentials::ForChannel does, and the client
  // sends no certificate. The same roles give the same credentials, so that channels to one address share their
  // connection.
  virtual std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const = 0;

  // Replaces the token, which is one of the suite (LogInResponse.token).
  virtual void SetToken(std::string token) = 0;
};

}  // namespace basalt::rpc
