#pragma once

// A kubeconfig's exec plugin: a program that prints who we are. Its protocol is client.authentication.k8s.io/v1 and
// v1beta1: it is told of the cluster in KUBERNETES_EXEC_INFO and prints an ExecCredential.
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
  // What spec.cluster of KUBERNETES_EXEC_INFO holds, as JSON; empty = it is not told.
  std::string cluster_info;
  absl::Duration limit = absl::Minutes(1);
  bool operator==(const ExecPlugin&) const = default;
};

inline constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
inline constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";

// The value of KUBERNETES_EXEC_INFO. Never interactive: nobody sits before a server.
std::string ExecInfo(const ExecPlugin& plugin);

// INVALID_ARGUMENT names the field; no message holds a token or a key.
absl::StatusOr<FetchedIdentity> ParseExecCredential(std::string_view text, std::string_view api_version);

// Runs the plugin on a thread of its own, which ends with the source; a plugin that then runs is killed. Failures are
// UNAUTHENTICATED, with what the plugin wrote to standard error, and its install hint where it is not there.
std::unique_ptr<IdentitySource> MakeExecSource(ExecPlugin plugin);

}  // namespace basalt::http
