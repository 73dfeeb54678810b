#pragma once

// Reads a kubeconfig's user: the proofs of our identity, and the user that we impersonate. Internal to the kubeconfig
// reader. Pure.
#include <string_view>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "common/http/curl/curl_client.h"

namespace basalt::http::internal {

// Returns INVALID_ARGUMENT with the message "kubeconfig: <message>".
absl::Status InvalidKubeconfig(std::string_view message);

// Returns the bytes that `field` has in base64.
absl::StatusOr<std::string> DecodedField(const json::value& from, std::string_view field);
// Returns the path of the file that `field` names. A relative name starts at `directory`, the folder of the kubeconfig.
std::string FileField(const json::value& from, std::string_view field, std::string_view directory);

// Puts the settings of `user` into `options`. An exec plugin gets the description of `cluster`.
absl::Status ReadUser(std::string_view name, const json::value& user, std::string_view directory,
                      const json::value& cluster, CurlOptions& options);

}  // namespace basalt::http::internal
