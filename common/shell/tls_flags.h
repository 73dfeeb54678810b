#pragma once

// The certificate of a process, and whose certificates it believes: flags that all programs of the suite share.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/identity/identity.h"
#include "common/rpc/user_limits.h"

namespace basalt::rpc {
class Credentials;
}  // namespace basalt::rpc

namespace basalt::shell {

// Credentials of a process of that role in `cluster`. Null: no flag asks for TLS. `replica` is --replica: an empty one
// becomes the name in the certificate. Requires: the command line has been parsed. INVALID_ARGUMENT names all flags
// that are wrong, or the file and the rule, or the name or role in which process and certificate differ.
absl::StatusOr<std::shared_ptr<const rpc::Credentials>> CredentialsFromFlags(const std::string& cluster,
                                                                             identity::Role role, std::string& replica);

// Whether users of Kubernetes may call the process, and how often.
struct UserOptions {
  bool takes_users = false;
  rpc::UserLimits limits;
};

// Requires: the command line has been parsed. `credentials`: those of the process. INVALID_ARGUMENT names all flags
// that are wrong.
absl::StatusOr<UserOptions> UsersFromFlags(const std::shared_ptr<const rpc::Credentials>& credentials);

}  // namespace basalt::shell
