#include "common/watch/watch_token.h"

#include <optional>

#include "absl/strings/escaping.h"
#include "common/base/slots.h"
#include "common/base/status.h"

namespace basalt::watch {

namespace {

// No replica knows this position, since no slot with changes has an incarnation of 0.
constexpr WatchPosition kUnknown{0, 1};

std::optional<std::vector<WatchPosition>> Read(std::string_view text) {
  std::string bytes;
  v1::WatchToken token;
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &bytes) || !token.ParseFromString(bytes)) return std::nullopt;
  if (token.slots_size() != token.incarnations_size() || token.slots_size() != token.revisions_size()) {
    return std::nullopt;
  }
  std::vector<WatchPosition> positions(kSlotCount);
  for (int i = 0; i < token.slots_size(); ++i) {
    if (token.slots(i) >= kSlotCount || token.revisions(i) <= 0) return std::nullopt;
    positions[token.slots(i)] = {token.incarnations(i), token.revisions(i)};
  }
  return positions;
}

}  // namespace

v1::SlotPosition ToMessage(uint32_t slot, const WatchPosition& position) {
  v1::SlotPosition message;
  message.set_slot(slot);
  message.set_incarnation(position.incarnation);
  message.set_revision(position.revision);
  return message;
}

WatchPosition PositionOf(const v1::SlotPosition& message) { return {message.incarnation(), message.revision()}; }

std::string MakeWatchToken(const std::vector<WatchPosition>& positions) {
  v1::WatchToken token;
  for (size_t slot = 0; slot < positions.size(); ++slot) {
    if (positions[slot].revision == 0) continue;
    token.add_slots(static_cast<uint32_t>(slot));
    token.add_incarnations(positions[slot].incarnation);
    token.add_revisions(positions[slot].revision);
  }
  return absl::WebSafeBase64Escape(token.SerializeAsString());
}

std::vector<WatchPosition> ReadWatchToken(std::string_view token) {
  if (token.empty()) return std::vector<WatchPosition>(kSlotCount);
  if (auto positions = Read(token)) return *std::move(positions);
  return std::vector<WatchPosition>(kSlotCount, kUnknown);
}

}  // namespace basalt::watch
