#include <vector>

#include "cli/preflight/checks.h"
#include "common/base/status_macros.h"

namespace basalt::cli {

absl::StatusOr<Findings> Preflight(KubeApi& api, const PreflightOptions& options) {
  Findings findings;
  BASALT_RETURN_IF_ERROR(CheckVersion(api, findings));
  BASALT_RETURN_IF_ERROR(CheckDefinitions(api, findings));
  BASALT_RETURN_IF_ERROR(CheckRights(api, GatewayRights(), options.account, findings));
  BASALT_RETURN_IF_ERROR(CheckOwnerReferenceRights(api, options.account, findings));
  BASALT_RETURN_IF_ERROR(CheckPluginRights(api, findings));
  BASALT_RETURN_IF_ERROR(CheckControllers(api, findings));
  std::vector<Right> rights = GatewayRights();
  rights.insert(rights.end(), PluginRights().begin(), PluginRights().end());
  BASALT_RETURN_IF_ERROR(CheckWebhooks(api, rights, findings));
  BASALT_RETURN_IF_ERROR(CheckAdmission(api, findings));
  BASALT_RETURN_IF_ERROR(CheckTakeOver(api, options, findings));
  return findings;
}

}  // namespace basalt::cli
