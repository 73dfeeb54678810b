#pragma once

// Addresses of servers as flags and people write them. Pure; nothing is resolved.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace basalt {

struct HostPort {
  std::string host;  // Without brackets.
  int port = 0;      // 0 to 65535.
};

// "host:port", "1.2.3.4:port" or "[v6]:port". INVALID_ARGUMENT says what is wrong, without the text itself.
// `least_port`: 1 for an address to connect to, 0 where port 0 asks for any free one.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text, int least_port = 1);
std::string ToText(const HostPort& address);  // With brackets where they are needed.

}  // namespace basalt
