#pragma once

// The checks before Basalt takes a cluster over. Each check reads from the API server and adds its findings; none
// changes anything. A list or an object that cannot be read becomes a finding of its own. A check returns an error if
// the server does not answer.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/preflight/finding.h"
#include "cli/preflight/kube_api.h"

namespace basalt::cli {

struct PreflightOptions {
  std::string account = "system:serviceaccount:basalt-system:basalt-gateway";
  std::vector<std::string> schedulers = {"volcano"};  // The schedulers whose plain pods get groups.
};

// The verbs that a role allows on one resource.
struct Right {
  std::string group;
  std::string resource;  // "jobs/status"
  std::string ns;        // Empty if the right is needed in all namespaces.
  std::vector<std::string> verbs;
  std::string name = {};  // Name of the one object that the right is about. Empty for all objects.
};

// Reads the rights of the roles in a manifest, one entry for each resource.
absl::StatusOr<std::vector<Right>> ReadRights(std::string_view manifest);
// The rights in deploy/rbac/gateway.yaml, and those in deploy/rbac/plugins, as the files were when this program was
// built.
const std::vector<Right>& GatewayRights();
const std::vector<Right>& PluginRights();

// The rights in deploy/rbac/owner-references.
const std::vector<Right>& OwnerReferenceRights();

absl::Status CheckVersion(KubeApi& api, Findings& findings);
absl::Status CheckDefinitions(KubeApi& api, Findings& findings);
absl::Status CheckRights(KubeApi& api, const std::vector<Right>& rights, const std::string& account,
                         Findings& findings);
// Checks rights that are only needed if the admission plugin OwnerReferencesPermissionEnforcement is on. The API server
// does not publish which plugins are on.
absl::Status CheckOwnerReferenceRights(KubeApi& api, const std::string& account, Findings& findings);
// Reports the namespaces in which the roles of plugins are bound.
absl::Status CheckPluginRights(KubeApi& api, Findings& findings);
absl::Status CheckControllers(KubeApi& api, Findings& findings);
absl::Status CheckWebhooks(KubeApi& api, const std::vector<Right>& rights, Findings& findings);
absl::Status CheckAdmission(KubeApi& api, Findings& findings);
absl::Status CheckTakeOver(KubeApi& api, const PreflightOptions& options, Findings& findings);

// Runs all checks.
absl::StatusOr<Findings> Preflight(KubeApi& api, const PreflightOptions& options);

// ---- the pure parts ----

// Checks the stored definition. `definition` is null if the server has none of this name.
Finding CheckDefinition(std::string_view name, const json::value* definition);
// Returns whether the value of upstream's flag --controllers switches the controller `name` on.
bool SwitchesOn(std::string_view controllers, std::string_view name);
// Returns the controllers that would act beside ours, given the arguments of upstream's controller manager.
std::vector<std::string> Rivals(const std::vector<std::string>& arguments);
// Returns whether the rules of a webhook match a write that this right allows.
bool Takes(const json::value& webhook, const Right& right);

}  // namespace basalt::cli
