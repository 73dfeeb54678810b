#pragma once

// The suite's members, slots and moves, formatted for people.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::cli {

std::string_view ServiceText(gateway::v1::ServiceKind kind);  // "jobsvc", "pgsvc", "queuesvc" or "?".

// Returns the gateway that was asked, the members, the moves under way and the watches. Lines are at most `width` long;
// width 0 means no limit. If the members do not fit, the address is left out.
std::string FormatTopology(const gateway::v1::Topology& topology, size_t width);

// Returns the owners of the slots. Slots with the same owner, epoch, state and target stand in one line.
std::string FormatSlots(const gateway::v1::Topology& topology, gateway::v1::ServiceKind service, size_t width);
// Returns the range that has the slot. Null if the topology has none.
const gateway::v1::SlotRange* FindSlot(const gateway::v1::Topology& topology, uint32_t slot);
std::string FormatSlot(const gateway::v1::SlotRange& range, gateway::v1::ServiceKind service, uint32_t slot,
                       std::string_view key);

}  // namespace basalt::cli
