#pragma once

// The certificates of a suite on this machine. Used by one thread.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/connect/channel.h"

namespace basalt::rpc {
class Credentials;
}  // namespace basalt::rpc

namespace basalt::dev {

class Certificates {
 public:
  // Makes the certificates that are missing in DIR, in the layout of basaltctl certs (cli/certs/folder.h). Clients of
  // this process (cli/connect) are an operator of the suite for as long as this object lives; the files outlive the
  // object.
  static absl::StatusOr<std::unique_ptr<Certificates>> Make(const std::string& dir, const std::string& cluster,
                                                            int replicas, int gateways);

  // Uses the certificates of another issuer in DIR, which has the same folders. `mapping` is written as for
  // --identity_mapping.
  static std::unique_ptr<Certificates> Use(const std::string& dir, const std::string& cluster,
                                           const std::string& mapping);

  // Returns the path of a process's "tls.crt", "tls.key" or "ca.crt".
  std::string FileOf(std::string_view program, std::string_view replica, std::string_view file) const;
  // Returns the credentials of a process. INVALID_ARGUMENT names the file that cannot be read.
  absl::StatusOr<std::shared_ptr<const rpc::Credentials>> CredentialsOf(const std::string& program,
                                                                        const std::string& replica) const;
  // Returns the TLS flags of a process.
  std::vector<std::string> FlagsFor(std::string_view program, std::string_view replica) const;
  // Returns the flags of basaltctl for an operator of the suite at these gateways. `certificates` is null without TLS.
  static std::vector<std::string> CtlFlags(const Certificates* certificates, const std::string& gateways);

 private:
  Certificates(const std::string& dir, const std::string& cluster);

  const std::string dir_;
  cli::TlsOptions operator_;
  const cli::UseOfTls use_{operator_};
};

}  // namespace basalt::dev
