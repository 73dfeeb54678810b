#pragma once

// Reads the flags, which all programs of the suite share, for the certificate of a process and the authorities that it
// trusts.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/identity/identity.h"
#include "common/rpc/user_limits.h"

namespace basalt::rpc {
class Credentials;
}  // namespace basalt::rpc

namespace basalt::shell {

// Returns the credentials of a process of that role in `cluster`. Null if no flag requests TLS. `replica` is --replica;
// an empty one becomes the name in the certificate. Requires: the command line has been parsed. INVALID_ARGUMENT names
// all wrong flags, or the file and the rule, or the name or role in which process and certificate differ.
absl::StatusOr<std::shared_ptr<const rpc::Credentials>> CredentialsFromFlags(const std::string& cluster,
                                                                             identity::Role role, std::string& replica);

// States whether users of Kubernetes may call the process, and how often.
struct UserOptions {
  bool takes_users = false;
  rpc::UserLimits limits;
};

// `credentials` are those of the process. INVALID_ARGUMENT names all wrong flags. Requires: the command line has been
// parsed.
absl::StatusOr<UserOptions> UsersFromFlags(const std::shared_ptr<const rpc::Credentials>& credentials);

}  // namespace basalt::shell
