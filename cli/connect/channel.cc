#include "cli/connect/channel.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/connect/user_session.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/rights.h"
#include "common/kube/name_rules.h"
#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/library_log.h"

namespace basalt::cli {
namespace {

// Exactly one of the pointers is set.
struct Caller {
  std::shared_ptr<const rpc::Credentials> credentials;
  std::unique_ptr<UserSession> user;
};
using Loaded = absl::StatusOr<Caller>;

struct Uses {
  std::vector<const TlsOptions*> options;  // Oldest first.
  // The caller of the newest options. Loaded with the first channel, since a command that calls no server needs no
  // files.
  std::optional<Loaded> loaded;
};

Uses& InUse() {
  static Uses uses;
  return uses;
}

absl::StatusOr<std::unique_ptr<UserSession>> OpenSession(const TlsOptions& options,
                                                         const identity::IdentityRules& rules) {
  absl::StatusOr<KubeUser> user = ReadKubeUser(options.kubeconfig);
  if (!user.ok()) return Annotate(user.status(), "--tls-ca-file alone means the user of the kubeconfig");
  BASALT_RETURN_IF_ERROR(CheckKubeUser(*user));
  BASALT_ASSIGN_OR_RETURN(std::unique_ptr<rpc::UserCredentials> credentials,
                          rpc::UserCredentials::FromFile(options.ca_file, rules));
  return std::make_unique<UserSession>(*std::move(user), std::move(credentials));
}

Loaded Load(const TlsOptions& options) {
  const bool has_cert = !options.cert_file.empty();
  const bool has_ca = !options.ca_file.empty();
  if (has_cert != !options.key_file.empty() || (has_cert && !has_ca)) {
    return Invalid(
        "--tls-cert-file, --tls-key-file and --tls-ca-file belong together; --tls-ca-file alone means the user of the "
        "kubeconfig");
  }
  Caller caller;
  if (!has_ca) {
    caller.credentials = rpc::Credentials::Insecure();
    return caller;
  }
  if (!kube::IsDnsSubdomain(options.trust_domain)) return Invalid("--trust-domain has to be a DNS name");
  std::vector<identity::IdentityRules::Mapping> mappings;
  for (const std::string& text : options.identity_mappings) {
    BASALT_ASSIGN_OR_RETURN(identity::IdentityRules::Mapping mapping, identity::IdentityRules::ParseMapping(text));
    mappings.push_back(std::move(mapping));
  }
  const identity::IdentityRules rules(options.trust_domain, options.cluster, std::move(mappings));
  if (has_cert) {
    BASALT_ASSIGN_OR_RETURN(
        caller.credentials,
        rpc::Credentials::FromFiles(
            {.certificate = options.cert_file, .key = options.key_file, .authorities = options.ca_file}, rules));
  } else {
    BASALT_ASSIGN_OR_RETURN(caller.user, OpenSession(options, rules));
  }
  return caller;
}

absl::StatusOr<Caller*> LoadedCaller() {
  Uses& use = InUse();
  if (!use.loaded) use.loaded = Load(use.options.empty() ? TlsOptions() : *use.options.back());
  if (!use.loaded->ok()) return use.loaded->status();
  return &**use.loaded;
}

}  // namespace

UseOfTls::UseOfTls(const TlsOptions& options) : options_(&options) {
  InUse().options.push_back(options_);
  InUse().loaded.reset();
}

UseOfTls::~UseOfTls() {
  std::erase(InUse().options, options_);
  InUse().loaded.reset();
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, identity::Role server) {
  BASALT_ASSIGN_OR_RETURN(const Caller* const caller, LoadedCaller());
  rpc::TakeOverGrpcLog();
  grpc::ChannelArguments arguments;
  // A page of jobs with their templates may be larger than gRPC's own limit of 4 MiB.
  arguments.SetMaxReceiveMessageSize(256 << 20);
  // Find a gateway that restarts soon. By default gRPC waits up to two minutes between two attempts.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  const uint32_t servers = identity::Only({server});
  return grpc::CreateCustomChannel(
      address, caller->user != nullptr ? caller->user->ForChannel(servers) : caller->credentials->ForChannel(servers),
      arguments);
}

absl::Status LogInUser(const std::string& gateways) {
  BASALT_ASSIGN_OR_RETURN(const Caller* const caller, LoadedCaller());
  return caller->user == nullptr ? absl::OkStatus() : caller->user->LogIn(gateways, absl::Now());
}

absl::StatusOr<bool> LogInUserAgain(const std::string& gateways) {
  BASALT_ASSIGN_OR_RETURN(const Caller* const caller, LoadedCaller());
  if (caller->user == nullptr) return false;
  caller->user->Forget();
  BASALT_RETURN_IF_ERROR(caller->user->LogIn(gateways, absl::Now()));
  return true;
}

absl::StatusOr<std::string> WhoAmI(const std::string& gateways) {
  BASALT_RETURN_IF_ERROR(LogInUser(gateways));
  BASALT_ASSIGN_OR_RETURN(const Caller* const caller, LoadedCaller());
  if (caller->user != nullptr) {
    return fmt::format("user {} of Kubernetes; the token ends {}", caller->user->user(),
                       absl::FormatTime(absl::RFC3339_sec, caller->user->expires(), absl::UTCTimeZone()));
  }
  if (!caller->credentials->is_secure()) return "nobody: channels without TLS state no identity";
  const identity::Identity& self = *caller->credentials->self();
  return fmt::format("{} {} by the certificate", identity::NameOf(self.role), self.replica);
}

}  // namespace basalt::cli
