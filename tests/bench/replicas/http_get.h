#pragma once

// Reads a process's HTTP port.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/http/curl/curl_client.h"

namespace basalt::bench {

// Returns the body of a GET of `path`, or UNAVAILABLE if the answer is not 200. Blocks. Call on any thread except the
// loop's.
absl::StatusOr<std::string> HttpGet(Loop& loop, const http::CurlOptions& server, const std::string& path);

// Returns the sum over all series of a metric in the exposition format, or 0 if there is none.
double SumOf(std::string_view exposition, std::string_view metric);

}  // namespace basalt::bench
