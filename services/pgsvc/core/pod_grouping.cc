#include "services/pgsvc/core/pod_grouping.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "common/base/json.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"
#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"
#include "common/kube/resources/resources.h"
#include "services/pgsvc/core/integers.h"
#include "services/pgsvc/core/network_topology.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kGroupPrefix = "podgroup-";
// This annotation of the owner of plain pods has the minMember of their group where
// scheduling.volcano.sh/group-min-member is absent.
constexpr std::string_view kSeedMinMemberKey = "volcano.sh/group-min-member";
constexpr std::string_view kInheritedPrefix = "volcano.sh/";

const kube::v1::OwnerReference* ControllerOf(const kube::v1::Pod& pod) {
  for (const kube::v1::OwnerReference& owner : pod.grouping().owner_references()) {
    if (owner.controller()) return &owner;
  }
  return nullptr;
}

absl::StatusOr<std::string> QueueOf(const kube::v1::Pod& pod, const Annotations& owner,
                                    const GroupingOptions& options) {
  const auto& own = pod.grouping().annotations();
  std::string queue;
  if (const auto value = FindKey(own, kube::kSchedulingQueueNameKey)) {
    queue = *value;
  } else if (options.alternative_queue_keys) {
    if (const auto alternative = FindKey(own, kube::kQueueNameKey)) {
      queue = *alternative;
    } else if (const auto first = owner.find(kube::kSchedulingQueueNameKey); first != owner.end()) {
      queue = first->second;
    } else if (const auto second = owner.find(kube::kQueueNameKey); second != owner.end()) {
      queue = second->second;
    }
  }
  if (!queue.empty() && !kube::IsDnsSubdomain(queue)) {
    return Invalid(
        fmt::format("annotation {}: '{}' is not a queue name (lower-case DNS-1123 subdomain, at most {} "
                    "characters)",
                    kube::kSchedulingQueueNameKey, queue, kube::kMaxSubdomain));
  }
  return queue;
}

absl::Status PutTopology(const kube::v1::Pod& pod, kube::v1::PodGroupSpec& spec) {
  const auto& annotations = pod.grouping().annotations();
  BASALT_ASSIGN_OR_RETURN(
      const std::optional<json::object> topology,
      NetworkTopologyOf(FindKey(annotations, kTopologyModeKey), FindKey(annotations, kTopologyTierKey)));
  if (!topology) return absl::OkStatus();
  kube::v1::NetworkTopology& wanted = *spec.mutable_network_topology();
  wanted.set_mode(std::string(FindString(*topology, "mode")));
  if (topology->contains("highestTierAllowed")) {
    wanted.set_highest_tier_allowed(FindInt(*topology, "highestTierAllowed"));
  }
  return absl::OkStatus();
}

json::array OwnerReferences(const kube::v1::Pod& pod) {
  json::array owners;
  if (ControllerOf(pod) == nullptr) {
    owners.push_back(json::object{{"apiVersion", "v1"},
                                  {"kind", "Pod"},
                                  {"name", pod.name()},
                                  {"uid", pod.uid()},
                                  {"controller", true},
                                  {"blockOwnerDeletion", true}});
    return owners;
  }
  for (const kube::v1::OwnerReference& reference : pod.grouping().owner_references()) {
    json::object owner{{"apiVersion", reference.api_version()},
                       {"kind", reference.kind()},
                       {"name", reference.name()},
                       {"uid", reference.uid()}};
    if (reference.controller()) owner["controller"] = true;
    if (reference.block_owner_deletion()) owner["blockOwnerDeletion"] = true;
    owners.push_back(std::move(owner));
  }
  return owners;
}

// Annotations and labels of the group (podgroup spec 6.1, steps 4 and 5).
void PutAnnotations(const kube::v1::Pod& pod, const Annotations& owner, Annotations& annotations) {
  for (const auto& [key, value] : owner) {
    if (key.starts_with(kInheritedPrefix)) annotations[key] = value;
  }
  const auto& own = pod.grouping().annotations();
  const auto copy = [&own, &annotations](std::string_view key) {
    const auto value = FindKey(own, key);
    if (value) annotations[std::string(key)] = std::string(*value);
    return value.has_value();
  };
  for (const std::string_view key : {kube::kPreemptableKey, kube::kCooldownTimeKey, kube::kRevocableZoneKey}) copy(key);
  if (!copy(kube::kJdbMinAvailableKey)) copy(kube::kJdbMaxUnavailableKey);
  std::string keys;
  for (const auto& [key, value] : annotations) keys += (keys.empty() ? "" : ",") + key;
  if (!keys.empty()) annotations[std::string(kube::kInheritedKey)] = std::move(keys);
}

