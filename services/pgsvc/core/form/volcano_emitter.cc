#include "services/pgsvc/core/form/volcano_emitter.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"
#include "common/kube/resources/resources.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/volcano_group.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kOwnOfVolcano[] = {"minMember", "minResources"};
constexpr std::string_view kNetworkTopology = "networkTopology";
constexpr std::string_view kSubGroupPolicy = "subGroupPolicy";
constexpr std::string_view kTierName = "highestTierName";
constexpr std::string_view kOptionalOfVolcano[] = {"priorityClassName", kNetworkTopology, kSubGroupPolicy};

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

// Removes a topology whose tier cannot be named. Without the tier, releases that know tiers only by number would take
// it for the lowest tier.
void FitTopology(const std::string& where, bool can_name_tiers, json::object& object,
                 std::vector<std::string>& losses) {
  const auto topology = object.find(kNetworkTopology);
  if (can_name_tiers || topology == object.end() || Find(topology->value(), kTierName) == nullptr) return;
  losses.push_back(
      fmt::format("{}: {}.{} is not known to this cluster's definition of pod groups: the topology is left out", where,
                  kNetworkTopology, kTierName));
  object.stable_erase(topology);
}

// Removes from `spec` what the definition cannot store.
void FitInto(const SpecSchema& schema, json::object& spec, std::vector<std::string>& losses) {
  FitTopology("the group", schema.Knows({kNetworkTopology, kTierName}), spec, losses);
  if (json::value* const policies = spec.if_contains(kSubGroupPolicy)) {
    const bool can_name_tiers = schema.Knows({kSubGroupPolicy, "items", kNetworkTopology, kTierName});
    for (json::value& policy : policies->as_array()) {
      FitTopology(fmt::format("subgroup {}", FindString(policy, "name")), can_name_tiers, policy.as_object(), losses);
    }
  }
  for (std::string& loss : schema.Prune(spec)) losses.push_back(std::move(loss));
}

}  // namespace

std::string VolcanoEmitter::watch() const { return std::string(kube::kWatchPodGroups); }
std::string_view VolcanoEmitter::group_name_key() const { return kube::kGroupNameKey; }

// Without subgroups the group would look like one of an earlier release.
GroupForm VolcanoEmitter::form() const { return {.has_sub_group_minimum = schema().Knows({kSubGroupPolicy})}; }

json::value VolcanoEmitter::SpecOf(const ObservedGroup& group) const {
  return kube::PodGroupSpecJson(group.object.spec());
}

RenderedGroup VolcanoEmitter::Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const {
  const json::value pod = PodObject(*plan.pod, group_name_key());
  VolcanoGroup group =
      VolcanoGroupOf({.grouping = plan.grouping, .pod = ObjectView(pod), .usage = UsageOf(plan), .cluster = cluster});
  FitInto(schema(), group.object["spec"].as_object(), group.losses);
  // The annotation also marks the group as ours.
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
