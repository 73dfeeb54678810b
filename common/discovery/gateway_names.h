#pragma once

// Parses --gateway, for every program that has the flag: addresses of gateways, or names that stand for several. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/host_port.h"

namespace basalt::discovery {

struct GatewayName {
  std::string text;  // The value as the user gave it, for messages.
  HostPort at;
  // True for dns:///name:port, a headless Service for example: every address of the name is a gateway.
  bool many = false;
};

// Each of `values` is host:port (one gateway) or dns:///name:port. INVALID_ARGUMENT names `flag`, value and rule.
absl::StatusOr<std::vector<GatewayName>> ParseGatewayNames(const std::vector<std::string>& values,
                                                           std::string_view flag = "--gateway");

}  // namespace basalt::discovery
