// Ray (pod-grouper 6.8).
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/grouping/rules/rules.h"

namespace basalt::pgsvc {

namespace {

// This label of the top owner of Ray's pods names the PriorityClass of their group.
constexpr std::string_view kPriorityLabel = "ray.io/priority-class-name";
// This label of a pod of a RayCluster names its worker group, or headgroup, which is its subgroup.
constexpr std::string_view kGroupLabel = "ray.io/group";
constexpr std::string_view kHeadGroup = "headgroup";

absl::StatusOr<Topology> TopologyOfTemplate(std::string_view where, const json::value* pod_template) {
  Topology topology = TemplateTopologyOf(pod_template);
  if (!topology.has_level()) return Topology();
  if (topology.name.empty()) {
    return Invalid(fmt::format("{}: annotation {}: is required where a level is given", where, kTopologyAnnotation));
  }
  return topology;
}

// Returns a number of the worker group, which must not be negative.
absl::StatusOr<std::optional<int32_t>> CountAt(ObjectView workers, std::string_view field) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> count, workers.IntAt({field}));
  if (count && *count < 0) return Invalid(fmt::format("{}.{}: must not be negative", workers.Described(), field));
  return count;
}

// Returns the least number of pods in the worker group; nullopt if the group does not count.
absl::StatusOr<std::optional<int32_t>> MinimumOfWorkers(ObjectView workers) {
  // The specification uses the first name of the field, KubeRay the second.
  for (const std::string_view field : {"suspended", "suspend"}) {
    const json::value* const is_suspended = workers.At({field});
    if (is_suspended != nullptr && is_suspended->is_bool() && is_suspended->get_bool()) return std::optional<int32_t>();
  }
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> least, CountAt(workers, "minReplicas"));
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> given, CountAt(workers, "replicas"));
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> hosts, CountAt(workers, "numOfHosts"));
  const int32_t replicas = given.value_or(least.value_or(0));
  if (least.value_or(0) > replicas) {
    return Invalid(fmt::format("{}.minReplicas: must not be above replicas", workers.Described()));
  }
  if (replicas == 0) return std::optional<int32_t>();
  const int64_t pods = int64_t{hosts.value_or(1)} * (least.value_or(0) > 0 ? *least : replicas);
  if (pods > INT32_MAX) {
    return Invalid(fmt::format("{}: has more pods than can be counted", workers.Described()));
  }
  return std::optional<int32_t>(static_cast<int32_t>(pods));
}

absl::Status AddWorkerGroups(ObjectView cluster, Grouping& grouping) {
  const json::value* const list = cluster.At({"spec", "workerGroupSpecs"});
  if (list == nullptr || !list->is_array()) return absl::OkStatus();
  int64_t sum = grouping.minimum.count;
  for (size_t i = 0; i < list->get_array().size(); ++i) {
    const std::string where = fmt::format("{}: spec.workerGroupSpecs[{}]", cluster.Described(), i);
    const ObjectView workers(list->get_array()[i], where);
    BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> minimum, MinimumOfWorkers(workers));
    if (!minimum) continue;
    const std::string_view name = workers.TextAt({"groupName"});
    BASALT_ASSIGN_OR_RETURN(Topology topology, TopologyOfTemplate(where, workers.At({"template"})));
    sum += *minimum;
    grouping.sub_groups.push_back({.name = name.empty() ? fmt::format("worker-group-{}", i) : std::string(name),
                                   .minimum = {.count = *minimum},
                                   .topology = std::move(topology)});
  }
  if (sum > INT32_MAX) {
    return Invalid(fmt::format("{}: spec.workerGroupSpecs: are more pods than can be counted", cluster.Described()));
  }
  grouping.minimum.count = static_cast<int32_t>(sum);
  return absl::OkStatus();
}

