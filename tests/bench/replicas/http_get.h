#pragma once

// What a process tells over HTTP.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/exec/loop.h"
#include "common/http/curl/curl_client.h"

namespace basalt::bench {

// The body of a GET of `path`; UNAVAILABLE where the answer is not 200. Blocks; any thread but the loop's.
absl::StatusOr<std::string> HttpGet(Loop& loop, const http::CurlOptions& server, const std::string& path);

// The sum over all series of a metric in the exposition format; 0 where there is none.
double SumOf(std::string_view exposition, std::string_view metric);

}  // namespace basalt::bench
