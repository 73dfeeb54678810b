#include "gateway/kube/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {
namespace {

// The longest Retry-After that the gateway believes.
constexpr int64_t kMostSeconds = 600;

// A JSON patch whose test of identity failed comes back as a 422 without a field.
bool IsFailedIdentityTest(const v1::KubeError& error) {
  return error.message().find("test") != std::string::npos &&
         (error.message().find("/metadata/uid") != std::string::npos ||
          error.message().find("/metadata/resourceVersion") != std::string::npos);
}

// Describes the definition that is missing for "/apis/<group>/<version>[/namespaces/<namespace>]/<plural>…". Empty if
// the target has another form.
std::string MissingDefinition(std::string_view target) {
  const std::vector<std::string> parts = absl::StrSplit(ToAbsl(target.substr(0, target.find('?'))), '/');
  if (parts.size() < 5 || parts[1] != "apis") return {};
  const bool has_namespace = parts.size() > 6 && parts[4] == "namespaces";
  const std::string& plural = parts[has_namespace ? 6 : 4];
  return fmt::format(
      "the API server does not serve {1} as {0}/{2}: the definition {1}.{0} is missing, or has no such version; "
      "kubectl apply -f deploy/crds",
      parts[2], plural, parts[3]);
}

}  // namespace

v1::KubeError ReadRefusal(const http::Response& response, std::string_view target) {
  v1::KubeError error = DecodeStatusError(response.status, response.body);
  if (error.code() == 404 && IsOfServer(response.body)) {
    if (std::string missing = MissingDefinition(target); !missing.empty()) error.set_message(std::move(missing));
  }
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
  // RBAC's own sentence is `pods is forbidden: User "x" cannot create resource "pods" in API group "" …`.
  const std::string_view said = error.message();
  return error.code() == 403 && said.find("User \"") != said.npos && said.find("\" cannot ") != said.npos &&
         said.find(" resource \"") != said.npos;
}

bool IsImpersonationRefused(const v1::KubeError& error) {
  // The message is `users "ann" is forbidden: User "x" cannot impersonate resource "users" …`; constrained
  // impersonation (Kubernetes 1.36) has verbs such as impersonate:user-info and impersonate-on:user-info:create. The
  // API server itself writes the text before "User". Texts of a policy and names come later, or in quotes, with \" for
  // a quote.
  constexpr std::string_view kBefore = " is forbidden: ";
  constexpr std::string_view kUser = "User \"";
  std::string_view said = error.message();
  const size_t at = said.find(kBefore);
  if (error.code() != 403 || at == said.npos) return false;
  said.remove_prefix(at + kBefore.size());
  if (!said.starts_with(kUser)) return false;
  size_t end = kUser.size();
  while (end < said.size() && said[end] != '"') end += said[end] == '\\' ? 2 : 1;
  return end < said.size() && said.substr(end).starts_with("\" cannot impersonate");
}

bool IsComeAgain(const v1::KubeError& error) {
  return error.code() == 429 || (error.code() == 503 && error.retry_after_ms() > 0);
}

bool IsOfServer(std::string_view refusal_body) {
  const absl::StatusOr<json::value> body = ParseJson(refusal_body);
  return !body.ok() || FindString(*body, "kind") != "Status";
}

}  // namespace basalt::gateway
