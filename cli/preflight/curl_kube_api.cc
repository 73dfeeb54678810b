#include "cli/preflight/curl_kube_api.h"

#include <utility>

#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/date.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/http.h"

namespace basalt::cli {
namespace {

class CurlKubeApi : public KubeApi {
 public:
  explicit CurlKubeApi(http::CurlOptions options) : loop_(MakeThreadLoop("kube")) {
    RunOn(*loop_, [&] { client_ = http::MakeCurlClient(*loop_, std::move(options)); });
  }
  ~CurlKubeApi() override {
    RunOn(*loop_, [&] { client_.reset(); });
  }

  absl::StatusOr<KubeAnswer> Call(std::string method, std::string target, std::string body) override {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = {{"Accept", "application/json"}};
    if (!request.body.empty()) {
      request.headers.emplace_back("Content-Type",
                                   request.method == "PATCH" ? "application/merge-patch+json" : "application/json");
    }
    const absl::StatusOr<http::Response> response = http::FetchAndWait(*loop_, *client_, std::move(request));
    if (!response.ok()) return response.status();
    KubeAnswer answer;
    answer.status = response->status;
    answer.now_ms =
        absl::ToUnixMillis(http::ParseDate(http::FindHeader(response->headers, "Date")).value_or(absl::UnixEpoch()));
    if (absl::StatusOr<json::value> parsed = ParseJson(response->body); parsed.ok()) answer.body = *std::move(parsed);
    return answer;
  }

 private:
  const std::unique_ptr<Loop> loop_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace

std::unique_ptr<KubeApi> MakeCurlKubeApi(http::CurlOptions options) {
  return std::make_unique<CurlKubeApi>(std::move(options));
}

}  // namespace basalt::cli
