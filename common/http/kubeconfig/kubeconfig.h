#pragma once

// Reads the part of a kubeconfig that a client needs: the address of the API server and the client's identity. Also
// reads the service account inside a pod. Reads files; any thread. The rules are those of kubectl's own loader, for a
// client without a terminal.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/http/curl/curl_client.h"

namespace basalt::http {

// Returns the options of `context`, or of the current context if `context` is empty. Relative file names, and an exec
// plugin's command that has a slash, are relative to `directory`. INVALID_ARGUMENT names the field and the rule.
// UNIMPLEMENTED names an unsupported way of proving identity (auth-provider, username and password, an exec plugin that
// needs a terminal).
absl::StatusOr<CurlOptions> ParseKubeconfig(std::string_view text, std::string_view directory,
                                            std::string_view context = "");

// NOT_FOUND if the file does not exist.
absl::StatusOr<CurlOptions> ReadKubeconfig(const std::string& path, std::string_view context = "");

// Reads several files, separated by ':' as in the variable KUBECONFIG. The first of several entries of one name, and
// the first current context, counts. Files that do not exist are left out. NOT_FOUND if no file exists.
absl::StatusOr<CurlOptions> ReadKubeconfigs(std::string_view paths, std::string_view context = "");

// Returns the options of the service account of the pod in which this process runs. FAILED_PRECONDITION outside of a
// cluster.
absl::StatusOr<CurlOptions> InClusterOptions(std::string_view host, std::string_view port,
                                             const std::string& directory);

}  // namespace basalt::http
