#pragma once

// A kubeconfig's exec plugin: a program that prints our identity. Its protocol is client.authentication.k8s.io/v1 and
// v1beta1: KUBERNETES_EXEC_INFO describes the cluster to the plugin, which prints an ExecCredential.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/http/credentials/credentials.h"

namespace basalt::http {

struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string install_hint;
  // The value of spec.cluster in KUBERNETES_EXEC_INFO, as JSON. Empty if the plugin does not get it.
  std::string cluster_info;
  absl::Duration limit = absl::Minutes(1);
  bool operator==(const ExecPlugin&) const = default;
};

inline constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
inline constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";

// Returns the value of KUBERNETES_EXEC_INFO. `interactive` is always false, since a server has no user at a terminal.
std::string ExecInfo(const ExecPlugin& plugin);

// INVALID_ARGUMENT names the field. No message contains a token or a key.
absl::StatusOr<FetchedIdentity> ParseExecCredential(std::string_view text, std::string_view api_version);

// Returns a source that runs the plugin on its own thread, which ends with the source; a plugin that still runs then is
// killed. Failures are UNAUTHENTICATED. Their message contains the plugin's standard error, and its install hint if the
// program does not exist.
std::unique_ptr<IdentitySource> MakeExecSource(ExecPlugin plugin);

}  // namespace basalt::http
