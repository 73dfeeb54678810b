#include "common/shell/tls_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"
#include "common/rpc/grpc/credentials.h"

ABSL_FLAG(
    std::string, tls_cert_file, "",
    "certificate of this process and the chain up to its authority, in PEM; with it the gRPC port and all channels "
    "use mutual TLS, and --metrics_listen TLS that asks no client for a certificate. The files are read anew when they "
    "change");
ABSL_FLAG(std::string, tls_key_file, "", "private key of --tls_cert_file, in PEM");
ABSL_FLAG(std::string, tls_ca_file, "", "authorities that sign the certificates of peers, in PEM");
ABSL_FLAG(
    std::string, denied_identities_file, "",
    "identities that may call nothing, one URI on each line; a change counts within --tls_refresh, and ends streams "
    "that are open");
ABSL_FLAG(
    absl::Duration, tls_refresh, absl::Seconds(10),
    "how often certificate, key, authorities, the list of denied identities and the token of --metrics_token_file "
    "are read anew; from 1s to 1h");
ABSL_FLAG(std::string, trust_domain, "basalt.local",
          "trust domain of identities: spiffe://TRUST_DOMAIN/cluster/CLUSTER/role/ROLE/REPLICA");
ABSL_FLAG(std::vector<std::string>, identity_mapping, {},
          "identities of other issuers: PATH=ROLE, like ns/basalt-system/sa/basalt-jobsvc=jobsvc; several with commas "
          "between");

ABSL_FLAG(bool, kubernetes_users, false,
          "users of Kubernetes log in at a gateway, and may call what they may do in Kubernetes. Needs "
          "--tls_cert_file, for all gateways and services alike; clients without a certificate can connect then");
ABSL_FLAG(double, user_rate, 20, "calls a second that one user of Kubernetes may make; 0: no limit");
ABSL_FLAG(double, namespace_rate, 200,
          "calls a second that users of Kubernetes may make to objects of one namespace; 0: no limit");

namespace basalt::shell {

namespace {

constexpr double kBurst = 5;  // The burst allows the calls of so many seconds at once.

// A mapped certificate has no name, since it stands for every replica.
absl::Status CheckSelf(const identity::Identity& self, identity::Role role, std::string& replica) {
  if (self.role != role) {
    return Invalid(fmt::format("--tls_cert_file: the certificate is that of a {}, and the process is a {}",
                               identity::NameOf(self.role), identity::NameOf(role)));
  }
  if (replica.empty()) replica = self.replica;
  if (self.replica.empty() || self.replica == replica) return absl::OkStatus();
  return Invalid(fmt::format("--replica: the name is '{}', and '{}' in the certificate of --tls_cert_file",
                             Excerpt(replica), self.replica));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const rpc::Credentials>> CredentialsFromFlags(const std::string& cluster,
                                                                             identity::Role role,
                                                                             std::string& replica) {
  const rpc::TlsFiles files{.certificate = absl::GetFlag(FLAGS_tls_cert_file),
                            .key = absl::GetFlag(FLAGS_tls_key_file),
                            .authorities = absl::GetFlag(FLAGS_tls_ca_file),
                            .denied = absl::GetFlag(FLAGS_denied_identities_file),
                            .refresh = absl::GetFlag(FLAGS_tls_refresh)};
  const int given = !files.certificate.empty() + !files.key.empty() + !files.authorities.empty();
  std::vector<std::string> wrong;
  if (given != 0 && given != 3) wrong.push_back("--tls_cert_file, --tls_key_file and --tls_ca_file belong together");
  if (given == 0 && !files.denied.empty()) wrong.push_back("--denied_identities_file needs --tls_cert_file");
  if (files.refresh < absl::Seconds(1) || files.refresh > absl::Hours(1)) {
    wrong.push_back(fmt::format("--tls_refresh: {} is not between 1s and 1h", absl::FormatDuration(files.refresh)));
  }
  const std::string trust_domain = absl::GetFlag(FLAGS_trust_domain);
  if (!kube::IsDnsSubdomain(trust_domain)) {
    wrong.push_back(fmt::format("--trust_domain: '{}' is no DNS name", Excerpt(trust_domain)));
  }
  std::vector<identity::IdentityRules::Mapping> mappings;
  for (const std::string& text : absl::GetFlag(FLAGS_identity_mapping)) {
    absl::StatusOr<identity::IdentityRules::Mapping> mapping = identity::IdentityRules::ParseMapping(text);
    if (mapping.ok()) {
      mappings.push_back(*std::move(mapping));
    } else {
      wrong.push_back(fmt::format("--identity_mapping: {}", ToStd(mapping.status().message())));
    }
  }
  if (given != 0 && !kube::IsDnsLabel(cluster)) {
    wrong.push_back(fmt::format("--cluster: '{}' is no DNS label, as identities need it", Excerpt(cluster)));
  }
  if (!wrong.empty()) return Invalid(fmt::format("{}", fmt::join(wrong, "; ")));
  if (given == 0) return std::shared_ptr<const rpc::Credentials>();
  BASALT_ASSIGN_OR_RETURN(
      std::shared_ptr<const rpc::Credentials> credentials,
      rpc::Credentials::FromFiles(files, identity::IdentityRules(trust_domain, cluster, std::move(mappings))));
  BASALT_RETURN_IF_ERROR(CheckSelf(*credentials->self(), role, replica));
  return credentials;
}

absl::StatusOr<UserOptions> UsersFromFlags(const std::shared_ptr<const rpc::Credentials>& credentials) {
  std::vector<std::string> wrong;
  const auto bucket_of = [&](std::string_view flag, double rate) {
    if (!(rate >= 0 && rate <= 1e6)) wrong.push_back(fmt::format("--{}: {} is not between 0 and 1000000", flag, rate));
    return TokenBucketOptions{.per_second = rate, .burst = kBurst * rate};
  };
  UserOptions options;
  options.takes_users = absl::GetFlag(FLAGS_kubernetes_users);
  options.limits.user = bucket_of("user_rate", absl::GetFlag(FLAGS_user_rate));
  options.limits.per_namespace = bucket_of("namespace_rate", absl::GetFlag(FLAGS_namespace_rate));
  if (options.takes_users && credentials == nullptr) wrong.push_back("--kubernetes_users needs --tls_cert_file");
  if (!wrong.empty()) return Invalid(fmt::format("{}", fmt::join(wrong, "; ")));
  return options;
}

}  // namespace basalt::shell
