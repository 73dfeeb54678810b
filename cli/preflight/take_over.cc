// Counts the objects that Basalt would take over: jobs by phase, jobs that Basalt cannot read, groups and plain pods.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/preflight/checks.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/http.h"
#include "common/http/target.h"
#include "common/kube/decode/decode_job.h"
#include "common/kube/names.h"

namespace basalt::cli {
namespace {

constexpr size_t kNamed = 5;  // A finding about many objects names so many of them.

struct Some {
  size_t count = 0;
  std::vector<std::string> first;
  void Add(std::string text) {
    if (++count <= kNamed) first.push_back(std::move(text));
  }
  std::string Text() const {
    return fmt::format("{}{}", fmt::join(first, "; "),
                       count > kNamed ? fmt::format("; and {} more", count - kNamed) : std::string());
  }
};

std::string Counted(const std::map<std::string, size_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

const json::value* ControllerOf(const json::value& object) {
  const json::value* owners = FindPath(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return nullptr;
  for (const json::value& owner : owners->get_array()) {
    const json::value* controller = Find(owner, "controller");
    if (controller != nullptr && controller->is_bool() && controller->get_bool()) return &owner;
  }
  return nullptr;
}

// Returns which kind of owner a group has, by its name (job spec 9.8, podgroup spec 5).
std::string_view KindOfGroup(const json::value& group) {
  const std::string name = TextAt(group, {"metadata", "name"});
  const json::value* owner = ControllerOf(group);
  if (owner != nullptr && FindString(*owner, "kind") == "Job" &&
      FindString(*owner, "apiVersion") == kube::kJobApiVersion) {
    const std::string_view job = FindString(*owner, "name");
    if (name == fmt::format("{}-{}", job, FindString(*owner, "uid"))) return "of jobs";
    if (name == job) return "of jobs under their old name";
  }
  return name.starts_with("podgroup-") ? "of plain pods" : "of others";
}

absl::Status CountJobs(KubeApi& api, Findings& findings) {
  std::map<std::string, size_t> phases;
  size_t ours = 0;
  Some unreadable;
  KubeAnswer answer;
  const auto look = [&](const json::value& job) {
    const std::string phase = TextAt(job, {"status", "state", "phase"});
    ++phases[phase.empty() ? "new" : phase];
    if (FindPath(job, {"status", "controlledResources", kube::kControlledStateKey}) != nullptr) ++ours;
    const absl::StatusOr<kube::DecodedJob> decoded = kube::DecodeStoredJob(ToText(job));
    if (!decoded.ok()) {
      unreadable.Add(fmt::format("{}: {}", NameOf(job), ToStd(decoded.status().message())));
    } else if (!decoded->errors.empty()) {
      unreadable.Add(fmt::format("{}: {}", NameOf(job), decoded->errors.front()));
    }
  };
  BASALT_RETURN_IF_ERROR(ForEachItem(api, "/apis/batch.volcano.sh/v1alpha1/jobs", "", look, answer));
  if (answer.status == 404) return absl::OkStatus();  // The finding about the definition reports that it is missing.
  if (!answer.ok()) {
    findings.push_back(Unreadable("jobs", "the jobs", absl::OkStatus(), answer));
    return absl::OkStatus();
  }
  size_t total = 0;
  for (const auto& [phase, count] : phases) total += count;
  findings.push_back({"jobs", Result::kOk,
                      total == 0
                          ? "there are none"
                          : fmt::format("{} would be taken over as they are: {}{}", total, Counted(phases),
                                        ours == 0 ? std::string() : fmt::format("; {} were Basalt's before", ours)),
                      ""});
  if (unreadable.count > 0) {
    findings.push_back(
        {"jobs that cannot be read", Result::kWarning,
         fmt::format("{} would stand still, with words in status.state: {}", unreadable.count, unreadable.Text()),
         "correct the named fields; their pods run on meanwhile"});
  }
  return absl::OkStatus();
}

absl::Status CountGroups(KubeApi& api, Findings& findings) {
  std::map<std::string, size_t> kinds;
  KubeAnswer answer;
  BASALT_RETURN_IF_ERROR(ForEachItem(
      api, "/apis/scheduling.volcano.sh/v1beta1/podgroups", "",
      [&](const json::value& group) { ++kinds[std::string(KindOfGroup(group))]; }, answer));
  if (answer.status == 404) return absl::OkStatus();
  if (!answer.ok()) {
    findings.push_back(Unreadable("PodGroups", "the PodGroups", absl::OkStatus(), answer));
  } else {
    findings.push_back({"PodGroups", Result::kOk,
                        kinds.empty() ? "there are none" : fmt::format("kept as they are: {}", Counted(kinds)), ""});
  }
  return absl::OkStatus();
}

absl::Status CountPods(KubeApi& api, const PreflightOptions& options, Findings& findings) {
  size_t bound = 0;
  Some bare;
  for (const std::string& scheduler : options.schedulers) {
    KubeAnswer answer;
    const auto look = [&](const json::value& pod) {
      if (!TextAt(pod, {"metadata", "labels", kube::kJobNameKey}).empty()) return;
      if (!TextAt(pod, {"metadata", "annotations", kube::kGroupNameKey}).empty()) {
        ++bound;
        return;
      }
      const std::string phase = TextAt(pod, {"status", "phase"});
      if (phase != "Succeeded" && phase != "Failed") bare.Add(NameOf(pod));
    };
    BASALT_RETURN_IF_ERROR(ForEachItem(
        api, "/api/v1/pods", "fieldSelector=" + http::Escape("spec.schedulerName=" + scheduler), look, answer));
    if (!answer.ok()) {
      findings.push_back(
          Unreadable("plain pods", fmt::format("the pods of scheduler {}", scheduler), absl::OkStatus(), answer));
      return absl::OkStatus();
    }
  }
  std::string what = fmt::format("{} have a group", bound);
  if (bare.count > 0) what += fmt::format("; {} would get one: {}", bare.count, bare.Text());
  findings.push_back({"plain pods", Result::kOk, std::move(what), ""});
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTakeOver(KubeApi& api, const PreflightOptions& options, Findings& findings) {
  BASALT_RETURN_IF_ERROR(CountJobs(api, findings));
  BASALT_RETURN_IF_ERROR(CountGroups(api, findings));
  return CountPods(api, options, findings);
}

}  // namespace basalt::cli
