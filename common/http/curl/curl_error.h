#pragma once

// Translates libcurl's codes into our statuses. Internal to the curl client.
#include <curl/curl.h>

#include <string_view>

#include "absl/status/status.h"
#include "common/http/failure.h"
#include "common/http/http.h"

namespace basalt::http::internal {

// `verify_result` is OpenSSL's result for the server's certificate. `words` is libcurl's message. Pure.
Failure FailureOfCode(CURLcode code, long verify_result, std::string_view words);

// Returns the status of a transfer that has failed and still has its handle. UNAVAILABLE if the request surely was not
// sent, else UNKNOWN.
absl::Status ErrorOf(CURL* easy, CURLcode code, std::string_view words, bool cut, const Request& request,
                     std::string_view base_url);

}  // namespace basalt::http::internal
