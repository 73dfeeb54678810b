#include "common/discovery/gateway_names.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"

namespace basalt::discovery {
namespace {

constexpr std::string_view kMany = "dns:///";

}  // namespace

absl::StatusOr<std::vector<GatewayName>> ParseGatewayNames(const std::vector<std::string>& values,
                                                           std::string_view flag) {
  if (values.empty()) {
    return Invalid(fmt::format("{}: at least one address is needed, host:port or dns:///name:port", flag));
  }
  std::vector<GatewayName> names;
  for (const std::string& value : values) {
    GatewayName name;
    name.text = value;
    std::string_view address = value;
    if (address.starts_with(kMany)) {
      name.many = true;
      address.remove_prefix(kMany.size());
    }
    absl::StatusOr<HostPort> at = ParseHostPort(address);
    if (!at.ok()) {
      return Invalid(fmt::format("{}: '{}' {}; it takes host:port or dns:///name:port, comma separated", flag, value,
                                 ToStd(at.status().message())));
    }
    name.at = *std::move(at);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace basalt::discovery
