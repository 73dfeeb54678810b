#pragma once

// How basaltctl calls the processes of the suite. One thread.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/identity/identity.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace basalt::cli {

struct TlsOptions {
  std::string cert_file;  // Empty, as the two that follow: without TLS.
  std::string key_file;
  std::string ca_file;
  std::string trust_domain = "basalt.local";
  std::vector<std::string> identity_mappings;  // PATH=ROLE.
  std::string cluster = "default";
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

// To a server of that role. INVALID_ARGUMENT names the option that is wrong, or the file and the rule.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, identity::Role server);

}  // namespace basalt::cli