void PutLabels(const kube::v1::Pod& pod, WantedGroup& wanted) {
  std::string keys;
  for (const std::string_view key : {kube::kPreemptableKey, kube::kCooldownTimeKey}) {
    const auto value = FindKey(pod.grouping().labels(), key);
    if (!value) continue;
    wanted.labels[std::string(key)] = std::string(*value);
    keys += (keys.empty() ? "" : ",") + std::string(key);
  }
  if (!keys.empty()) wanted.annotations[std::string(kInheritedLabelsKey)] = std::move(keys);
}

// Absent and empty resources differ: minMember 0 gives {}.
absl::Status PutResources(const kube::v1::Pod& pod, kube::v1::PodGroupSpec& spec) {
  spec.set_has_min_resources(true);
  BASALT_ASSIGN_OR_RETURN(const json::value pod_spec, ParseJson(pod.grouping().spec_json()));
  BASALT_ASSIGN_OR_RETURN(const kube::ResourceMap usage,
                          kube::PodQuotaUsage(pod_spec, kube::RequestDefaults::kAsStored));
  if (spec.min_member() == 0) return absl::OkStatus();
  for (const auto& [name, quantity] : usage) {
    kube::v1::KeyValue& resource = *spec.add_min_resources();
    resource.set_key(name);
    resource.set_value((quantity * spec.min_member()).Text());
  }
  return absl::OkStatus();
}

json::object ObjectOf(const Annotations& texts) {
  json::object object;
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

std::string BodyOf(std::string_view ns, std::string_view name, const WantedGroup& wanted, json::array owners) {
  json::object meta{{"name", name}, {"namespace", ns}};
  if (!wanted.annotations.empty()) meta["annotations"] = ObjectOf(wanted.annotations);
  if (!wanted.labels.empty()) meta["labels"] = ObjectOf(wanted.labels);
  if (!owners.empty()) meta["ownerReferences"] = std::move(owners);

  json::object body;
  body["apiVersion"] = json::string(kube::kSchedulingApiVersion);
  body["kind"] = "PodGroup";
  body["metadata"] = std::move(meta);
  body["spec"] = kube::PodGroupSpecJson(wanted.spec);
  body["status"] = json::object{{"phase", "Pending"}};
  return ToText(body);
}

}  // namespace

std::optional<std::string_view> FindKey(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& list,
                                        std::string_view key) {
  for (const kube::v1::KeyValue& entry : list) {
    if (entry.key() == key) return entry.value();
  }
  return std::nullopt;
}

std::string GroupName(const kube::v1::Pod& pod) {
  return fmt::format("{}{}", kGroupPrefix, pod.owner_uid().empty() ? pod.uid() : pod.owner_uid());
}

bool IsPlainGroupName(std::string_view name) {
  return name.starts_with(kGroupPrefix) && IsUuid(name.substr(kGroupPrefix.size()));
}

bool IsOver(const kube::v1::Pod& pod) {
  return pod.phase() == kube::v1::POD_PHASE_SUCCEEDED || pod.phase() == kube::v1::POD_PHASE_FAILED;
}

bool IsActive(const kube::v1::Pod& pod) { return !IsOver(pod) && pod.deletion_ms() == 0; }

bool NeedsGroup(const kube::v1::Pod& pod) {
  return pod.has_grouping() && pod.job_name().empty() && pod.group_name().empty() && pod.deletion_ms() == 0 &&
         !IsOver(pod);
}

bool LacksGroup(const kube::v1::Pod& pod, std::string_view name) {
  if (NeedsGroup(pod)) return true;
  const bool is_ours = name == GroupName(pod) || (IsPlainGroupName(name) && pod.job_name().empty());
  return pod.has_grouping() && pod.group_name() == name && is_ours && IsActive(pod);
}

bool WaitsForGroup(const kube::v1::Pod& pod, std::string_view name) {
  return pod.has_grouping() && pod.job_name().empty() && pod.group_name() == name && !LacksGroup(pod, name) &&
         pod.node_name().empty() && IsActive(pod);
}

std::string WhyItWaits(std::string_view key, std::string_view name) {
  return fmt::format(
      "annotation {} names pod group {}, which does not exist: the pod is not scheduled before somebody makes the "
      "group",
      key, name);
}

std::vector<OwnerResource> AnnotatedOwners(const kube::v1::Pod& pod) {
  std::vector<OwnerResource> owners;
  for (const kube::v1::OwnerReference& owner : pod.grouping().owner_references()) {
    const kube::Kind* const kind = kube::FindWorkloadKind(owner.api_version(), owner.kind());
    if (kind != nullptr) owners.push_back({*kind, owner.name(), owner.uid()});
  }
  return owners;
}

