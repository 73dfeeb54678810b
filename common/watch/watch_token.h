#pragma once

// How positions travel: one by one between replicas, and to clients as a token, which is opaque to them. The bytes of
// both are a contract with replicas of other versions. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/watch/v1/watch.pb.h"
#include "common/watch/watch_position.h"

namespace basalt::watch {

v1::SlotPosition ToMessage(uint32_t slot, const WatchPosition& position);
WatchPosition PositionOf(const v1::SlotPosition& message);

// Of positions by slot. Slots of which nothing was sent take no room.
std::string MakeWatchToken(const std::vector<WatchPosition>& positions);

// All slots; for a token that cannot be read, positions that nobody knows, so that a RESET of all answers it. Empty
// token: from the start.
std::vector<WatchPosition> ReadWatchToken(std::string_view token);

}  // namespace basalt::watch
