#include "services/pgsvc/core/grouping/volcano_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/grouping/group_json.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/network_topology.h"

namespace basalt::pgsvc {

namespace {

constexpr std::string_view kVolcanoPrefix = "volcano.sh/";

// Subgroups by their parent, in their order; those directly below the group under "".
using Children = std::map<std::string_view, std::vector<const SubGroup*>>;

Children ChildrenOf(const Grouping& grouping) {
  Children children;
  for (const SubGroup& sub_group : grouping.sub_groups) children[sub_group.parent].push_back(&sub_group);
  return children;
}

// Returns the sum of the `count` cheapest children of the parent.
int64_t CheapestOf(const Children& children, std::string_view parent, size_t count) {
  const auto found = children.find(parent);
  if (found == children.end()) return 0;
  std::vector<int64_t> costs;
  for (const SubGroup* child : found->second) {
    const Minimum& minimum = child->minimum;
    costs.push_back(minimum.of_sub_groups ? CheapestOf(children, child->name, static_cast<size_t>(minimum.count))
                                          : minimum.count);
  }
  std::sort(costs.begin(), costs.end());
  costs.resize(std::min(costs.size(), count));
  int64_t sum = 0;
  for (const int64_t cost : costs) sum += cost;
  return sum;
}

// Whether all subgroups directly below the group must be placed.
bool NeedsAllSubGroups(const Grouping& grouping) {
  const auto count = std::count_if(grouping.sub_groups.begin(), grouping.sub_groups.end(),
                                   [](const SubGroup& one) { return one.parent.empty(); });
  return !grouping.minimum.of_sub_groups || grouping.minimum.count >= count;
}

// ---- metadata ----

json::object AnnotationsOf(const Grouping& grouping) {
  json::object annotations;
  for (const auto& [key, value] : grouping.annotations) {
    if (key.starts_with(kVolcanoPrefix) || key == kube::kKaiTopOwnerKey) annotations[key] = value;
  }
  if (grouping.preemptibility.empty()) return annotations;
  const bool is_preemptible = grouping.preemptibility == "preemptible";
  annotations[kube::kPreemptableKey] = is_preemptible ? "true" : "false";
  // "true" alone would open revocable nodes to the pods.
  const bool has_zone = annotations.contains(kube::kRevocableZoneKey);
  if (is_preemptible && !has_zone) annotations[kube::kRevocableZoneKey] = "";
  return annotations;
}

json::object MetadataOf(const Grouping& grouping) {
  json::object labels;
  for (const auto& [key, value] : grouping.labels) {
    if (key.starts_with(kVolcanoPrefix)) labels[key] = value;
  }
  json::object metadata{{"name", grouping.name}, {"namespace", grouping.ns}};
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  metadata["annotations"] = AnnotationsOf(grouping);
  json::object owner = OwnerReferenceOf(grouping.owner);
  owner["controller"] = true;
  metadata["ownerReferences"] = json::array{std::move(owner)};
  return metadata;
}

// ---- spec ----

// Volcano's own annotations come before the result of the rules, and the pod's before the owner's.
std::string QueueOf(const VolcanoInput& input) {
  for (const std::string_view key : {kube::kSchedulingQueueNameKey, kube::kQueueNameKey}) {
    if (const json::string* const queue = input.pod.Annotation(key); queue != nullptr) return std::string(*queue);
  }
  const auto& annotations = input.grouping.annotations;
  for (const std::string_view key : {kube::kSchedulingQueueNameKey, kube::kQueueNameKey}) {
    if (const auto queue = annotations.find(std::string(key)); queue != annotations.end()) return queue->second;
  }
  return input.grouping.has_default_queue ? std::string() : input.grouping.queue;
}

// Volcano installs no classes: the rule's own class counts only if it exists.
std::string PriorityOf(const VolcanoInput& input) {
  const std::string& name = input.grouping.priority_class;
  return !input.grouping.has_default_priority || input.cluster.HasPriorityClass(name) ? name : std::string();
}

json::object TopologyOf(const Topology& topology, std::string_view what, std::vector<std::string>& losses) {
  json::object object;
  if (!topology.has_level()) return object;
  object["mode"] = topology.required.empty() ? "soft" : "hard";
  object["highestTierName"] = topology.required.empty() ? topology.preferred : topology.required;
  if (!topology.required.empty() && !topology.preferred.empty()) {
    losses.push_back(fmt::format("{}: of two levels of a topology only the required one can be said", what));
  }
  return object;
}

// Volcano's own annotations on the pod come before the result of the rules.
json::object TopologyOf(const VolcanoInput& input, const Topology& lifted, std::vector<std::string>& losses) {
  const auto annotation = [&input](std::string_view key) {
    const json::string* const text = input.pod.Annotation(key);
    return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
  };
  const auto own = NetworkTopologyOf(annotation(kTopologyModeKey), annotation(kTopologyTierKey));
  if (!own.ok()) losses.push_back(fmt::format("{}: {}", input.pod.Described(), ToStd(own.status().message())));
  if (own.ok() && *own) return **own;
  const Topology& found = input.grouping.topology;
  return TopologyOf(found.has_level() ? found : lifted, "the group", losses);
}

json::object ResourcesOf(const VolcanoInput& input) {
  if (!input.usage.ok()) return {};
  const Grouping& grouping = input.grouping;
  const std::map<std::string, kube::ResourceMap>& of_pods = *input.usage;
  kube::ResourceMap sum;
  const auto is_leaf = [](const SubGroup& one) { return !one.minimum.of_sub_groups; };
  bool are_known = NeedsAllSubGroups(grouping) && !grouping.sub_groups.empty();
  for (const SubGroup& leaf : grouping.sub_groups) {
    if (is_leaf(leaf) && leaf.minimum.count > 0) are_known = are_known && of_pods.contains(leaf.name);
  }
  if (are_known) {
    for (const SubGroup& leaf : grouping.sub_groups) {
      if (is_leaf(leaf) && leaf.minimum.count > 0) kube::AddTo(sum, of_pods.at(leaf.name), leaf.minimum.count);
    }
  } else if (const auto usage = of_pods.find(""); usage != of_pods.end()) {
    if (const int64_t pods = LeastPods(grouping); pods > 0) kube::AddTo(sum, usage->second, pods);
  }
  json::object resources;
  for (const auto& [name, quantity] : sum) resources[name] = quantity.Text();
  return resources;
}

// ---- subgroups ----

struct Policy {
  std::string name;
  std::vector<std::string> leaves;
  int32_t size = 1;      // The number of pods of each leaf.
  int32_t required = 0;  // The number of leaves that are required.
  Topology topology;
};

class PolicyMaker {
 public:
  PolicyMaker(const Grouping& grouping, std::vector<std::string>& losses)
      : grouping_(grouping), children_(ChildrenOf(grouping)), losses_(losses), needs_all_(NeedsAllSubGroups(grouping)) {
    if (!needs_all_) losses_.emplace_back("that some of the subgroups are enough: none of them is required");
  }

