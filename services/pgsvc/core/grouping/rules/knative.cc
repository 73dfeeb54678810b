// Knative services (pod-grouper 6.9).
#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/grouping/rules/rules.h"
#include "services/pgsvc/core/integers.h"

namespace basalt::pgsvc {

namespace {

constexpr std::string_view kKnativeApiVersion = "serving.knative.dev/v1";
// This label of a pod names its Knative Revision, which owns the group.
constexpr std::string_view kRevisionLabel = "serving.knative.dev/revision";
// This annotation of a Knative Revision has the minimum of its group.
constexpr std::string_view kMinScaleAnnotation = "autoscaling.knative.dev/min-scale";

// Whether the revision's pods share one group. Existing pods show in which way they were grouped.
absl::StatusOr<bool> IsGang(const RuleInput& input, ObjectView revision) {
  if (!input.options.gangs_knative_revisions) return false;
  std::set<std::string> groups;
  for (const ObjectView pod : input.cluster.PodsWithLabels(input.pod.ns(), {{kRevisionLabel, revision.name()}})) {
    const json::string* const group = pod.Annotation(kube::kKaiGroupNameKey);
    if (group != nullptr && !groups.insert(std::string(*group)).second) return true;
  }
  if (groups.size() != 1) return groups.empty();
  const ObjectView group = input.cluster.Find(kKaiApiVersion, "PodGroup", input.pod.ns(), *groups.begin());
  if (group.empty()) return true;
  const std::vector<OwnerReference> owners = group.owners();
  if (!owners.empty() && owners.front().kind == "Revision") return true;
  if (!owners.empty() && owners.front().kind == "Pod") return false;
  return Invalid(fmt::format("PodGroup {}/{}: metadata.ownerReferences: must name a Revision or a Pod first",
                             input.pod.ns(), *groups.begin()));
}

}  // namespace

absl::StatusOr<Grouping> GroupKnativeService(const RuleInput& input) {
  const json::string* const name = input.pod.Label(kRevisionLabel);
  if (name == nullptr || name->empty()) {
    return Invalid(fmt::format("{}: label {}: is required", input.pod.Described(), kRevisionLabel));
  }
  const ObjectView revision = input.cluster.Find(kKnativeApiVersion, "Revision", input.pod.ns(), *name);
  if (revision.empty()) {
    return absl::NotFoundError(fmt::format("Revision {}/{} does not exist", input.pod.ns(), std::string_view(*name)));
  }
  BASALT_ASSIGN_OR_RETURN(const bool is_gang, IsGang(input, revision));
  Grouping grouping = IdentityFrom(input, revision);
  if (!is_gang) {
    grouping.name = DefaultNameOf(input.pod);
    grouping.owner = OwnerOf(input.pod);
    SetDefaultPriority(kInference, grouping);
    return grouping;
  }
  FindPriority(input, {revision}, kInference, grouping);
  if (const json::string* const text = revision.Annotation(kMinScaleAnnotation); text != nullptr) {
    const std::optional<int32_t> minimum = ParseInt32(*text);
    if (minimum && *minimum < 0) {
      return Invalid(fmt::format("{}: annotation {}: must not be negative", revision.Described(), kMinScaleAnnotation));
    }
    grouping.minimum.count = minimum.value_or(1);
  }
  return grouping;
}

}  // namespace basalt::pgsvc
