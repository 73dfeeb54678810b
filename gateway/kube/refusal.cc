#include "gateway/kube/refusal.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "common/base/json.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {
namespace {

// What is believed of a Retry-After header.
constexpr int64_t kMostSeconds = 600;

// A JSON patch whose test of identity failed comes back as a 422 without a field.
bool IsFailedIdentityTest(const v1::KubeError& error) {
  return error.message().find("test") != std::string::npos &&
         (error.message().find("/metadata/uid") != std::string::npos ||
          error.message().find("/metadata/resourceVersion") != std::string::npos);
}

}  // namespace

v1::KubeError ReadRefusal(const http::Response& response) {
  v1::KubeError error = DecodeStatusError(response.status, response.body);
  const std::string_view header = http::FindHeader(response.headers, "Retry-After");
  int64_t seconds = 0;
  if (!header.empty() && std::from_chars(header.data(), header.data() + header.size(), seconds).ec == std::errc()) {
    // 1 ms stands for "at once": 0 means that there was no such header.
    error.set_retry_after_ms(
        std::max<int64_t>({error.retry_after_ms(), std::clamp<int64_t>(seconds, 0, kMostSeconds) * 1000, 1}));
  }
  if (error.code() == 422) {
    const bool uid = std::find(error.fields().begin(), error.fields().end(), "metadata.uid") != error.fields().end();
    if (uid || IsFailedIdentityTest(error)) error.set_reason("Conflict");
  }
  return error;
}

bool IsMissingRight(const v1::KubeError& error) {
  // RBAC's own sentence: `pods is forbidden: User "x" cannot create resource "pods" in API group "" …`.
  const std::string_view said = error.message();
  return error.code() == 403 && said.find("User \"") != said.npos && said.find("\" cannot ") != said.npos &&
         said.find(" resource \"") != said.npos;
}

bool IsComeAgain(const v1::KubeError& error) {
  return error.code() == 429 || (error.code() == 503 && error.retry_after_ms() > 0);
}

bool IsOfServer(std::string_view refusal_body) {
  const absl::StatusOr<json::value> body = ParseJson(refusal_body);
  return !body.ok() || FindString(*body, "kind") != "Status";
}

}  // namespace basalt::gateway
