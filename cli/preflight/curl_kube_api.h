#pragma once

// Calls of the API server over sockets, for a program that waits for each answer.
#include <memory>

#include "cli/preflight/kube_api.h"
#include "common/http/curl/curl_client.h"

namespace basalt::cli {

// Each call blocks, for at most half a minute.
std::unique_ptr<KubeApi> MakeCurlKubeApi(http::CurlOptions options);

}  // namespace basalt::cli
