// Target: the stream of an API server. The first line of the input names the watch. The other lines are those of a
// streaming list and then of the watch, and come in chunks that end anywhere.
#include <algorithm>
#include <string>
#include <string_view>

#include "gateway/translate/decoder.h"
#include "tests/fuzz/watched.h"

namespace basalt {
namespace {

using fuzz::Require;

// Checks that a decoder reads a line the same whatever it has read before.
void CheckDecoder(std::string_view text) {
  gateway::Decoder used(gateway::ObjectKind::kPod);
  gateway::WatchEvent event;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    fuzz::CountRun();
    const absl::Status status = used.DecodeWatchLine(line, event);
    const auto fresh = gateway::Decoder(gateway::ObjectKind::kPod).DecodeWatchLine(line);
    Require(status.ok() == fresh.ok(), "a line is read whatever was read before");
    if (!status.ok()) continue;
    Require(event.type == fresh->type && event.resource_version == fresh->resource_version,
            "a line tells the same whatever was read before");
    const bool has_object = event.type != gateway::WatchType::kBookmark && event.type != gateway::WatchType::kError;
    Require(!has_object || (event.decoded.error == fresh->decoded.error &&
                            event.decoded.object.SerializeAsString() == fresh->decoded.object.SerializeAsString()),
            "an object is read as it is whatever was read before");
  }
}

}  // namespace
}  // namespace basalt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  const std::string_view text = fuzz::TextOf(data, size);
  const size_t end = std::min(text.find('\n'), size);
  const std::string_view lines = text.substr(std::min(end + 1, size));
  CheckDecoder(lines);
  fuzz::Watched watched(text.substr(0, end), /*streaming_lists=*/true);
  const size_t chunk = 1 + size % 97;
  for (int streams = 0; streams < 3; ++streams) {
    auto* const request = watched.Request();
    if (request == nullptr) break;
    request->Head(200);
    for (size_t at = 0; at < lines.size() && request->open(); at += chunk) request->Chunk(lines.substr(at, chunk));
    if (request->open()) request->End();
    watched.Run(absl::Minutes(1));
  }
  watched.CheckCache();
  return 0;
}