  std::vector<Policy> Make() {
    for (const SubGroup* sub_group : children_[""]) {
      sub_group->minimum.of_sub_groups ? AddParent(*sub_group) : AddLeaf(*sub_group);
    }
    return std::move(policies_);
  }
  // The constraint of an only parent, which becomes that of the group.
  const Topology& lifted() const { return lifted_; }

 private:
  void AddLeaf(const SubGroup& leaf) {
    policies_.push_back({.name = leaf.name,
                         .leaves = {leaf.name},
                         .size = std::max(1, leaf.minimum.count),
                         .required = needs_all_ && leaf.minimum.count > 0 ? 1 : 0,
                         .topology = leaf.topology});
  }

  void AddParent(const SubGroup& parent) {
    const std::vector<const SubGroup*>& leaves = children_[parent.name];
    LiftTopology(parent);
    if (leaves.empty()) return;
    const SubGroup& first = *leaves.front();
    const bool are_alike = std::all_of(leaves.begin(), leaves.end(), [&first](const SubGroup* leaf) {
      return leaf->minimum == first.minimum && leaf->topology == first.topology;
    });
    if (!are_alike) {
      losses_.push_back(
          fmt::format("subgroup {}: that {} of its {} parts are enough: they are unlike, and each counts by itself",
                      parent.name, parent.minimum.count, leaves.size()));
      for (const SubGroup* leaf : leaves) AddLeaf(*leaf);
      return;
    }
    Policy policy{.name = parent.name,
                  .leaves = {},
                  .size = std::max(1, first.minimum.count),
                  .required = needs_all_ && first.minimum.count > 0 ? parent.minimum.count : 0,
                  .topology = first.topology};
    for (const SubGroup* leaf : leaves) policy.leaves.push_back(leaf->name);
    policies_.push_back(std::move(policy));
  }

