#pragma once

// What is looked at before Basalt takes a cluster over. Each check reads and adds its lines; none changes anything, and
// what cannot be read becomes a line of its own. An error: the server does not answer.
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
  std::vector<std::string> schedulers = {"volcano"};  // Whose plain pods get groups.
};

// One rule of the gateway's role: each verb on each resource.
struct Right {
  std::string group;
  std::string resource;  // "jobs/status"
  std::string ns;        // Empty: everywhere.
  std::vector<std::string> verbs;
  std::string name = {};  // Of the one object that the rule is about; empty: all of them.
};

// Of the roles in a manifest; one entry for each resource.
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
// Only needed where the admission plugin OwnerReferencesPermissionEnforcement is on, which the API server says nowhere.
absl::Status CheckOwnerReferenceRights(KubeApi& api, const std::string& account, Findings& findings);
// In which namespaces the roles of plugins are bound.
absl::Status CheckPluginRights(KubeApi& api, Findings& findings);
absl::Status CheckControllers(KubeApi& api, Findings& findings);
absl::Status CheckWebhooks(KubeApi& api, const std::vector<Right>& rights, Findings& findings);
absl::Status CheckAdmission(KubeApi& api, Findings& findings);
absl::Status CheckTakeOver(KubeApi& api, const PreflightOptions& options, Findings& findings);

// All of them.
absl::StatusOr<Findings> Preflight(KubeApi& api, const PreflightOptions& options);

// ---- the pure parts ----

// The definition as it is stored, or null where there is none.
Finding CheckDefinition(std::string_view name, const json::value* definition);
// Whether a list of controllers as upstream's flag --controllers takes it switches this one on.
bool SwitchesOn(std::string_view controllers, std::string_view name);
// The controllers that would act beside ours, given the flags of upstream's controller manager.
std::vector<std::string> Rivals(const std::vector<std::string>& arguments);
// Whether a webhook's rules take a write that this right allows.
bool Takes(const json::value& webhook, const Right& right);

}  // namespace basalt::cli
