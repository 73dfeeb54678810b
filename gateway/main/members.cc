#include "gateway/main/members.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/rpc/program_name.h"

namespace basalt::gateway {
namespace {

absl::Status Bad(std::string_view value, std::string_view why) {
  return Invalid(fmt::format("--members: '{}' {}; it takes jobsvc=COUNT,pgsvc=COUNT,queuesvc=COUNT", value, why));
}

}  // namespace

absl::StatusOr<MemberCounts> ParseMembers(const std::vector<std::string>& values) {
  MemberCounts counts;
  for (const std::string_view value : values) {
    const size_t equals = value.find('=');
    if (equals == std::string_view::npos) return Bad(value, "has no count");
    const v1::ServiceKind kind = rpc::ServiceOfProgram(value.substr(0, equals));
    if (kind == v1::SERVICE_KIND_UNSPECIFIED) return Bad(value, "is of no service");
    const std::string_view digits = value.substr(equals + 1);
    uint32_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc() || end != digits.data() + digits.size() || count < 1 || count > kSlotCount) {
      return Bad(value, fmt::format("is no number of replicas between 1 and {}", kSlotCount));
    }
    if (!counts.emplace(kind, static_cast<int>(count)).second) return Bad(value, "names its service once more");
  }
  return counts;
}

}  // namespace basalt::gateway
