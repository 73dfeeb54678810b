// Checks the admission policies of the API server. At kubectl apply they refuse and complete objects that the suite
// could only report on later.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>

#include "cli/preflight/checks.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kApi = "/apis/admissionregistration.k8s.io/v1";

struct Kind {
  std::string_view plural;
  std::string_view bindings;
  std::string_view since;
  std::string_view without;  // The consequence if policies are missing, for the finding.
  // The policies in the files of deploy/admission, which are evaluated once for an object. The policies in its
  // subfolders are optional.
  std::vector<std::string_view> policies;
};

const std::vector<Kind>& Kinds() {
  static const auto& kinds = *new std::vector<Kind>{
      {"validatingadmissionpolicies",
       "validatingadmissionpolicybindings",
       "1.30",
       "what the definitions do not refuse is refused by basaltctl, and of kubectl told afterwards: in the status of "
       "the job, as an Event",
       {"jobs.basalt.dev", "jobs-new.basalt.dev", "jobs-fixed.basalt.dev", "jobs-templates.basalt.dev",
        "jobs-advice.basalt.dev", "podgroups.basalt.dev", "pods.basalt.dev", "queues.basalt.dev",
        "queues-closing.basalt.dev", "queues-protected.basalt.dev", "queues-hierarchy.basalt.dev"}},
      {"mutatingadmissionpolicies",
       "mutatingadmissionpolicybindings",
       "1.36",
       "defaults are not stored: jobs run by them all the same, and kubectl does not show them",
       {"jobs-defaults.basalt.dev", "jobs-defaults-kept.basalt.dev", "podgroups-queue.basalt.dev",
        "queues-defaults.basalt.dev", "queues-hierarchy.basalt.dev"}}};
  return kinds;
}

// Returns the texts at `path` of all objects of the plural. Nullopt if the objects cannot be read; a finding about
// `kind` is added then.
absl::StatusOr<std::optional<std::set<std::string, std::less<>>>> ReadTexts(
    KubeApi& api, const Kind& kind, std::string_view plural, std::initializer_list<std::string_view> path,
    Findings& findings) {
  KubeAnswer answer;
  std::set<std::string, std::less<>> texts;
  BASALT_RETURN_IF_ERROR(ForEachItem(
      api, fmt::format("{}/{}", kApi, plural), "",
      [&](const json::value& object) { texts.emplace(TextAt(object, path)); }, answer));
  if (answer.ok()) return texts;
  findings.push_back(Unreadable(kind.plural, fmt::format("the {}", plural), absl::OkStatus(), answer));
  return std::nullopt;
}

absl::Status CheckKind(KubeApi& api, const Kind& kind, bool is_served, Findings& findings) {
  Finding finding{std::string(kind.plural), Result::kOk, "", ""};
  if (!is_served) {
    finding.what = fmt::format("not served in v1, which is so from Kubernetes {}; {}", kind.since, kind.without);
    findings.push_back(std::move(finding));
    return absl::OkStatus();
  }
  BASALT_ASSIGN_OR_RETURN(const auto bound, ReadTexts(api, kind, kind.bindings, {"spec", "policyName"}, findings));
  if (!bound) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const auto policies, ReadTexts(api, kind, kind.plural, {"metadata", "name"}, findings));
  if (!policies) return absl::OkStatus();
  std::vector<std::string_view> missing = kind.policies;
  // A policy without a binding has no effect.
  std::erase_if(missing, [&](std::string_view name) { return policies->contains(name) && bound->contains(name); });
  if (missing.empty()) {
    finding.what = "those of deploy/admission are there";
  } else {
    finding.what = fmt::format("{} not there; nothing needs it, but {}", fmt::join(missing, ", "), kind.without);
    finding.cure = "kubectl apply -f deploy/admission";
  }
  findings.push_back(std::move(finding));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAdmission(KubeApi& api, Findings& findings) {
  BASALT_ASSIGN_OR_RETURN(const KubeAnswer served, api.Get(std::string(kApi)));
  if (!served.ok() && served.status != 404) {
    findings.push_back(Unreadable("admission policies", "what the server serves", absl::OkStatus(), served));
    return absl::OkStatus();
  }
  const json::value* resources = served.ok() ? Find(served.body, "resources") : nullptr;
  for (const Kind& kind : Kinds()) {
    bool is_served = false;
    if (resources != nullptr && resources->is_array()) {
      for (const json::value& resource : resources->get_array()) {
        is_served = is_served || FindString(resource, "name") == kind.plural;
      }
    }
    BASALT_RETURN_IF_ERROR(CheckKind(api, kind, is_served, findings));
  }
  return absl::OkStatus();
}

}  // namespace basalt::cli
