#pragma once

// The bearer token that /metrics requires: the content of a file without the white space around it.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::rpc {

// Confined to one thread at a time.
class MetricsToken {
 public:
  // INVALID_ARGUMENT names the file and the rule: the file cannot be read, or has no token.
  static absl::StatusOr<std::unique_ptr<MetricsToken>> FromFile(const std::string& path, absl::Duration refresh);

  // Returns whether `authorization`, the value of that header, is "Bearer" and the token. `now` is by the clock of the
  // caller's loop. Reads the file again if `refresh` has passed since the last time. A file that cannot be used is
  // logged, and the old token stays in force.
  bool IsIn(std::string_view authorization, absl::Time now);

 private:
  MetricsToken(std::string path, absl::Duration refresh) : path_(std::move(path)), refresh_(refresh) {}
  absl::Status Read();

  const std::string path_;
  const absl::Duration refresh_;
  std::string token_;
  absl::Time read_at_ = absl::InfinitePast();
  std::string said_;  // Why the file cannot be used, as last logged.
};

}  // namespace basalt::rpc
