#include "gateway/kube/kube_call.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/kube/text.h"
#include "gateway/kube/refusal.h"

namespace basalt::gateway {
namespace {

constexpr size_t kMaxAnswer = 4 << 20;

KubeAnswer Read(absl::StatusOr<http::Response> result) {
  using enum KubeAnswer::Outcome;
  KubeAnswer answer;
  if (!result.ok()) {
    answer.outcome = absl::IsUnavailable(result.status()) ? kUnsent : kUnknown;
    answer.why = ToStd(result.status().message());
    return answer;
  }
  if (result->status >= 200 && result->status < 300) {
    answer.outcome = kDone;
    answer.body = std::move(result->body);
    return answer;
  }
  answer.error = ReadRefusal(*result);
  answer.why = answer.error.message().empty() ? fmt::format("the API server answered {}", result->status)
                                              : answer.error.message();
  answer.come_again = absl::Milliseconds(answer.error.retry_after_ms());
  if (IsComeAgain(answer.error)) {
    answer.outcome = kUnsent;
  } else if (result->status >= 400 && result->status < 500) {
    answer.outcome = kRefused;
  }
  return answer;
}

}  // namespace

std::unique_ptr<http::Call> StartKubeCall(http::Client& client, KubeCall call, std::function<void(KubeAnswer)> done) {
  http::Request request;
  request.method = std::move(call.method);
  request.target = std::move(call.target);
  request.headers = {{"Accept", "application/json"}, {"User-Agent", std::move(call.user_agent)}};
  request.timeout = call.timeout;
  if (request.method != "GET") {
    request.headers.emplace_back("Content-Type", "application/json");
    request.target += fmt::format("?fieldManager=basalt-gateway&timeout={}",
                                  kube::FormatGoDuration(absl::Floor(call.timeout * 0.9, absl::Milliseconds(1))));
    request.body = std::move(call.body);
  }
  return http::Fetch(
      client, std::move(request),
      [done = std::move(done)](absl::StatusOr<http::Response> result) { done(Read(std::move(result))); }, kMaxAnswer);
}

}  // namespace basalt::gateway
