#pragma once

// The channels by which basaltctl calls the processes of the suite. One thread.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/connect/kube_user.h"
#include "common/identity/identity.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace basalt::cli {

// Who the caller is. With all three files: an operator or a reader, by the certificate. With `ca_file` alone: the user
// of the kubeconfig. Without files, channels have no TLS.
struct TlsOptions {
  std::string cert_file;
  std::string key_file;
  std::string ca_file;
  std::string trust_domain = "basalt.local";
  std::vector<std::string> identity_mappings;  // PATH=ROLE.
  std::string cluster = "default";
  KubeconfigOptions kubeconfig;
};

// While an object of this class lives, channels that this process makes use its options, which are read when the first
// channel is made. If several objects live, the newest counts. Without any, channels have no TLS. `options` outlives
// the object.
class UseOfTls {
 public:
  explicit UseOfTls(const TlsOptions& options);
  ~UseOfTls();
  UseOfTls(const UseOfTls&) = delete;
  UseOfTls& operator=(const UseOfTls&) = delete;

 private:
  const TlsOptions* const options_;
};

// Makes a channel to a server of this role. Requires of a user: LogInUser. INVALID_ARGUMENT names the invalid option,
// or the file and the rule.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, identity::Role server);

// Logs the user of the kubeconfig in at one of the gateways, unless the user has a token that counts for a minute more.
// Does nothing if the caller is no user of a kubeconfig. Errors: those of MakeChannel and of UserSession::LogIn.
absl::Status LogInUser(const std::string& gateways);

// Fetches a new token after a call was answered UNAUTHENTICATED. Returns true if the user has a new token now, false if
// the caller is no user of a kubeconfig.
absl::StatusOr<bool> LogInUserAgain(const std::string& gateways);

// Returns a text for people: the identity that the servers see in this process. Logs a user in. Errors: those of
// LogInUser.
absl::StatusOr<std::string> WhoAmI(const std::string& gateways);

}  // namespace basalt::cli
