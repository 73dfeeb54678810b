#pragma once

// How the suite's members, slots and moves look to people.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::cli {

std::string_view ServiceText(gateway::v1::ServiceKind kind);  // jobsvc, pgsvc, queuesvc; else "?".

// The gateway that was asked, members, moves under way and watches. `width`: no line is longer, 0 = any; of the
// members' columns the address goes first.
std::string FormatTopology(const gateway::v1::Topology& topology, size_t width);

// Who has which slots, those that are alike in one line.
std::string FormatSlots(const gateway::v1::Topology& topology, gateway::v1::ServiceKind service, size_t width);
// Null: the gateway did not say.
const gateway::v1::SlotRange* FindSlot(const gateway::v1::Topology& topology, uint32_t slot);
std::string FormatSlot(const gateway::v1::SlotRange& range, gateway::v1::ServiceKind service, uint32_t slot,
                       std::string_view key);

}  // namespace basalt::cli