absl::StatusOr<Grouping> GroupByCluster(const RuleInput& input, ObjectView cluster, Grouping grouping) {
  if (const json::string* const priority = input.top.Label(kPriorityLabel); priority != nullptr) {
    SetPriority(*priority, fmt::format("label {} of {}", kPriorityLabel, input.top.Described()), grouping);
  }
  BASALT_ASSIGN_OR_RETURN(Topology topology,
                          TopologyOfTemplate(fmt::format("{}: spec.headGroupSpec", cluster.Described()),
                                             cluster.At({"spec", "headGroupSpec", "template"})));
  grouping.sub_groups.push_back({.name = std::string(kHeadGroup), .topology = std::move(topology)});
  BASALT_RETURN_IF_ERROR(AddWorkerGroups(cluster, grouping));
  // A group from before there were subgroups goes on without them.
  for (const ObjectView group : input.cluster.GroupsOwnedBy(input.pod.ns(), input.top.uid())) {
    if (group.name() != grouping.name || HasSubGroups(group)) continue;
    grouping.sub_groups.clear();
    return grouping;
  }
  const json::string* const label = input.pod.Label(kGroupLabel);
  for (const SubGroup& sub_group : grouping.sub_groups) {
    if (label != nullptr && *label == sub_group.name) grouping.pod_sub_group = sub_group.name;
  }
  return grouping;
}

// Returns the cluster that owns the pod, or else the one that the status of the top owner names.
absl::StatusOr<ObjectView> ClusterOf(const RuleInput& input, std::initializer_list<std::string_view> names,
                                     std::string_view where) {
  for (const ObjectView owner : input.owners) {
    if (owner.kind() == "RayCluster" && owner.group() == input.top.group()) return owner;
  }
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    const ObjectView cluster = input.cluster.Find(input.top.api_version(), "RayCluster", input.pod.ns(), name);
    if (!cluster.empty()) return cluster;
    return absl::NotFoundError(fmt::format("RayCluster {}/{} does not exist", input.pod.ns(), name));
  }
  return Invalid(fmt::format("{}: {}: names no RayCluster yet", input.top.Described(), where));
}

// Whether the pod's cluster still runs in the group that all clusters of the service once shared. That group belongs to
// the cluster that serves (or, before one serves, to the pending one), until the cluster has a group of its own:
// otherwise the workers that the cluster adds would wait for a head in the other group.
bool IsInSharedGroup(const RuleInput& input, ObjectView cluster, std::string_view shared, std::string_view own) {
  if (const json::string* const present = input.pod.Annotation(kube::kKaiGroupNameKey);
      present != nullptr && *present == shared) {
    return true;
  }
  const std::string_view active = input.top.TextAt({"status", "activeServiceStatus", "rayClusterName"});
  const std::string_view pending = input.top.TextAt({"status", "pendingServiceStatus", "rayClusterName"});
  if (cluster.name() != (active.empty() ? pending : active)) return false;
  bool is_shared = false;
  for (const ObjectView group : input.cluster.GroupsOwnedBy(input.pod.ns(), input.top.uid())) {
    if (group.name() == own) return false;
    if (group.name() == shared) is_shared = true;
  }
  return is_shared;
}

}  // namespace

absl::StatusOr<Grouping> GroupRayCluster(const RuleInput& input) {
  return GroupByCluster(input, input.top, InheritFromTop(input));
}

absl::StatusOr<Grouping> GroupRayJob(const RuleInput& input) {
  BASALT_ASSIGN_OR_RETURN(const ObjectView cluster,
                          ClusterOf(input, {input.top.TextAt({"status", "rayClusterName"})}, "status.rayClusterName"));
  return GroupByCluster(input, cluster, InheritFromTop(input));
}

// During an upgrade a service has two clusters, each of which must fit by itself (G14).
absl::StatusOr<Grouping> GroupRayService(const RuleInput& input) {
  BASALT_ASSIGN_OR_RETURN(const ObjectView cluster,
                          ClusterOf(input,
                                    {input.top.TextAt({"status", "activeServiceStatus", "rayClusterName"}),
                                     input.top.TextAt({"status", "pendingServiceStatus", "rayClusterName"})},
                                    "status"));
  Grouping grouping = InheritFromTop(input);
  std::string own = GroupNameOf(fmt::format("{}-{}", grouping.name, cluster.name()));
  if (!IsInSharedGroup(input, cluster, grouping.name, own)) grouping.name = std::move(own);
  return GroupByCluster(input, cluster, std::move(grouping));
}

}  // namespace basalt::pgsvc
