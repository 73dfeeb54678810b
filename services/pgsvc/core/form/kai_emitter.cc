#include "services/pgsvc/core/form/kai_emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/kube/names.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/grouping/volcano_group.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kOwnOfKai[] = {"minMember", "minSubGroup", "priorityClassName"};
constexpr std::string_view kOptionalOfKai[] = {"preemptibility", "preemptionDelay", "stalenessGracePeriod", "subGroups",
                                               "topologyConstraint"};

}  // namespace

std::string KaiEmitter::watch() const { return std::string(kube::kWatchKaiPodGroups); }
std::string_view KaiEmitter::group_name_key() const { return kube::kKaiGroupNameKey; }

bool KaiEmitter::IsByRules(const ObservedGroup& observed) const {
  return IsMadeHere(observed) || FindKey(observed.object.meta().annotations(), kube::kKaiTopOwnerKey).has_value();
}

bool KaiEmitter::IsOurs(const ObservedGroup& observed, const Grouping& wanted) const {
  const kube::v1::ObjectMeta& meta = observed.object.meta();
  if (FindKey(meta.annotations(), kube::kKaiTopOwnerKey)) return true;
  const auto& owners = meta.owner_references();
  // Somebody has made the group by hand, or has removed its owner.
  if (owners.empty() && !wanted.owner.uid.empty() && meta.name().ends_with(wanted.owner.uid)) return true;
  return std::any_of(owners.begin(), owners.end(),
                     [&wanted](const auto& owner) { return owner.uid() == wanted.owner.uid; });
}

json::value KaiEmitter::SpecOf(const ObservedGroup& group) const {
  const absl::StatusOr<json::value> parsed = ParseJson(group.spec_json.empty() ? "{}" : group.spec_json);
  return parsed.ok() ? *parsed : json::value(json::object());
}

// Writes a class that the rule itself names whether it exists or not (5.4).
RenderedGroup KaiEmitter::Render(const GroupPlanOfPods& plan, const ClusterView& cluster) const {
  RenderedGroup rendered = Render(plan.grouping);
  const std::string& name = plan.grouping.priority_class;
  if (plan.grouping.has_default_priority && !cluster.HasPriorityClass(name)) {
    rendered.losses.push_back(fmt::format(
        "there is no PriorityClass {}, which the rule gives to a group for which nobody names a class", name));
  }
  return rendered;
}

RenderedGroup KaiEmitter::Render(const Grouping& grouping) const {
  RenderedGroup rendered{.object = KaiGroupOf(grouping)};
  json::object& spec = rendered.object["spec"].as_object();
  rendered.losses = FitInto(schema(), spec);
  for (std::string& loss : KaiLossesOf(grouping)) rendered.losses.push_back(std::move(loss));
  if (const std::string fields = GroupedFields(kOptionalOfKai, rendered.object); !fields.empty()) {
    ObjectIn(rendered.object["metadata"].as_object(), "annotations")[kube::kGroupedFieldsKey] = fields;
  }
  return rendered;
}

// Queue and node pool are fixed at the creation of the group.
std::optional<GroupUpdate> KaiEmitter::UpdateOf(const ObservedGroup& observed, const Grouping& wanted,
                                                const RenderedGroup& rendered) const {
  PatchRules rules{.own = kOwnOfKai,
                   .optional = kOptionalOfKai,
                   .follows_queue = options_.follows_queue && !wanted.has_default_queue,
                   .fixed_labels = {options_.node_pool_label},
                   .is_only_owner = true};
  const kube::v1::ObjectMeta& meta = observed.object.meta();
  if (!options_.follows_queue && FindKey(meta.labels(), options_.queue_label)) {
    rules.fixed_labels.insert(options_.queue_label);
  }
  return GroupUpdateOf(meta, SpecOf(observed), rendered.object, rules);
}

// The scheduler never places a pod that names any other subgroup (weakness G18).
std::set<std::string> KaiEmitter::LeavesIn(const ObservedGroup& observed, const std::set<std::string>& leaves) const {
  std::set<std::string> known;
  const json::value spec = SpecOf(observed);
  const json::value* const sub_groups = Find(spec, "subGroups");
  if (sub_groups == nullptr || !sub_groups->is_array()) return known;
  for (const json::value& sub_group : sub_groups->get_array()) {
    const std::string name(FindString(sub_group, "name"));
    if (leaves.contains(name)) known.insert(name);
  }
  return known;
}

int64_t KaiEmitter::LeastPodsOf(const Grouping& grouping) const { return LeastPodsForKai(grouping); }

}  // namespace basalt::pgsvc
