#pragma once

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace basalt::gateway {

// Cuts a stream of chunks into lines, wherever the chunks are cut. A line that lies within one chunk is handed on as a
// view, without a copy; only the rest of a chunk is kept. Empty lines are skipped.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line) : max_line_(max_line) {}

  // Calls `on_line` for each complete line until it returns false; what follows is then dropped. RESOURCE_EXHAUSTED,
  // with the start of the line: longer than the bound.
  absl::Status Feed(std::string_view chunk, absl::FunctionRef<bool(std::string_view)> on_line);
  void Reset() { rest_.clear(); }
  // Bytes of a line that has not ended yet.
  size_t pending() const { return rest_.size(); }

 private:
  absl::Status TooLong(std::string_view line);

  const size_t max_line_;
  std::string rest_;
};

}  // namespace basalt::gateway
