#include "tests/bench/replicas/http_get.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/fetch_and_wait.h"

namespace basalt::bench {

absl::StatusOr<std::string> HttpGet(Loop& loop, const http::CurlOptions& server, const std::string& path) {
  std::unique_ptr<http::Client> client;
  RunOn(loop, [&] { client = http::MakeCurlClient(loop, server); });
  http::Request request;
  request.method = "GET";
  request.target = path;
  absl::StatusOr<http::Response> response = http::FetchAndWait(loop, *client, std::move(request));
  RunOn(loop, [&] { client.reset(); });
  if (!response.ok()) return response.status();
  if (response->status != 200) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("{}{} answers {}: {}", server.base_url, path, response->status, response->body));
  }
  return std::move(response->body);
}

double SumOf(std::string_view exposition, std::string_view metric) {
  double sum = 0;
  while (!exposition.empty()) {
    const size_t end = std::min(exposition.find('\n'), exposition.size());
    const std::string_view line = exposition.substr(0, end);
    exposition.remove_prefix(std::min(end + 1, exposition.size()));
    if (!line.starts_with(metric) || line.size() == metric.size()) continue;
    const char next = line[metric.size()];
    const size_t space = line.rfind(' ');
    if ((next == ' ' || next == '{') && space != std::string_view::npos) {
      sum += std::strtod(std::string(line.substr(space + 1)).c_str(), nullptr);
    }
  }
  return sum;
}

}  // namespace basalt::bench
