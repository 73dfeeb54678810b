#pragma once

// The protocols that processes of the suite speak to each other. A release adds a protocol if its processes send or
// expect something that those of the release before cannot ignore, and keeps the protocols of that release: processes
// of two neighbouring releases work together (docs/upgrade.md). Pure.
#include <cstdint>
#include <string>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::rpc {

struct Protocols {
  uint32_t oldest = 1;
  uint32_t newest = 1;
};
inline constexpr Protocols kProtocols{.oldest = 1, .newest = 1};

// Returns the range as messages carry it.
gateway::v1::ProtocolRange RangeOf(const Protocols& protocols);

// Returns why a process that speaks `ours` refuses one that states `theirs`. Empty if they have a protocol in common.
std::string WhyRefused(const Protocols& ours, const gateway::v1::ProtocolRange& theirs);

}  // namespace basalt::rpc
