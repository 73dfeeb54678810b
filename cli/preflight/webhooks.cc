// Checks whether the admission webhooks that are called for writes of the suite can answer at all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/preflight/checks.h"
#include "common/base/status_macros.h"
#include "common/http/http.h"
#include "common/http/target.h"

namespace basalt::cli {
namespace {

std::string_view OperationOf(std::string_view verb) {
  if (verb == "create") return "CREATE";
  if (verb == "patch" || verb == "update") return "UPDATE";
  if (verb.starts_with("delete")) return "DELETE";
  return "";
}

bool Lists(const json::value& rule, std::string_view name, std::initializer_list<std::string_view> any_of) {
  const json::value* list = Find(rule, name);
  if (list == nullptr || !list->is_array()) return false;
  for (const json::value& item : list->get_array()) {
    if (!item.is_string()) continue;
    const std::string_view text = item.get_string();
    if (std::find(any_of.begin(), any_of.end(), text) != any_of.end()) return true;
  }
  return false;
}

bool TakesResource(const json::value& rule, std::string_view resource) {
  const size_t slash = resource.find('/');
  if (slash == std::string_view::npos) return Lists(rule, "resources", {"*", "*/*", resource});
  const std::string all = fmt::format("{}/*", resource.substr(0, slash));
  const std::string any = fmt::format("*{}", resource.substr(slash));
  return Lists(rule, "resources", {"*/*", resource, all, any});
}

bool IsNarrowed(const json::value& webhook) {
  for (const std::string_view member : {"namespaceSelector", "objectSelector"}) {
    const json::value* selector = Find(webhook, member);
    if (selector != nullptr && selector->is_object() && !selector->get_object().empty()) return true;
  }
  const json::value* conditions = Find(webhook, "matchConditions");
  return conditions != nullptr && conditions->is_array() && !conditions->get_array().empty();
}

// Returns whether a service has a ready endpoint. A service without one refuses each connection.
absl::StatusOr<bool> HasEndpoints(KubeApi& api, const std::string& ns, const std::string& name) {
  KubeAnswer answer;
  bool ready = false;
  const auto look = [&](const json::value& slice) {
    const json::value* endpoints = Find(slice, "endpoints");
    if (endpoints == nullptr || !endpoints->is_array()) return;
    for (const json::value& endpoint : endpoints->get_array()) {
      const json::value* condition = FindPath(endpoint, {"conditions", "ready"});
      if (condition == nullptr || !condition->is_bool() || condition->get_bool()) ready = true;
    }
  };
  const std::string path = fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", ns);
  const std::string selector = "labelSelector=" + http::Escape(fmt::format("kubernetes.io/service-name={}", name));
  BASALT_RETURN_IF_ERROR(ForEachItem(api, path, selector, look, answer));
  if (ready || answer.ok()) return ready;
  BASALT_ASSIGN_OR_RETURN(answer, api.Get(fmt::format("/api/v1/namespaces/{}/endpoints/{}", ns, name)));
  const json::value* subsets = answer.ok() ? Find(answer.body, "subsets") : nullptr;
  if (subsets == nullptr || !subsets->is_array()) return false;
  for (const json::value& subset : subsets->get_array()) {
    const json::value* addresses = Find(subset, "addresses");
    if (addresses != nullptr && addresses->is_array() && !addresses->get_array().empty()) return true;
  }
  return false;
}

absl::Status CheckWebhook(KubeApi& api, std::string_view kind, const json::value& configuration,
                          const json::value& webhook, const std::vector<Right>& rights, Findings& findings) {
  std::vector<std::string> taken;
  for (const Right& right : rights) {
    if (Takes(webhook, right)) taken.push_back(right.resource);
  }
  if (taken.empty()) return absl::OkStatus();
  const std::string configuration_name = TextAt(configuration, {"metadata", "name"});
  Finding finding{fmt::format("webhook {}", FindString(webhook, "name")), Result::kOk, "", ""};
  const bool fails = FindString(webhook, "failurePolicy") != "Ignore";
  const std::string about = fmt::format("it judges writes of {}{}", fmt::join(taken, ", "),
                                        IsNarrowed(webhook) ? ", for some objects only" : "");
  const std::string ns = TextAt(webhook, {"clientConfig", "service", "namespace"});
  const std::string service = TextAt(webhook, {"clientConfig", "service", "name"});
  if (service.empty()) {
    finding.result = fails ? Result::kWarning : Result::kOk;
    finding.what = fmt::format("{}, at a URL: whether anybody answers there was not tried", about);
    finding.cure = fails ? "see that it is up before the take-over" : "";
    findings.push_back(std::move(finding));
    return absl::OkStatus();
  }
  BASALT_ASSIGN_OR_RETURN(const bool answers, HasEndpoints(api, ns, service));
  if (answers) {
    finding.what = fmt::format("{}; service {}/{} has endpoints", about, ns, service);
  } else {
    finding.result = fails ? Result::kProblem : Result::kWarning;
    finding.what = fmt::format("{}, and service {}/{} has no endpoints: {}", about, ns, service,
                               fails ? "every such write would be refused" : "every such write waits for its timeout");
    finding.cure = fmt::format("bring {}/{} up, or kubectl delete {} {}", ns, service, kind, configuration_name);
  }
  findings.push_back(std::move(finding));
  return absl::OkStatus();
}

}  // namespace

bool Takes(const json::value& webhook, const Right& right) {
  const json::value* rules = Find(webhook, "rules");
  if (rules == nullptr || !rules->is_array()) return false;
  for (const json::value& rule : rules->get_array()) {
    if (!Lists(rule, "apiGroups", {"*", right.group}) || !TakesResource(rule, right.resource)) continue;
    for (const std::string& verb : right.verbs) {
      const std::string_view operation = OperationOf(verb);
      if (!operation.empty() && Lists(rule, "operations", {"*", operation})) return true;
    }
  }
  return false;
}

absl::Status CheckWebhooks(KubeApi& api, const std::vector<Right>& rights, Findings& findings) {
  const size_t before = findings.size();
  for (const std::string_view kind : {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}) {
    std::vector<json::value> configurations;
    KubeAnswer answer;
    BASALT_RETURN_IF_ERROR(ForEachItem(
        api, fmt::format("/apis/admissionregistration.k8s.io/v1/{}", kind), "",
        [&](const json::value& item) { configurations.push_back(item); }, answer));
    if (!answer.ok()) {
      findings.push_back(Unreadable("webhooks", fmt::format("the {}", kind), absl::OkStatus(), answer));
      continue;
    }
    for (const json::value& configuration : configurations) {
      const json::value* webhooks = Find(configuration, "webhooks");
      if (webhooks == nullptr || !webhooks->is_array()) continue;
      for (const json::value& webhook : webhooks->get_array()) {
        BASALT_RETURN_IF_ERROR(CheckWebhook(api, kind, configuration, webhook, rights, findings));
      }
    }
  }
  if (findings.size() == before) {
    findings.push_back({"webhooks", Result::kOk, "none judges what Basalt writes; it needs none", ""});
  }
  return absl::OkStatus();
}

}  // namespace basalt::cli
