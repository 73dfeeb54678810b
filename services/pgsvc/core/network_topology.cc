#include "services/pgsvc/core/network_topology.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/status.h"
#include "services/pgsvc/core/integers.h"

namespace basalt::pgsvc {

absl::StatusOr<std::optional<json::object>> NetworkTopologyOf(std::optional<std::string_view> mode,
                                                              std::optional<std::string_view> tier) {
  if (!mode && !tier) return std::optional<json::object>();
  json::object topology;
  topology["mode"] = absl::AsciiStrToLower(std::string(mode.value_or("hard"))) == "soft" ? "soft" : "hard";
  if (tier) {
    const std::optional<int64_t> value = ParseInteger(*tier);
    if (value && *value < 0) {
      return Invalid(fmt::format("annotation {}: {} must be 0 or more", kTopologyTierKey, *value));
    }
    if (value) topology["highestTierAllowed"] = *value;
  }
  return std::optional<json::object>(std::move(topology));
}

}  // namespace basalt::pgsvc
