#include "cli/connect/kube_user.h"

#include <fmt/format.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/exec/loop.h"
#include "common/http/credentials/exec_plugin.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/identity/certificate.h"

namespace basalt::cli {
namespace {

constexpr char kCure[] = "name another with --kubeconfig or --context, or give --tls-cert-file and --tls-key-file";

absl::StatusOr<std::string> TextOrFile(const std::string& text, const std::string& file) {
  if (!text.empty() || file.empty()) return text;
  return identity::ReadSmallFile(file);
}

absl::StatusOr<http::Identity> Fetch(const http::CurlOptions& options) {
  const std::unique_ptr<Loop> time = MakeThreadLoop("kube-user");
  std::promise<absl::StatusOr<http::FetchedIdentity>> fetched;
  const std::unique_ptr<http::IdentitySource> source =
      options.exec_plugin ? http::MakeExecSource(*options.exec_plugin)
                          : http::MakeTokenFileSource(*time, options.bearer_token_file);
  source->Fetch([&](absl::StatusOr<http::FetchedIdentity> got) { fetched.set_value(std::move(got)); });
  BASALT_ASSIGN_OR_RETURN(http::FetchedIdentity got, fetched.get_future().get());
  return std::move(got.identity);
}

}  // namespace

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<KubeUser> ReadKubeUser(const KubeconfigOptions& options, const http::Environment& environment,
                                      const std::string& service_account) {
  std::string files = options.files.empty() ? environment("KUBECONFIG") : options.files;
  const bool is_named = !files.empty() || !options.context.empty();
  if (files.empty()) files = environment("HOME") + "/.kube/config";
  absl::StatusOr<http::CurlOptions> read = http::ReadKubeconfigs(files, options.context);
  if (absl::IsNotFound(read.status())) {
    if (!is_named) {
      read = http::InClusterOptions(environment("KUBERNETES_SERVICE_HOST"), environment("KUBERNETES_SERVICE_PORT"),
                                    service_account);
      if (read.ok()) return KubeUser{*std::move(read), "the service account of this pod"};
    }
    return Invalid(fmt::format("no kubeconfig can be read at {}: name one with --kubeconfig or KUBECONFIG", files));
  }
  BASALT_RETURN_IF_ERROR(read.status());
  return KubeUser{*std::move(read), options.context.empty() ? "the current context of " + files
                                                            : fmt::format("context {} of {}", options.context, files)};
}

absl::Status CheckKubeUser(const KubeUser& user) {
  const http::CurlOptions& options = user.options;
  if (!options.headers.empty()) {
    // The kubeconfig's only headers are those of impersonation. The first one names the user.
    return Invalid(
        fmt::format("the user of {} acts as another, as: {}, and the suite takes users as themselves alone: {}",
                    user.name, options.headers.front().second, kCure));
  }
  const bool has_proof = !options.bearer_token.empty() || !options.bearer_token_file.empty() || options.exec_plugin ||
                         !options.cert_pem.empty() || !options.cert_file.empty();
  if (has_proof) return absl::OkStatus();
  return Invalid(
      fmt::format("{} has no user with a token, an exec plugin or a client certificate: {}", user.name, kCure));
}

absl::StatusOr<http::Identity> ProofOf(const KubeUser& user) {
  const http::CurlOptions& options = user.options;
  http::Identity proof{.token = options.bearer_token};
  if (options.exec_plugin || !options.bearer_token_file.empty()) {
    BASALT_ASSIGN_OR_RETURN(proof, Fetch(options));
  } else if (proof.token.empty()) {
    BASALT_ASSIGN_OR_RETURN(proof.cert_pem, TextOrFile(options.cert_pem, options.cert_file));
    BASALT_ASSIGN_OR_RETURN(proof.key_pem, TextOrFile(options.key_pem, options.key_file));
  }
  // A gateway ignores the certificate if there is a token.
  if (!proof.token.empty()) return http::Identity{.token = std::move(proof.token)};
  return proof;
}

}  // namespace basalt::cli
