#pragma once

// The part of a kubeconfig that a client needs: where the API server is and how to prove who we are. Also what a pod
// finds in itself. Reads files; any thread. Rules: those of kubectl's own loader, for a client without a terminal.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/http/curl/curl_client.h"

namespace basalt::http {

// Of the current context, or of `context`. Relative file names are relative to `directory`; so is an exec plugin's
// command that has a slash. INVALID_ARGUMENT names the field and the rule; UNIMPLEMENTED names a way of proving
// identity that is not supported (auth-provider, username and password, an exec plugin that wants a terminal).
absl::StatusOr<CurlOptions> ParseKubeconfig(std::string_view text, std::string_view directory,
                                            std::string_view context = "");

// NOT_FOUND where the file is not there.
absl::StatusOr<CurlOptions> ReadKubeconfig(const std::string& path, std::string_view context = "");

// Several files with ':' between them, as the variable KUBECONFIG has them: of two entries of one name, and of two
// current contexts, the first counts. Files that are not there are left out; NOT_FOUND where none is.
absl::StatusOr<CurlOptions> ReadKubeconfigs(std::string_view paths, std::string_view context = "");

// The service account of the pod that this runs in. FAILED_PRECONDITION outside of a cluster.
absl::StatusOr<CurlOptions> InClusterOptions(std::string_view host, std::string_view port,
                                             const std::string& directory);

}  // namespace basalt::http
