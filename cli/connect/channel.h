#pragma once

// How basaltctl calls the processes of the suite. One thread.
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

// All three files: an operator or a reader, by the certificate. `ca_file` alone: the user of the kubeconfig. None:
// without TLS.
struct TlsOptions {
  std::string cert_file;
  std::string key_file;
  std::string ca_file;
  std::string trust_domain = "basalt.local";
  std::vector<std::string> identity_mappings;  // PATH=ROLE.
  std::string cluster = "default";
  KubeconfigOptions kubeconfig;
};

// As long as it lives, channels that this process makes use these options, as they are when the first channel is made.
// Uses may overlap: the newest counts. Without any, channels have no TLS. `options` outlives it.
class UseOfTls {
 public:
  explicit UseOfTls(const TlsOptions& options);
  ~UseOfTls();
  UseOfTls(const UseOfTls&) = delete;
  UseOfTls& operator=(const UseOfTls&) = delete;

 private:
  const TlsOptions* const options_;
};

// To a server of that role; a user has to be logged in. INVALID_ARGUMENT names the option that is wrong, or the file
// and the rule.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, identity::Role server);

// Where the options mean the user of a kubeconfig, logs that user in at one of the gateways unless the calls have a
// token that counts for a minute more. Where they do not, OK. Errors: those of MakeChannel and of UserSession::LogIn.
absl::Status LogInUser(const std::string& gateways);

// For a call that was answered UNAUTHENTICATED. True: it was that of a user, whose token is a new one now. False: it
// was not.
absl::StatusOr<bool> LogInUserAgain(const std::string& gateways);

// Whom the servers take this process for, in words; logs a user in. Errors: those of LogInUser.
absl::StatusOr<std::string> WhoAmI(const std::string& gateways);

}  // namespace basalt::cli
