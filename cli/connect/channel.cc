#include "cli/connect/channel.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/rights.h"
#include "common/kube/name_rules.h"
#include "common/rpc/grpc/credentials.h"
#include "common/rpc/grpc/library_log.h"

namespace basalt::cli {
namespace {

using Loaded = absl::StatusOr<std::shared_ptr<const rpc::Credentials>>;

struct Uses {
  std::vector<const TlsOptions*> options;  // Oldest first.
  std::optional<Loaded> loaded;  // Of the newest, with the first channel: a command that asks nobody needs no file.
};

Uses& InUse() {
  static Uses uses;
  return uses;
}

Loaded Load(const TlsOptions& options) {
  const int given = !options.cert_file.empty() + !options.key_file.empty() + !options.ca_file.empty();
  if (given == 0) return rpc::Credentials::Insecure();
  if (given != 3) return Invalid("--tls-cert-file, --tls-key-file and --tls-ca-file belong together");
  if (!kube::IsDnsSubdomain(options.trust_domain)) return Invalid("--trust-domain has to be a DNS name");
  std::vector<identity::IdentityRules::Mapping> mappings;
  for (const std::string& text : options.identity_mappings) {
    BASALT_ASSIGN_OR_RETURN(identity::IdentityRules::Mapping mapping, identity::IdentityRules::ParseMapping(text));
    mappings.push_back(std::move(mapping));
  }
  return rpc::Credentials::FromFiles(
      {.certificate = options.cert_file, .key = options.key_file, .authorities = options.ca_file},
      identity::IdentityRules(options.trust_domain, options.cluster, std::move(mappings)));
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
  Uses& use = InUse();
  if (!use.loaded) use.loaded = Load(use.options.empty() ? TlsOptions() : *use.options.back());
  if (!use.loaded->ok()) return use.loaded->status();
  rpc::TakeOverGrpcLog();
  grpc::ChannelArguments arguments;
  // A page of jobs with their templates may be larger than gRPC's own bound of 4 MiB.
  arguments.SetMaxReceiveMessageSize(256 << 20);
  return grpc::CreateCustomChannel(address, (**use.loaded)->ForChannel(identity::Only({server})), arguments);
}

}  // namespace basalt::cli
