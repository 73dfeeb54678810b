#include "cli/preflight/curl_kube_api.h"

#include <future>
#include <utility>

#include "absl/time/time.h"
#include "common/exec/loop.h"
#include "common/http/http.h"

namespace basalt::cli {
namespace {

int64_t ParseDate(std::string_view text) {
  absl::Time time;
  std::string ignored;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", std::string(text), &time, &ignored)) return 0;
  return absl::ToUnixMillis(time);
}

class CurlKubeApi : public KubeApi {
 public:
  explicit CurlKubeApi(http::CurlOptions options) : loop_(MakeThreadLoop("kube")) {
    OnLoop([&] { client_ = http::MakeCurlClient(*loop_, std::move(options)); });
  }
  ~CurlKubeApi() override {
    OnLoop([&] { client_.reset(); });
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
    std::promise<absl::StatusOr<http::Response>> done;
    std::unique_ptr<http::Call> call;
    loop_->Post([&] {
      call = http::Fetch(*client_, std::move(request),
                         [&](absl::StatusOr<http::Response> response) { done.set_value(std::move(response)); });
    });
    const absl::StatusOr<http::Response> response = done.get_future().get();
    OnLoop([&] { call.reset(); });
    if (!response.ok()) return response.status();
    KubeAnswer answer;
    answer.status = response->status;
    answer.now_ms = ParseDate(http::FindHeader(response->headers, "Date"));
    if (absl::StatusOr<json::value> parsed = ParseJson(response->body); parsed.ok()) answer.body = *std::move(parsed);
    return answer;
  }

 private:
  template <typename Work>
  void OnLoop(Work work) {
    std::promise<void> done;
    loop_->Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  const std::unique_ptr<Loop> loop_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace

std::unique_ptr<KubeApi> MakeCurlKubeApi(http::CurlOptions options) {
  return std::make_unique<CurlKubeApi>(std::move(options));
}

}  // namespace basalt::cli
