#pragma once

// What libcurl's codes mean to us. Internal to the curl client.
#include <curl/curl.h>

#include <string_view>

#include "absl/status/status.h"
#include "common/http/failure.h"
#include "common/http/http.h"

namespace basalt::http::internal {

// `verify_result` is OpenSSL's, of the server's certificate; `words` are the library's. Pure.
Failure FailureOfCode(CURLcode code, long verify_result, std::string_view words);

// Of a transfer that has failed and is not yet taken off the handle. UNAVAILABLE: surely not sent; else UNKNOWN.
absl::Status ErrorOf(CURL* easy, CURLcode code, std::string_view words, bool cut, const Request& request,
                     std::string_view base_url);

}  // namespace basalt::http::internal
