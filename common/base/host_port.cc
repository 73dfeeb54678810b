#include "common/base/host_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/base/status.h"

namespace basalt {
namespace {

constexpr int kMaxPort = 65535;

bool IsHostByte(char c) { return c > ' ' && c != '/' && c != '[' && c != ']' && c != ',' && c != '\x7f'; }

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view text, int least_port) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Invalid("has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return Invalid("has no host");
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return Invalid("has more than one colon; an IPv6 address stands in brackets");
  }
  if (!std::all_of(host.begin(), host.end(), IsHostByte)) return Invalid("has characters that no host name has");
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < least_port || port > kMaxPort) {
    return Invalid(fmt::format("has no port between {} and {}", least_port, kMaxPort));
  }
  return HostPort{std::string(host), port};
}

std::string ToText(const HostPort& address) {
  return address.host.find(':') == std::string::npos ? fmt::format("{}:{}", address.host, address.port)
                                                     : fmt::format("[{}]:{}", address.host, address.port);
}

}  // namespace basalt
