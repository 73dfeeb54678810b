#pragma once

// The user of a kubeconfig: where the kubeconfig is, who the user is, and how the user proves that. One thread.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/credentials/credentials.h"
#include "common/http/curl/curl_client.h"
#include "common/http/proxy.h"

namespace basalt::cli {

struct KubeconfigOptions {
  std::string files;    // Several with ':' between them. Empty: $KUBECONFIG, or else ~/.kube/config.
  std::string context;  // Empty: the current one.
};

struct KubeUser {
  http::CurlOptions options;
  std::string name;  // For messages: "context prod of /home/ann/.kube/config".
};

// The value of a variable of this process; empty: not set.
std::string Variable(const char* name);

// Where neither an option nor the environment names a kubeconfig and there is none at home, the user is the service
// account of the pod. INVALID_ARGUMENT: there is no such file, or what it says cannot be used; UNIMPLEMENTED: a way to
// prove identity that is not supported (common/http/kubeconfig). The message names the file.
absl::StatusOr<KubeUser> ReadKubeUser(
    const KubeconfigOptions& options, const http::Environment& environment = Variable,
    const std::string& service_account = "/var/run/secrets/kubernetes.io/serviceaccount");

// Whether a gateway can take the user. INVALID_ARGUMENT: there is nothing that proves who the user is, or the user acts
// as another one. The message says what can be done. Pure.
absl::Status CheckKubeUser(const KubeUser& user);

// A bearer token, or else a client certificate and its key: reads files, runs the exec plugin, for at most a minute.
// UNAUTHENTICATED: the plugin or the file gives none; INVALID_ARGUMENT: a file cannot be read. Requires: CheckKubeUser.
absl::StatusOr<http::Identity> ProofOf(const KubeUser& user);

}  // namespace basalt::cli
