#include "services/pgsvc/core/grouping/kai_group.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/pgsvc/core/grouping/group_json.h"

namespace basalt::pgsvc {

namespace {

void SetText(std::string_view name, const std::string& text, json::object& object) {
  if (!text.empty()) object[name] = text;
}

json::object TopologyOf(const Topology& topology) {
  json::object object;
  SetText("preferredTopologyLevel", topology.preferred, object);
  SetText("requiredTopologyLevel", topology.required, object);
  SetText("topology", topology.name, object);
  return object;
}

void SetMinimum(const Minimum& minimum, json::object& object) {
  object[minimum.of_sub_groups ? "minSubGroup" : "minMember"] = minimum.count;
}

json::array SubGroupsOf(const Grouping& grouping) {
  json::array sub_groups;
  for (const SubGroup& sub_group : grouping.sub_groups) {
    json::object& one = sub_groups.emplace_back(json::object{{"name", sub_group.name}}).as_object();
    SetText("parent", sub_group.parent, one);
    SetMinimum(sub_group.minimum, one);
    if (sub_group.topology != Topology()) one["topologyConstraint"] = TopologyOf(sub_group.topology);
  }
  return sub_groups;
}

}  // namespace

json::object KaiGroupOf(const Grouping& grouping) {
  json::object metadata{{"name", grouping.name}, {"namespace", grouping.ns}};
  if (!grouping.labels.empty()) metadata["labels"] = TextsOf(grouping.labels);
  if (!grouping.annotations.empty()) metadata["annotations"] = TextsOf(grouping.annotations);
  metadata["ownerReferences"] = json::array{OwnerReferenceOf(grouping.owner)};
  json::object spec;
  SetMinimum(grouping.minimum, spec);
  SetText("queue", grouping.queue, spec);
  SetText("priorityClassName", grouping.priority_class, spec);
  SetText("preemptibility", grouping.preemptibility, spec);
  SetText("preemptionDelay", grouping.preemption_delay, spec);
  SetText("stalenessGracePeriod", grouping.staleness_grace_period, spec);
  // Levels without the name of a topology have no effect, and are dropped.
  spec["topologyConstraint"] = grouping.topology.name.empty() ? json::object() : TopologyOf(grouping.topology);
  json::array sub_groups = SubGroupsOf(grouping);
  if (!sub_groups.empty()) spec["subGroups"] = std::move(sub_groups);
  json::object object{{"apiVersion", kKaiApiVersion}, {"kind", "PodGroup"}};
  object["metadata"] = std::move(metadata);
  object["spec"] = std::move(spec);
  return object;
}

std::vector<std::string> KaiLossesOf(const Grouping& grouping) {
  if (!grouping.topology.name.empty() || !grouping.topology.has_level()) return {};
  const Topology& asked = grouping.topology;
  return {
      fmt::format("topology level {} does nothing without annotation kai.scheduler/topology, which names a topology",
                  asked.required.empty() ? asked.preferred : asked.required)};
}

bool HasSubGroups(ObjectView group) {
  const json::value* const sub_groups = group.At({"spec", "subGroups"});
  return sub_groups != nullptr && sub_groups->is_array() && !sub_groups->get_array().empty();
}

}  // namespace basalt::pgsvc
