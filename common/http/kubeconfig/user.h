#pragma once

// A kubeconfig's user: how to prove who we are, and whom we act for. Internal to the kubeconfig reader. Pure.
#include <string_view>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "common/http/curl/curl_client.h"

namespace basalt::http::internal {

// INVALID_ARGUMENT, "kubeconfig: <message>".
absl::Status InvalidKubeconfig(std::string_view message);

// What base64 in `field` stands for, and the file that `field` names, seen from the folder of the kubeconfig.
absl::StatusOr<std::string> DecodedField(const json::value& from, std::string_view field);
std::string FileField(const json::value& from, std::string_view field, std::string_view directory);

// Puts what `user` says into `options`. `cluster`: what an exec plugin is told.
absl::Status ReadUser(std::string_view name, const json::value& user, std::string_view directory,
                      const json::value& cluster, CurlOptions& options);

}  // namespace basalt::http::internal
