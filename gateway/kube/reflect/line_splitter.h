#pragma once

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace basalt::gateway {

// Cuts a stream of chunks into lines, wherever the chunks end. A line within one chunk is passed on as a view, without
// a copy; only the rest of a chunk is kept. Empty lines are skipped.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line) : max_line_(max_line) {}

  // Calls `on_line` for each complete line until it returns false; the rest of the data is then dropped.
  // RESOURCE_EXHAUSTED, with the start of the line, if a line is longer than the bound.
  absl::Status Feed(std::string_view chunk, absl::FunctionRef<bool(std::string_view)> on_line);
  void Reset() { rest_.clear(); }
  // Returns the size of a line that has not ended yet, in bytes.
  size_t pending() const { return rest_.size(); }

 private:
  absl::Status TooLong(std::string_view line);

  const size_t max_line_;
  std::string rest_;
};

}  // namespace basalt::gateway
