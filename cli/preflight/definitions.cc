// Checks the version of the API server, and the definitions of the resources that the suite reads and writes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "absl/strings/str_split.h"
#include "cli/preflight/checks.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::cli {
namespace {

constexpr int kOldestMinor = 32;

struct Need {
  std::string_view name;
  std::string_view version;
  bool status = false;  // The status is written as a sub-resource.
  // Fields without which nothing works. The API server drops a field that the schema does not have.
  std::vector<std::string_view> must;
  // Fields without which only the feature of the field is lost.
  std::vector<std::string_view> should;
};

const std::vector<Need>& Needs() {
  static const auto& needs = *new std::vector<Need>{
      {"jobs.batch.volcano.sh",
       "v1alpha1",
       true,
       {"spec.tasks", "spec.minAvailable", "status.controlledResources", "status.state.phase", "status.conditions",
        "status.version", "status.retryCount", "status.taskStatusCount"},
       {"status.state.reason", "status.state.message", "spec.minSuccess", "spec.networkTopology"}},
      {"commands.bus.volcano.sh", "v1alpha1", false, {"action", "target"}, {}},
      {"podgroups.scheduling.volcano.sh",
       "v1beta1",
       false,
       {"spec.minMember", "spec.minResources", "spec.queue", "status.phase"},
       {"spec.minTaskMember", "spec.subGroupPolicy", "spec.networkTopology"}},
      {"queues.scheduling.volcano.sh", "v1beta1", true, {"spec.weight", "status.state"}, {"spec.parent"}},
  };
  return needs;
}

// Returns whether a structural schema keeps the field of this path.
bool Keeps(const json::value& schema, std::string_view path) {
  const json::value* at = &schema;
  for (const absl::string_view part : absl::StrSplit(ToAbsl(path), '.')) {
    const json::value* all = Find(*at, "x-kubernetes-preserve-unknown-fields");
    if (all != nullptr && all->is_bool() && all->get_bool()) return true;
    at = FindPath(*at, {"properties", ToStd(part)});
    if (at == nullptr) return false;
  }
  return true;
}

std::vector<std::string> Lost(const json::value& schema, const std::vector<std::string_view>& paths) {
  std::vector<std::string> lost;
  for (const std::string_view path : paths) {
    if (!Keeps(schema, path)) lost.emplace_back(path);
  }
  return lost;
}

bool IsTrue(const json::value& object, std::string_view name) {
  const json::value* found = Find(object, name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

// Returns whether there is a value other than null at the path. An empty object counts.
bool Has(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* found = FindPath(object, path);
  return found != nullptr && !found->is_null();
}

bool IsEstablished(const json::value& definition) {
  const json::value* conditions = FindPath(definition, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const json::value& condition : conditions->get_array()) {
    if (FindString(condition, "type") == "Established") return FindString(condition, "status") == "True";
  }
  return false;
}

std::string OriginOf(const json::value& definition) {
  const std::string made = TextAt(definition, {"metadata", "annotations", "controller-gen.kubebuilder.io/version"});
  return made.empty() ? "ours, or written by hand" : fmt::format("upstream's (controller-gen {})", made);
}

constexpr std::string_view kApplyOurs = "kubectl apply --server-side --force-conflicts -f deploy/crds";

}  // namespace

Finding CheckDefinition(std::string_view name, const json::value* definition) {
  Finding finding{fmt::format("definition {}", name), Result::kProblem, "", std::string(kApplyOurs)};
  const Need* need = nullptr;
  for (const Need& known : Needs()) {
    if (known.name == name) need = &known;
  }
  if (definition == nullptr) {
    finding.what = "it is not there: the server does not know this resource";
    finding.cure = "kubectl apply -f deploy/crds";
    return finding;
  }
  const json::value* wanted = nullptr;
  std::string stored;
  const json::value* versions = FindPath(*definition, {"spec", "versions"});
  if (versions != nullptr && versions->is_array()) {
    for (const json::value& version : versions->get_array()) {
      if (FindString(version, "name") == need->version) wanted = &version;
      if (IsTrue(version, "storage")) stored = FindString(version, "name");
    }
  }
  if (wanted == nullptr || !IsTrue(*wanted, "served")) {
    finding.what = fmt::format("version {} is not served", need->version);
    return finding;
  }
  if (!IsEstablished(*definition)) {
    finding.what = "it is not established: its names collide with another definition's, or it is quite new";
    finding.cure = fmt::format("kubectl describe crd {}", name);
    return finding;
  }
  if (need->status && !Has(*wanted, {"subresources", "status"})) {
    finding.what = "it has no status sub-resource: every status write would be refused";
    return finding;
  }
  const json::value* schema = FindPath(*wanted, {"schema", "openAPIV3Schema"});
  const std::vector<std::string> must = schema == nullptr ? std::vector<std::string>{} : Lost(*schema, need->must);
  if (!must.empty()) {
    finding.what = fmt::format("its schema drops what cannot be done without: {}", fmt::join(must, ", "));
    return finding;
  }
  const std::string facts = fmt::format("{}, stored as {}", OriginOf(*definition), stored);
  const std::vector<std::string> should = schema == nullptr ? std::vector<std::string>{} : Lost(*schema, need->should);
  if (!should.empty()) {
    finding.result = Result::kWarning;
    finding.what = fmt::format("{}; its schema drops {}", facts, fmt::join(should, ", "));
    return finding;
  }
  finding.result = Result::kOk;
  finding.what = fmt::format("{}; it keeps every field that is needed", facts);
  finding.cure.clear();
  return finding;
}

absl::Status CheckVersion(KubeApi& api, Findings& findings) {
  BASALT_ASSIGN_OR_RETURN(const KubeAnswer answer, api.Get("/version"));
  constexpr std::string_view kCheck = "API server";
  if (!answer.ok()) {
    findings.push_back(Unreadable(kCheck, "its version", absl::OkStatus(), answer));
    return absl::OkStatus();
  }
  const std::string version = TextAt(answer.body, {"gitVersion"});
  const std::string minor = TextAt(answer.body, {"minor"});
  int number = 0;
  std::from_chars(minor.data(), minor.data() + minor.size(), number);
  if (TextAt(answer.body, {"major"}) == "1" && number < kOldestMinor) {
    findings.push_back({std::string(kCheck), Result::kWarning,
                        fmt::format("{}: Basalt is made for Kubernetes 1.{} and later", version, kOldestMinor),
                        "upgrade the cluster, or try it on one that may fail"});
  } else {
    findings.push_back({std::string(kCheck), Result::kOk, version, ""});
  }
  return absl::OkStatus();
}

absl::Status CheckDefinitions(KubeApi& api, Findings& findings) {
  for (const Need& need : Needs()) {
    BASALT_ASSIGN_OR_RETURN(
        const KubeAnswer answer,
        api.Get(fmt::format("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", need.name)));
    if (answer.ok() || answer.status == 404) {
      findings.push_back(CheckDefinition(need.name, answer.ok() ? &answer.body : nullptr));
    } else {
      findings.push_back(
          Unreadable(fmt::format("definition {}", need.name), "the definition", absl::OkStatus(), answer));
    }
  }
  BASALT_ASSIGN_OR_RETURN(
      const KubeAnswer kai,
      api.Get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.run.ai"));
  findings.push_back({"definition podgroups.scheduling.run.ai", Result::kOk,
                      kai.ok() ? "KAI's own; pods of its scheduler are left to KAI" : "not there; it is not needed",
                      ""});
  return absl::OkStatus();
}

}  // namespace basalt::cli
