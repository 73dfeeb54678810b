#pragma once

// Reads and prints addresses of servers as flags and people write them. Pure; resolves no name.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace basalt {

struct HostPort {
  std::string host;  // Has no brackets.
  int port = 0;      // Is between 0 and 65535.
};

// Parses "host:port", "1.2.3.4:port" or "[v6]:port". INVALID_ARGUMENT states what is wrong, without the text itself.
// `least_port` is 1 for an address to connect to, and 0 where port 0 requests any free port.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text, int least_port = 1);
std::string ToText(const HostPort& address);  // Puts an IPv6 address in brackets.

}  // namespace basalt
