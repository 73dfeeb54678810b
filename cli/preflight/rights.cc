// Asks the server's own authorizer for the rights of the gateway's account.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "absl/strings/str_split.h"
#include "cli/preflight/checks.h"
#include "cli/preflight/gateway_rights.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"

namespace basalt::cli {
namespace {

std::vector<std::string> Texts(const json::value& object, std::string_view name) {
  std::vector<std::string> texts;
  const json::value* found = Find(object, name);
  if (found == nullptr || !found->is_array()) return texts;
  for (const json::value& text : found->get_array()) {
    if (text.is_string()) texts.emplace_back(text.get_string());
  }
  return texts;
}

// Returns the groups of an account. A user who is no service account is only in system:authenticated.
json::array GroupsOf(std::string_view account) {
  json::array groups;
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (account.starts_with(kPrefix)) {
    const std::string_view rest = account.substr(kPrefix.size());
    groups.emplace_back("system:serviceaccounts");
    groups.emplace_back(json::string(fmt::format("system:serviceaccounts:{}", rest.substr(0, rest.find(':')))));
  }
  groups.emplace_back("system:authenticated");
  return groups;
}

std::string ReviewOf(const std::string& account, const Right& right, std::string_view verb) {
  const size_t slash = right.resource.find('/');
  json::object attributes{{"verb", json::string(verb)}, {"group", right.group}, {"version", "*"}};
  attributes["resource"] = right.resource.substr(0, slash);
  if (slash != std::string::npos) attributes["subresource"] = right.resource.substr(slash + 1);
  if (!right.ns.empty()) attributes["namespace"] = right.ns;
  if (!right.name.empty()) attributes["name"] = right.name;
  json::object spec{{"user", account}, {"groups", GroupsOf(account)}, {"resourceAttributes", std::move(attributes)}};
  return ToText(json::object{
      {"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", std::move(spec)}});
}

std::string RightText(const Right& right) {
  std::string name = right.group.empty() ? right.resource : fmt::format("{}.{}", right.resource, right.group);
  if (!right.name.empty()) name += " " + right.name;
  return right.ns.empty() ? name : fmt::format("{} in {}", name, right.ns);
}

}  // namespace

absl::StatusOr<std::vector<Right>> ReadRights(std::string_view manifest) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> documents, ParseYamlDocuments(manifest));
  std::vector<Right> rights;
  for (const json::value& document : documents) {
    const std::string_view kind = FindString(document, "kind");
    const json::value* rules = Find(document, "rules");
    if ((kind != "ClusterRole" && kind != "Role") || rules == nullptr || !rules->is_array()) continue;
    const std::string ns = kind == "Role" ? TextAt(document, {"metadata", "namespace"}) : "";
    for (const json::value& rule : rules->get_array()) {
      const std::vector<std::string> names = Texts(rule, "resourceNames");
      const std::string name = names.empty() ? "" : names.front();
      for (const std::string& group : Texts(rule, "apiGroups")) {
        for (const std::string& resource : Texts(rule, "resources")) {
          rights.push_back({group, resource, ns, Texts(rule, "verbs"), name});
        }
      }
    }
  }
  if (rights.empty()) return Invalid("the manifest has no role with rules");
  return rights;
}

const std::vector<Right>& GatewayRights() {
  static const auto& rights = *new std::vector<Right>(*ReadRights(kGatewayRights));
  return rights;
}

const std::vector<Right>& OwnerReferenceRights() {
  static const auto& rights = *new std::vector<Right>(*ReadRights(kOwnerReferenceRights));
  return rights;
}

absl::Status CheckOwnerReferenceRights(KubeApi& api, const std::string& account, Findings& findings) {
  Findings asked;
  BASALT_RETURN_IF_ERROR(CheckRights(api, OwnerReferenceRights(), account, asked));
  for (Finding& finding : asked) {
    if (finding.result == Result::kUnchecked)
      continue;  // CheckRights of the gateway's rights has reported the same already.
    if (finding.result == Result::kProblem) {
      finding.result = Result::kWarning;
      finding.what +=
          ": where admission plugin OwnerReferencesPermissionEnforcement is on, as on OpenShift, the API "
          "server refuses pod groups and objects of jobs without that";
      finding.cure = "kubectl apply -f deploy/rbac/owner-references";
    }
    findings.push_back(std::move(finding));
  }
  return absl::OkStatus();
}

const std::vector<Right>& PluginRights() {
  static const auto& rights = *new std::vector<Right>(*ReadRights(kPluginRights));
  return rights;
}

absl::Status CheckPluginRights(KubeApi& api, Findings& findings) {
  const std::pair<std::string_view, std::string_view> roles[] = {
      {"ssh", "the Secret of the plugins ssh and mpi is refused"},
      {"svc", "what the plugins svc, mpi, pytorch, tensorflow and ray make is refused"}};
  std::map<std::string, std::vector<std::string>> bound;  // The namespaces in which each role is bound.
  KubeAnswer answer;
  BASALT_RETURN_IF_ERROR(ForEachItem(
      api, "/apis/rbac.authorization.k8s.io/v1/rolebindings", "",
      [&](const json::value& binding) {
        bound[TextAt(binding, {"roleRef", "name"})].push_back(TextAt(binding, {"metadata", "namespace"}));
      },
      answer));
  if (!answer.ok()) {
    findings.push_back(Unreadable("rights of plugins", "the role bindings", absl::OkStatus(), answer));
    return absl::OkStatus();
  }
  for (const auto& [plugin, without] : roles) {
    const std::vector<std::string>& namespaces = bound[fmt::format("basalt-gateway-{}", plugin)];
    Finding finding{fmt::format("rights of plugin {}", plugin), Result::kOk, "", ""};
    if (namespaces.empty()) {
      finding.result = Result::kWarning;
      finding.what = fmt::format("bound in no namespace: {}", without);
      finding.cure = fmt::format(
          "kubectl apply -n NAMESPACE -f deploy/rbac/plugins/{}.yaml, for each namespace of such jobs", plugin);
    } else {
      finding.what = fmt::format("bound in {}", fmt::join(namespaces, ", "));
    }
    findings.push_back(std::move(finding));
  }
  return absl::OkStatus();
}

absl::Status CheckRights(KubeApi& api, const std::vector<Right>& rights, const std::string& account,
                         Findings& findings) {
  for (const Right& right : rights) {
    const std::string check = fmt::format("right to {}", RightText(right));
    std::vector<std::string> denied;
    for (const std::string& verb : right.verbs) {
      BASALT_ASSIGN_OR_RETURN(
          const KubeAnswer answer,
          api.Call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", ReviewOf(account, right, verb)));
      if (!answer.ok()) {
        // Every further review would be refused, too.
        findings.push_back(Unreadable("rights", fmt::format("what {} may do", account), absl::OkStatus(), answer));
        return absl::OkStatus();
      }
      const json::value* allowed = FindPath(answer.body, {"status", "allowed"});
      if (allowed == nullptr || !allowed->is_bool() || !allowed->get_bool()) denied.push_back(verb);
    }
    if (denied.empty()) {
      findings.push_back({check, Result::kOk, fmt::format("{}", fmt::join(right.verbs, ", ")), ""});
    } else {
      findings.push_back({check, Result::kProblem, fmt::format("{} may not {}", account, fmt::join(denied, ", ")),
                          "kubectl apply -f deploy/rbac"});
    }
  }
  return absl::OkStatus();
}

}  // namespace basalt::cli
