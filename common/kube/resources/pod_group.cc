#include "common/kube/resources/pod_group.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "common/kube/names.h"
#include "common/kube/quantity.h"

namespace basalt::kube {
namespace {

using google::protobuf::RepeatedPtrField;

bool SameTopology(const v1::NetworkTopology& a, const v1::NetworkTopology& b) {
  return a.mode() == b.mode() && a.highest_tier_name() == b.highest_tier_name() &&
         a.has_highest_tier_allowed() == b.has_highest_tier_allowed() &&
         a.highest_tier_allowed() == b.highest_tier_allowed();
}

bool SameTopologyField(bool has_a, const v1::NetworkTopology& a, bool has_b, const v1::NetworkTopology& b) {
  return has_a == has_b && (!has_a || SameTopology(a, b));
}

bool SameRequirement(const v1::LabelRequirement& a, const v1::LabelRequirement& b) {
  return a.key() == b.key() && a.operator_() == b.operator_() && a.values_size() == b.values_size() &&
         std::equal(a.values().begin(), a.values().end(), b.values().begin());
}

// An absent field equals the schema's default (subGroupSize 1, minSubGroups 0), which `observed` may have.
bool SamePolicy(const v1::SubGroupPolicy& a, const v1::SubGroupPolicy& b) {
  const auto size = [](const v1::SubGroupPolicy& p) { return p.has_sub_group_size() ? p.sub_group_size() : 1; };
  if (a.name() != b.name() || size(a) != size(b) || a.min_sub_groups() != b.min_sub_groups()) return false;
  if (!SameTopologyField(a.has_network_topology(), a.network_topology(), b.has_network_topology(),
                         b.network_topology())) {
    return false;
  }
  if (a.match_labels_size() != b.match_labels_size() || a.match_label_keys_size() != b.match_label_keys_size()) {
    return false;
  }
  for (int i = 0; i < a.match_labels_size(); ++i) {
    if (a.match_labels(i).key() != b.match_labels(i).key() || a.match_labels(i).value() != b.match_labels(i).value()) {
      return false;
    }
  }
  return std::equal(a.match_label_keys().begin(), a.match_label_keys().end(), b.match_label_keys().begin()) &&
         a.match_expressions_size() == b.match_expressions_size() &&
         std::equal(a.match_expressions().begin(), a.match_expressions().end(), b.match_expressions().begin(),
                    SameRequirement);
}

bool SamePolicies(const v1::PodGroupSpec& a, const v1::PodGroupSpec& b) {
  return a.sub_group_policy_size() == b.sub_group_policy_size() &&
         std::equal(a.sub_group_policy().begin(), a.sub_group_policy().end(), b.sub_group_policy().begin(), SamePolicy);
}

bool SameTaskMinimums(const v1::PodGroupSpec& a, const v1::PodGroupSpec& b) {
  const auto same = [](const v1::TaskMinimum& x, const v1::TaskMinimum& y) {
    return x.task() == y.task() && x.min_member() == y.min_member();
  };
  return a.min_task_member_size() == b.min_task_member_size() &&
         std::equal(a.min_task_member().begin(), a.min_task_member().end(), b.min_task_member().begin(), same);
}

bool SameQuantity(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const absl::StatusOr<Quantity> left = Quantity::Parse(a);
  const absl::StatusOr<Quantity> right = Quantity::Parse(b);
  return left.ok() && right.ok() && *left == *right;
}

bool SameResources(const v1::PodGroupSpec& a, const v1::PodGroupSpec& b) {
  const auto same = [](const v1::KeyValue& x, const v1::KeyValue& y) {
    return x.key() == y.key() && SameQuantity(x.value(), y.value());
  };
  return a.has_min_resources() == b.has_min_resources() && a.min_resources_size() == b.min_resources_size() &&
         std::equal(a.min_resources().begin(), a.min_resources().end(), b.min_resources().begin(), same);
}

json::object TopologyJson(const v1::NetworkTopology& topology) {
  json::object object;
  if (!topology.mode().empty()) object["mode"] = topology.mode();
  if (topology.has_highest_tier_allowed()) object["highestTierAllowed"] = topology.highest_tier_allowed();
  if (!topology.highest_tier_name().empty()) object["highestTierName"] = topology.highest_tier_name();
  return object;
}

json::object ResourcesJson(const v1::PodGroupSpec& spec) {
  json::object resources;
  for (const v1::KeyValue& resource : spec.min_resources()) resources[resource.key()] = resource.value();
  return resources;
}

json::object TaskMinimumsJson(const v1::PodGroupSpec& spec) {
  json::object minimums;
  for (const v1::TaskMinimum& minimum : spec.min_task_member()) minimums[minimum.task()] = minimum.min_member();
  return minimums;
}

json::array TextsJson(const RepeatedPtrField<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

json::object SelectorJson(const v1::SubGroupPolicy& policy) {
  json::object selector;
  json::object labels;
  for (const v1::KeyValue& label : policy.match_labels()) labels[label.key()] = label.value();
  // A selector without labels and expressions gets an empty matchLabels.
  if (!labels.empty() || policy.match_expressions().empty()) selector["matchLabels"] = std::move(labels);
  json::array expressions;
  for (const v1::LabelRequirement& requirement : policy.match_expressions()) {
    expressions.push_back(json::object{{"key", requirement.key()},
                                       {"operator", requirement.operator_()},
                                       {"values", TextsJson(requirement.values())}});
  }
  if (!expressions.empty()) selector["matchExpressions"] = std::move(expressions);
  return selector;
}

json::array PoliciesJson(const v1::PodGroupSpec& spec) {
  json::array policies;
  for (const v1::SubGroupPolicy& policy : spec.sub_group_policy()) {
    json::object item;
    item["name"] = policy.name();
    if (policy.has_sub_group_size()) item["subGroupSize"] = policy.sub_group_size();
    if (policy.has_min_sub_groups()) item["minSubGroups"] = policy.min_sub_groups();
    item["labelSelector"] = SelectorJson(policy);
    item["matchLabelKeys"] = TextsJson(policy.match_label_keys());
    if (policy.has_network_topology()) item["networkTopology"] = TopologyJson(policy.network_topology());
    policies.push_back(std::move(item));
  }
  return policies;
}

// Adds a null for each member of `observed` that is missing in `wanted`, since a merge patch merges maps.
json::object MapPatch(const json::object& observed, json::object wanted) {
  for (const auto& member : observed) {
    if (wanted.if_contains(member.key()) == nullptr) wanted[member.key()] = nullptr;
  }
  return wanted;
}

json::object AnnotationsOf(const podgroup::v1::EnsurePodGroupRequest& request) {
  json::object annotations;
  for (const v1::KeyValue& annotation : request.annotations()) annotations[annotation.key()] = annotation.value();
  annotations[kJobUidKey] = request.job_uid();
  annotations[kBasaltVersionKey] = std::to_string(request.version());
  return annotations;
}

}  // namespace

bool PodGroupDiffers(const v1::PodGroupSpec& observed, const v1::PodGroupSpec& wanted) {
  return observed.min_member() != wanted.min_member() ||
         observed.priority_class_name() != wanted.priority_class_name() || !SameResources(observed, wanted) ||
         !SameTaskMinimums(observed, wanted) || !SamePolicies(observed, wanted) ||
         !SameTopologyField(observed.has_network_topology(), observed.network_topology(), wanted.has_network_topology(),
                            wanted.network_topology());
}

json::object PodGroupSpecJson(const v1::PodGroupSpec& spec) {
  json::object object;
  if (spec.min_member() != 0) object["minMember"] = spec.min_member();
  if (spec.min_task_member_size() > 0) object["minTaskMember"] = TaskMinimumsJson(spec);
  if (!spec.queue().empty()) object["queue"] = spec.queue();
  if (!spec.priority_class_name().empty()) object["priorityClassName"] = spec.priority_class_name();
  if (spec.has_min_resources()) object["minResources"] = ResourcesJson(spec);
  if (spec.has_network_topology()) object["networkTopology"] = TopologyJson(spec.network_topology());
  if (spec.sub_group_policy_size() > 0) object["subGroupPolicy"] = PoliciesJson(spec);
  return object;
}

std::string PodGroupBody(const podgroup::v1::EnsurePodGroupRequest& request) {
  json::object meta{{"name", request.name()}, {"namespace", request.namespace_()}};
  json::object labels;
  for (const v1::KeyValue& label : request.labels()) labels[label.key()] = label.value();
  if (!labels.empty()) meta["labels"] = std::move(labels);
  meta["annotations"] = AnnotationsOf(request);
  json::array owners;
  owners.push_back(json::object{{"apiVersion", json::string(kJobApiVersion)},
                                {"kind", "Job"},
                                {"name", request.job_name()},
                                {"uid", request.job_uid()},
                                {"controller", true},
                                {"blockOwnerDeletion", true}});
  meta["ownerReferences"] = std::move(owners);
  json::object body;
  body["apiVersion"] = json::string(kSchedulingApiVersion);
  body["kind"] = "PodGroup";
  body["metadata"] = std::move(meta);
  body["spec"] = PodGroupSpecJson(request.spec());
  return ToText(body);
}

std::string PodGroupPatch(const v1::PodGroupSpec& observed, const v1::PodGroupSpec& wanted) {
  json::object spec;
  if (observed.min_member() != wanted.min_member()) spec["minMember"] = wanted.min_member();
  if (observed.priority_class_name() != wanted.priority_class_name()) {
    spec["priorityClassName"] =
        wanted.priority_class_name().empty() ? json::value(nullptr) : json::value(wanted.priority_class_name());
  }
  if (!SameTaskMinimums(observed, wanted)) {
    spec["minTaskMember"] = MapPatch(TaskMinimumsJson(observed), TaskMinimumsJson(wanted));
  }
  if (!SameResources(observed, wanted)) {
    spec["minResources"] = wanted.has_min_resources()
                               ? json::value(MapPatch(ResourcesJson(observed), ResourcesJson(wanted)))
                               : json::value(nullptr);
  }
  if (!SameTopologyField(observed.has_network_topology(), observed.network_topology(), wanted.has_network_topology(),
                         wanted.network_topology())) {
    spec["networkTopology"] =
        wanted.has_network_topology()
            ? json::value(MapPatch(TopologyJson(observed.network_topology()), TopologyJson(wanted.network_topology())))
            : json::value(nullptr);
  }
  if (!SamePolicies(observed, wanted)) {
    json::array policies = PoliciesJson(wanted);
    spec["subGroupPolicy"] = policies.empty() ? json::value(nullptr) : json::value(std::move(policies));
  }
  return ToText(json::object{{"spec", std::move(spec)}});
}

}  // namespace basalt::kube
