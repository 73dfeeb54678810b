// Target: the pages of a list. The first line of the input names the watch. Each further line "HTTP <status>" begins
// the API server's answer to the next request, whose body follows the line.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "tests/fuzz/watched.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  constexpr std::string_view kMark = "HTTP ";
  std::string_view text = fuzz::TextOf(data, size);
  const size_t end = std::min(text.find('\n'), size);
  fuzz::Watched watched(text.substr(0, end), /*streaming_lists=*/false);
  text.remove_prefix(std::min(end + 1, size));
  for (int pages = 0; pages < 8 && text.starts_with(kMark); ++pages) {
    text.remove_prefix(kMark.size());
    int status = 200;
    const auto number = std::from_chars(text.data(), text.data() + text.size(), status);
    text.remove_prefix(static_cast<size_t>(number.ptr - text.data()));
    const size_t next = std::min(text.find(kMark), text.size());
    auto* const request = watched.Request();
    if (request == nullptr) break;
    fuzz::CountRun();
    request->Answer(status, text.substr(0, next), {{"Retry-After", "1"}});
    watched.Run(absl::Minutes(1));
    text.remove_prefix(next);
  }
  watched.CheckCache();
  return 0;
}
