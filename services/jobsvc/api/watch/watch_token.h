#pragma once

// What clients keep of a watch: how far it was in each slot, opaque to them. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "services/jobsvc/control/slot_watch.h"

namespace basalt::jobsvc {

// By slot. Those in which nothing was told take no room.
std::string MakeWatchToken(const std::vector<WatchPosition>& positions);

// All slots; for a token that cannot be read, positions that nobody knows, so that a RESET of all answers it. Empty
// token: from the start.
std::vector<WatchPosition> ReadWatchToken(std::string_view token);

}  // namespace basalt::jobsvc
