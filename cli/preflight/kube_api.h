#pragma once

// The API server for the checks before a take-over: requests that change nothing, one after the other. One thread.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/preflight/finding.h"
#include "common/base/json.h"

namespace basalt::cli {

struct KubeAnswer {
  int status = 0;
  json::value body;
  int64_t now_ms = 0;  // The server's clock. 0 if the answer does not state it.

  bool ok() const { return status >= 200 && status < 300; }
  std::string message() const;  // The message of a refusal, or its code if it has no message.
};

class KubeApi {
 public:
  virtual ~KubeApi() = default;
  // Returns an error if no answer came. Refusals are answers.
  virtual absl::StatusOr<KubeAnswer> Call(std::string method, std::string target, std::string body) = 0;
  absl::StatusOr<KubeAnswer> Get(std::string target) { return Call("GET", std::move(target), ""); }
};

// Visits every item of a list, page by page. `answer` is set to the answer with the last page, or to the refusal.
absl::Status ForEachItem(KubeApi& api, std::string_view path, std::string_view selector,
                         const std::function<void(const json::value&)>& visit, KubeAnswer& answer);

// Returns the finding for a list or an object that could not be read.
Finding Unreadable(std::string_view check, std::string_view what, const absl::Status& status, const KubeAnswer& answer);

// Returns "namespace/name", or the name alone if the object has no namespace.
std::string NameOf(const json::value& object);
// Returns the text at the end of a path. Empty if there is none.
std::string TextAt(const json::value& object, std::initializer_list<std::string_view> path);

}  // namespace basalt::cli