Annotations MergedAnnotations(const kube::v1::Pod& pod, const OwnerFacts& facts) {
  Annotations merged;
  for (const OwnerResource& owner : AnnotatedOwners(pod)) {
    const auto fact = facts.find(owner.uid);
    if (fact != facts.end()) merged.insert(fact->second.annotations.begin(), fact->second.annotations.end());
  }
  return merged;
}

int32_t MinMember(const Annotations& owner_annotations) {
  auto found = owner_annotations.find(kube::kGroupMinMemberKey);
  if (found == owner_annotations.end()) found = owner_annotations.find(kSeedMinMemberKey);
  if (found == owner_annotations.end()) return 1;
  const std::optional<int64_t> value = ParseInteger(found->second);
  if (!value || *value < 0 || *value > std::numeric_limits<int32_t>::max()) return 1;
  return static_cast<int32_t>(*value);
}

absl::StatusOr<WantedGroup> WantedGroupOf(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                          const GroupingOptions& options) {
  static const Annotations kNone;
  const Annotations& owner = options.inherit_owner_annotations ? owner_annotations : kNone;
  WantedGroup wanted;
  kube::v1::PodGroupSpec& spec = wanted.spec;
  spec.set_min_member(MinMember(owner));
  BASALT_ASSIGN_OR_RETURN(*spec.mutable_queue(), QueueOf(pod, owner, options));
  spec.set_priority_class_name(pod.priority_class_name());
  BASALT_RETURN_IF_ERROR(PutTopology(pod, spec));
  BASALT_RETURN_IF_ERROR(PutResources(pod, spec));
  PutAnnotations(pod, owner, wanted.annotations);
  PutLabels(pod, wanted);
  return wanted;
}

std::map<std::string, std::string> SourcesOf(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                             std::string_view owner, const GroupingOptions& options) {
  const std::string own = fmt::format("Pod {}/{}", pod.namespace_(), pod.name());
  const auto& annotations = pod.grouping().annotations();
  const auto of_owner = [&](std::string_view key) {
    return options.inherit_owner_annotations && owner_annotations.find(key) != owner_annotations.end();
  };
  std::map<std::string, std::string> sources;
  const auto set = [&sources](std::string_view field, std::string_view key, std::string_view object) {
    sources.try_emplace(std::string(field), fmt::format("annotation {} of {}", key, object));
  };
  for (const std::string_view key : {kube::kGroupMinMemberKey, kSeedMinMemberKey}) {
    if (of_owner(key)) set("minMember", key, owner);
  }
  sources.try_emplace("minMember", "default");
  for (const std::string_view key : {kube::kSchedulingQueueNameKey, kube::kQueueNameKey}) {
    const bool counts = key == kube::kSchedulingQueueNameKey || options.alternative_queue_keys;
    if (counts && FindKey(annotations, key)) set("queue", key, own);
  }
  for (const std::string_view key : {kube::kSchedulingQueueNameKey, kube::kQueueNameKey}) {
    if (options.alternative_queue_keys && of_owner(key)) set("queue", key, owner);
  }
  for (const std::string_view key : {kTopologyModeKey, kTopologyTierKey}) {
    if (FindKey(annotations, key)) set("networkTopology", key, own);
  }
  if (!pod.priority_class_name().empty()) sources["priorityClassName"] = "spec of " + own;
  sources["minResources"] = fmt::format("what {} asks for, times minMember", own);
  return sources;
}

std::string OwnerReferencesPatch(const kube::v1::Pod& pod) {
  return ToText(json::object{{"metadata", json::object{{"ownerReferences", OwnerReferences(pod)}}}});
}

absl::StatusOr<std::string> GroupBody(const kube::v1::Pod& pod, const Annotations& owner_annotations,
                                      const GroupingOptions& options) {
  BASALT_ASSIGN_OR_RETURN(const WantedGroup wanted, WantedGroupOf(pod, owner_annotations, options));
  return BodyOf(pod.namespace_(), GroupName(pod), wanted, OwnerReferences(pod));
}

std::string OwnerlessGroupBody(std::string_view ns, std::string_view name, const WantedGroup& wanted) {
  return BodyOf(ns, name, wanted, {});
}

std::string BindingPatch(std::string_view group_name) {
  json::object annotations;
  annotations[kube::kGroupNameKey] = json::string(group_name);
  return ToText(json::object{{"metadata", json::object{{"annotations", std::move(annotations)}}}});
}

}  // namespace basalt::pgsvc
