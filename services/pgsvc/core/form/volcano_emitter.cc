#include "services/pgsvc/core/form/volcano_emitter.h"

#include <map>
#include <string>

#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"
#include "common/kube/resources/resources.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/volcano_group.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kOwnOfVolcano[] = {"minMember", "minResources"};
constexpr std::string_view kOptionalOfVolcano[] = {"priorityClassName", "networkTopology", "subGroupPolicy"};

constexpr std::string_view kVolcanoKeys = "volcano.sh/";

using Usage = std::map<std::string, kube::ResourceMap>;

absl::StatusOr<kube::ResourceMap> UsageOf(const kube::v1::Pod& pod) {
  const std::string& text = pod.grouping().spec_json();
  BASALT_ASSIGN_OR_RETURN(const json::value spec, ParseJson(text.empty() ? "{}" : text));
  return kube::PodQuotaUsage(spec, kube::RequestDefaults::kAsStored);
}

absl::StatusOr<Usage> UsageOf(const GroupPlanOfPods& plan) {
  Usage usage;
  for (const auto& [leaf, pod] : plan.leaf_pods) {
    BASALT_ASSIGN_OR_RETURN(usage[leaf], UsageOf(*pod));
  }
  BASALT_ASSIGN_OR_RETURN(usage[""], UsageOf(*plan.pod));
  return usage;
}

}  // namespace

std::string VolcanoEmitter::watch() const { return std::string(kube::kWatchPodGroups); }
std::string_view VolcanoEmitter::group_name_key() const { return kube::kGroupNameKey; }

json::value VolcanoEmitter::SpecOf(const ObservedGroup& group) const {
  return kube::PodGroupSpecJson(group.object.spec());
}

RenderedGroup VolcanoEmitter::Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const {
  const json::value pod = PodObject(*plan.pod, group_name_key());
  VolcanoGroup group =
      VolcanoGroupOf({.grouping = plan.grouping, .pod = ObjectView(pod), .usage = UsageOf(plan), .cluster = cluster});
  // Says that the group is ours, too.
  json::object& annotations = ObjectIn(group.object["metadata"].as_object(), "annotations");
  annotations[kube::kGroupedFieldsKey] = GroupedFields(kOptionalOfVolcano, group.object);
  std::string inherited;
  for (const auto& [key, value] : annotations) {
    if (key.starts_with(kVolcanoKeys)) inherited += (inherited.empty() ? "" : ",") + std::string(key);
  }
  if (!inherited.empty()) annotations[kube::kInheritedKey] = inherited;
  return {.object = std::move(group.object), .losses = std::move(group.losses)};
}

std::optional<GroupUpdate> VolcanoEmitter::UpdateOf(const ObservedGroup& observed, const Grouping&,
                                                    const RenderedGroup& rendered) const {
  const PatchRules rules{.own = kOwnOfVolcano,
                         .optional = kOptionalOfVolcano,
                         .follows_queue = rendered.object.at("spec").as_object().contains("queue"),
                         .fixed_labels = {}};
  return GroupUpdateOf(observed.object.meta(), SpecOf(observed), rendered.object, rules);
}

int64_t VolcanoEmitter::LeastPodsOf(const Grouping& grouping) const { return LeastPods(grouping); }

}  // namespace basalt::pgsvc
