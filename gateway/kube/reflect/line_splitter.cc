#include "gateway/kube/reflect/line_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"

namespace basalt::gateway {

absl::Status LineSplitter::TooLong(std::string_view line) {
  std::string start;
  for (const char c : line.substr(0, 200)) start += c >= ' ' && c <= '~' ? c : ' ';
  absl::Status status =
      MakeStatus(absl::StatusCode::kResourceExhausted,
                 fmt::format("a line of the watch is longer than {} bytes; it begins with {}", max_line_, start));
  rest_ = std::string();
  return status;
}

absl::Status LineSplitter::Feed(std::string_view chunk, absl::FunctionRef<bool(std::string_view)> on_line) {
  while (!chunk.empty()) {
    const size_t end = chunk.find('\n');
    if (rest_.size() + std::min(end, chunk.size()) > max_line_) {
      rest_.append(chunk.substr(0, 200));
      return TooLong(rest_);
    }
    if (end == std::string_view::npos) {
      rest_.append(chunk);
      break;
    }
    std::string_view line = chunk.substr(0, end);
    chunk.remove_prefix(end + 1);
    bool more = true;
    if (!rest_.empty()) {
      // The line is moved out, since the callee may reset this splitter.
      std::string whole = std::move(rest_);
      rest_.clear();
      whole.append(line);
      more = on_line(whole);
    } else if (!line.empty()) {
      more = on_line(line);
    }
    if (!more) {
      rest_.clear();
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace basalt::gateway
