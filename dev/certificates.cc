#include "dev/certificates.h"

#include <fmt/format.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/certs/folder.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc/credentials.h"

namespace basalt::dev {

absl::StatusOr<std::unique_ptr<Certificates>> Certificates::Make(const std::string& dir, const std::string& cluster,
                                                                 int replicas, int gateways) {
  std::unique_ptr<Certificates> made(new Certificates(dir, cluster));
  const cli::SuiteShape shape{
      .trust_domain = made->operator_.trust_domain, .cluster = cluster, .replicas = replicas, .gateways = gateways};
  BASALT_RETURN_IF_ERROR(cli::InitSuite(dir, shape, absl::Now(), {}).status());
  return made;
}

std::unique_ptr<Certificates> Certificates::Use(const std::string& dir, const std::string& cluster,
                                                const std::string& mapping) {
  std::unique_ptr<Certificates> used(new Certificates(dir, cluster));
  used->operator_.identity_mappings = absl::StrSplit(mapping, ',', absl::SkipEmpty());
  return used;
}

Certificates::Certificates(const std::string& dir, const std::string& cluster) : dir_(dir) {
  operator_.cert_file = FileOf("operator", "operator", "tls.crt");
  operator_.key_file = FileOf("operator", "operator", "tls.key");
  operator_.ca_file = FileOf("operator", "operator", "ca.crt");
  operator_.cluster = cluster;
}

std::string Certificates::FileOf(std::string_view program, std::string_view replica, std::string_view file) const {
  return fmt::format("{}/{}/{}/{}", dir_, program, replica, file);
}

absl::StatusOr<std::shared_ptr<const rpc::Credentials>> Certificates::CredentialsOf(const std::string& program,
                                                                                    const std::string& replica) const {
  return rpc::Credentials::FromFiles({.certificate = FileOf(program, replica, "tls.crt"),
                                      .key = FileOf(program, replica, "tls.key"),
                                      .authorities = FileOf(program, replica, "ca.crt")},
                                     identity::IdentityRules(operator_.trust_domain, operator_.cluster));
}

std::vector<std::string> Certificates::FlagsFor(std::string_view program, std::string_view replica) const {
  std::vector<std::string> flags = {"--tls_cert_file=" + FileOf(program, replica, "tls.crt"),
                                    "--tls_key_file=" + FileOf(program, replica, "tls.key"),
                                    "--tls_ca_file=" + FileOf(program, replica, "ca.crt")};
  if (!operator_.identity_mappings.empty()) {
    flags.push_back("--identity_mapping=" + absl::StrJoin(operator_.identity_mappings, ","));
  }
  return flags;
}

std::vector<std::string> Certificates::CtlFlags(const Certificates* certificates, const std::string& gateways) {
  std::vector<std::string> flags = {"--gateway=" + gateways};
  if (certificates == nullptr) return flags;
  const cli::TlsOptions& tls = certificates->operator_;
  flags.insert(flags.end(), {"--tls-cert-file=" + tls.cert_file, "--tls-key-file=" + tls.key_file,
                             "--tls-ca-file=" + tls.ca_file, "--cluster=" + tls.cluster});
  if (!tls.identity_mappings.empty()) {
    flags.push_back("--identity-mapping=" + absl::StrJoin(tls.identity_mappings, ","));
  }
  return flags;
}

}  // namespace basalt::dev