  void LiftTopology(const SubGroup& parent) {
    if (!parent.topology.has_level()) return;
    const auto parents = std::count_if(grouping_.sub_groups.begin(), grouping_.sub_groups.end(),
                                       [](const SubGroup& one) { return one.minimum.of_sub_groups; });
    const bool is_alone = parents == 1 && children_[""].size() == 1;
    if (is_alone && !grouping_.topology.has_level()) {
      lifted_ = parent.topology;
    } else {
      losses_.push_back(fmt::format("subgroup {}: its topology, as it has parts", parent.name));
    }
  }

  const Grouping& grouping_;
  Children children_;
  std::vector<std::string>& losses_;
  const bool needs_all_;
  std::vector<Policy> policies_;
  Topology lifted_;
};

json::object ObjectOf(const Policy& policy, std::vector<std::string>& losses) {
  json::object selector;
  if (policy.leaves.size() == 1) {
    selector["matchLabels"] = json::object{{kube::kKaiSubGroupNameKey, policy.leaves.front()}};
  } else {
    json::array names;
    for (const std::string& leaf : policy.leaves) names.emplace_back(leaf);
    selector["matchExpressions"] =
        json::array{json::object{{"key", kube::kKaiSubGroupNameKey}, {"operator", "In"}, {"values", std::move(names)}}};
  }
  json::object object{{"name", policy.name},
                      {"labelSelector", std::move(selector)},
                      {"matchLabelKeys", json::array{json::value(kube::kKaiSubGroupNameKey)}},
                      {"subGroupSize", policy.size},
                      {"minSubGroups", policy.required}};
  json::object topology = TopologyOf(policy.topology, fmt::format("subgroup {}", policy.name), losses);
  if (!topology.empty()) object["networkTopology"] = std::move(topology);
  return object;
}

void ReportLosses(const Grouping& grouping, std::vector<std::string>& losses) {
  if (!grouping.preemption_delay.empty()) losses.emplace_back("preemptionDelay");
  if (!grouping.staleness_grace_period.empty()) losses.emplace_back("stalenessGracePeriod");
}

}  // namespace

int64_t LeastPods(const Grouping& grouping) {
  if (!grouping.minimum.of_sub_groups) return grouping.minimum.count;
  const int64_t pods = CheapestOf(ChildrenOf(grouping), "", static_cast<size_t>(grouping.minimum.count));
  return std::min<int64_t>(pods, std::numeric_limits<int32_t>::max());
}

int64_t LeastPodsForKai(const Grouping& grouping) {
  if (grouping.sub_groups.empty()) return grouping.minimum.count;
  const size_t needed =
      grouping.minimum.of_sub_groups ? static_cast<size_t>(grouping.minimum.count) : grouping.sub_groups.size();
  return CheapestOf(ChildrenOf(grouping), "", needed);
}

VolcanoGroup VolcanoGroupOf(const VolcanoInput& input) {
  const Grouping& grouping = input.grouping;
  VolcanoGroup group;
  ReportLosses(grouping, group.losses);
  PolicyMaker maker(grouping, group.losses);
  json::array policies;
  for (const Policy& policy : maker.Make()) policies.push_back(ObjectOf(policy, group.losses));
  json::object spec;
  if (const int64_t pods = LeastPods(grouping); pods != 0) spec["minMember"] = pods;
  if (const std::string queue = QueueOf(input); !queue.empty()) spec["queue"] = queue;
  if (const std::string priority = PriorityOf(input); !priority.empty()) spec["priorityClassName"] = priority;
  spec["minResources"] = ResourcesOf(input);
  json::object topology = TopologyOf(input, maker.lifted(), group.losses);
  if (!topology.empty()) spec["networkTopology"] = std::move(topology);
  if (!policies.empty()) spec["subGroupPolicy"] = std::move(policies);
  if (!input.usage.ok()) group.losses.push_back(fmt::format("minResources: {}", ToStd(input.usage.status().message())));
  group.object["apiVersion"] = kube::kSchedulingApiVersion;
  group.object["kind"] = "PodGroup";
  group.object["metadata"] = MetadataOf(grouping);
  group.object["spec"] = std::move(spec);
  group.object["status"] = json::object{{"phase", "Pending"}};
  return group;
}

}  // namespace basalt::pgsvc
