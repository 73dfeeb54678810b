#pragma once

// Whose a logged request is.
#include <string_view>

namespace basalt::e2e {

// A replica's that owns a slot, through the gateway: not what gateways write to settle who leads.
inline bool IsByOwner(std::string_view user_agent) {
  return user_agent.starts_with("basalt") && user_agent.find(" slot ") != std::string_view::npos;
}

}  // namespace basalt::e2e
