#pragma once

// Encodes positions: single ones for messages between replicas, and all of them as a token, which is opaque to clients.
// The bytes of both are a contract with replicas of other versions. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/watch/v1/watch.pb.h"
#include "common/watch/watch_position.h"

namespace basalt::watch {

v1::SlotPosition ToMessage(uint32_t slot, const WatchPosition& position);
WatchPosition PositionOf(const v1::SlotPosition& message);

// Makes a token of positions by slot. Slots of which nothing was sent take no space.
std::string MakeWatchToken(const std::vector<WatchPosition>& positions);

// Returns the positions of all slots. An empty token means the start. A token that cannot be read gives positions that
// no replica knows, so that a RESET of all slots answers it.
std::vector<WatchPosition> ReadWatchToken(std::string_view token);

}  // namespace basalt::watch
