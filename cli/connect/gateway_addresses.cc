#include "cli/connect/gateway_addresses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/discovery/gateway_names.h"
#include "common/discovery/resolver.h"

namespace basalt::cli {

absl::StatusOr<bool> AskInTurn(const std::string& gateways, std::vector<std::string>& failures,
                               absl::FunctionRef<bool(const std::string& address)> ask) {
  const std::vector<std::string> values = absl::StrSplit(gateways, ',');
  BASALT_ASSIGN_OR_RETURN(const std::vector<discovery::GatewayName> names, discovery::ParseGatewayNames(values));
  for (const discovery::GatewayName& name : names) {
    std::vector<std::string> addresses = {ToText(name.at)};
    if (name.many) {
      absl::StatusOr<std::vector<std::string>> found = discovery::LookUp(name.at);
      if (!found.ok()) {
        failures.emplace_back(found.status().message());
        continue;
      }
      addresses = *std::move(found);
    }
    for (const std::string& address : addresses) {
      if (ask(address)) return true;
    }
  }
  return false;
}

absl::Status NoGateway(absl::StatusCode code, const std::vector<std::string>& failures) {
  return MakeStatus(code, fmt::format("{}; name it with --gateway or BASALT_GATEWAY", fmt::join(failures, "; ")));
}

}  // namespace basalt::cli
