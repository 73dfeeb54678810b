#pragma once

// The user of a kubeconfig: which files are read, who the user is, and how the user proves the identity. One thread.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/credentials/credentials.h"
#include "common/http/curl/curl_client.h"
#include "common/http/proxy.h"

namespace basalt::cli {

struct KubeconfigOptions {
  std::string files;    // Paths separated by ':'. $KUBECONFIG if empty, or else ~/.kube/config.
  std::string context;  // The current context if empty.
};

struct KubeUser {
  http::CurlOptions options;
  std::string name;  // Names the user in messages: "context prod of /home/ann/.kube/config".
};

// Returns the value of an environment variable. Empty if the variable is not set.
std::string Variable(const char* name);

// Reads the user. If neither an option nor the environment names a kubeconfig and there is none in the home folder, the
// user is the service account of the pod. INVALID_ARGUMENT if the file does not exist or cannot be used. UNIMPLEMENTED
// if the user proves the identity in a way that is not supported (common/http/kubeconfig). The message names the file.
absl::StatusOr<KubeUser> ReadKubeUser(
    const KubeconfigOptions& options, const http::Environment& environment = Variable,
    const std::string& service_account = "/var/run/secrets/kubernetes.io/serviceaccount");

// Checks whether a gateway can accept the user. INVALID_ARGUMENT if the user has no proof of identity, or impersonates
// another user. The message gives advice. Pure.
absl::Status CheckKubeUser(const KubeUser& user);

// Returns a bearer token, or else a client certificate and its key. Reads files or runs the exec plugin, for at most a
// minute. UNAUTHENTICATED if the plugin or the file yields no proof; INVALID_ARGUMENT if a file cannot be read.
// Requires: CheckKubeUser.
absl::StatusOr<http::Identity> ProofOf(const KubeUser& user);

}  // namespace basalt::cli
