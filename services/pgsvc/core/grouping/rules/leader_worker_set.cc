// LeaderWorkerSet: one group for each replica (pod-grouper 6.7).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/rules/rules.h"
#include "services/pgsvc/core/grouping/rules/segments.h"
#include "services/pgsvc/core/integers.h"

namespace basalt::pgsvc {

namespace {

// This label of a pod has its index in its replica of a LeaderWorkerSet. The leader has the index 0.
constexpr std::string_view kWorkerIndexLabel = "leaderworkerset.sigs.k8s.io/worker-index";
// This label of a pod has the index of its replica in a LeaderWorkerSet. Each replica is a group.
constexpr std::string_view kGroupIndexLabel = "leaderworkerset.sigs.k8s.io/group-index";
// This annotation of a pod of a LeaderWorkerSet has the number of pods in its replica.
constexpr std::string_view kSizeAnnotation = "leaderworkerset.sigs.k8s.io/size";
constexpr std::string_view kLeader = "leader";
constexpr std::string_view kWorkers = "workers";

// One replica of the set, and the pod's place in it.
struct Replica {
  int32_t size = 1;                     // The number of pods, by the pod's own annotation or the set.
  std::optional<int32_t> index = {};    // The index of the pod; 0 is the leader.
  std::optional<int32_t> segment = {};  // The number of pods in a segment.
  bool is_leader() const { return index == 0; }
  // Whether the workers alone fill their segments, so that the leader is an extra member of the first.
  bool is_divisible() const { return (size - 1) % *segment == 0; }
  int32_t SegmentOf(int32_t worker) const {
    if (worker == 0) return 0;
    return is_divisible() ? (worker - 1) / *segment : worker / *segment;
  }
  int32_t segments() const { return SegmentOf(size - 1) + 1; }
  // Returns the number of pods in that segment, without a leader that is an extra member of it (G12).
  int32_t PodsOf(int32_t wanted) const {
    return is_divisible() ? *segment : std::min(*segment, size - wanted * *segment);
  }
};

const json::value* WorkerTemplateOf(ObjectView set) {
  return set.At({"spec", "leaderWorkerTemplate", "workerTemplate"});
}

absl::StatusOr<std::optional<int32_t>> SegmentSize(ObjectView set) {
  BASALT_ASSIGN_OR_RETURN(std::optional<int32_t> size,
                          set.IntAt({"spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize"}));
  if (!size) {
    const json::value* const worker_template = WorkerTemplateOf(set);
    BASALT_ASSIGN_OR_RETURN(
        size, SegmentSizeOf(set, worker_template,
                            fmt::format("{}: spec.leaderWorkerTemplate.workerTemplate", set.Described())));
  }
  return size;
}

absl::StatusOr<Replica> ReplicaOf(const RuleInput& input) {
  const ObjectView set = input.top;
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> size, set.IntAt({"spec", "leaderWorkerTemplate", "size"}));
  if (!size || *size <= 0) {
    return Invalid(
        fmt::format("{}: spec.leaderWorkerTemplate.size: must be an integer of at least 1", set.Described()));
  }
  Replica replica{.size = *size};
  // A replica that was made before the set was resized keeps its size (G44).
  const json::string* const own = input.pod.Annotation(kSizeAnnotation);
  const std::optional<int32_t> own_size = own == nullptr ? std::nullopt : ParseInt32(*own);
  if (own_size && *own_size > 0) replica.size = *own_size;
  BASALT_ASSIGN_OR_RETURN(replica.index, IndexOf(input.pod, kWorkerIndexLabel));
  if (replica.index && *replica.index >= replica.size) {
    return Invalid(fmt::format("{}: label {}: {} must be below the size of the group, {}", input.pod.Described(),
                               kWorkerIndexLabel, *replica.index, replica.size));
  }
  BASALT_ASSIGN_OR_RETURN(replica.segment, SegmentSize(set));
  if (!replica.segment) return replica;
  if (*replica.segment <= 1 || *replica.segment > replica.size) {
    return Invalid(fmt::format("{}: size of segments: {} must be above 1 and at most {}, the size of the group",
                               set.Described(), *replica.segment, replica.size));
  }
  if (!replica.index)
    return Invalid(fmt::format("{}: label {}: is required", input.pod.Described(), kWorkerIndexLabel));
  if (replica.segments() > kMostSubGroups) {
    return Invalid(
        fmt::format("{}: {} segments; there may be {} at most", set.Described(), replica.segments(), kMostSubGroups));
  }
  return replica;
}

void AddRoles(const Replica& replica, Grouping& grouping) {
  const int32_t pods = grouping.minimum.count;
  grouping.sub_groups.push_back({.name = std::string(kLeader)});
  if (pods > 1) grouping.sub_groups.push_back({.name = std::string(kWorkers), .minimum = {.count = pods - 1}});
  if (replica.is_leader()) {
    grouping.pod_sub_group = kLeader;
  } else if (pods > 1) {
    grouping.pod_sub_group = kWorkers;
  }
}

absl::Status AddSegments(const RuleInput& input, const Replica& replica, Grouping& grouping) {
  const std::string_view given =
      input.top.TextAt({"spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType"});
  const std::string_view policy = given.empty() ? "LeaderWorker" : given;
  const Topology topology = WorkerTemplateOf(input.top) == nullptr
                                ? Topology()
                                : SegmentTopologyOf(input.pod, WorkerTemplateOf(input.top), input.top);
  const bool excludes_leader = policy == "LeaderExcluded";
  if (excludes_leader && !replica.is_divisible()) {
    return Invalid(
        fmt::format("{}: spec.leaderWorkerTemplate.subGroupPolicy: LeaderExcluded: segments of {} must divide "
                    "the {} workers",
                    input.top.Described(), *replica.segment, replica.size - 1));
  }
  if (excludes_leader) grouping.sub_groups.push_back({.name = std::string(kLeader)});
  for (int32_t i = 0; i < replica.segments(); ++i) {
    grouping.sub_groups.push_back(
        {.name = fmt::format("segment-{}", i), .minimum = {.count = replica.PodsOf(i)}, .topology = topology});
  }
  // If the policy names no place for the leader, the only segment holds the leader, too.
  const bool holds_all = policy != "LeaderWorker" && !excludes_leader && replica.segments() == 1;
  if (holds_all) grouping.sub_groups.front().minimum.count = replica.size;
  const std::string segment = fmt::format("segment-{}", replica.SegmentOf(*replica.index));
  grouping.pod_sub_group = excludes_leader && replica.is_leader() ? std::string(kLeader) : segment;
  if (policy != "LeaderWorker") return absl::OkStatus();
  const int32_t workers = replica.PodsOf(0) - (replica.is_divisible() ? 0 : 1);
  grouping.sub_groups.front().minimum = {.count = workers > 0 ? 2 : 1, .of_sub_groups = true};
  grouping.sub_groups.push_back({.name = std::string(kLeader), .parent = "segment-0"});
  if (workers > 0) {
    grouping.sub_groups.push_back(
        {.name = std::string(kWorkers), .parent = "segment-0", .minimum = {.count = workers}});
  }
  if (replica.is_leader()) {
    grouping.pod_sub_group = kLeader;
  } else if (replica.SegmentOf(*replica.index) == 0) {
    grouping.pod_sub_group = kWorkers;
  }
  return absl::OkStatus();
}

// Keeps the segments as they will be (G11), but waits only for the leader's own leaf. A leaf of 0 pods counts as placed
// at once, so that a parent still counts all its children.
void WaitForLeaderAlone(Grouping& grouping) {
  for (SubGroup& sub_group : grouping.sub_groups) {
    if (sub_group.minimum.of_sub_groups) continue;
    sub_group.minimum.count = sub_group.name == grouping.pod_sub_group ? 1 : 0;
  }
}

}  // namespace

absl::StatusOr<Grouping> GroupLeaderWorkerSet(const RuleInput& input) {
  const std::string_view given = input.top.TextAt({"spec", "startupPolicy"});
  const std::string_view policy = given.empty() ? "LeaderCreated" : given;
  if (policy != "LeaderCreated" && policy != "LeaderReady") {
    return Invalid(fmt::format("{}: spec.startupPolicy: {} must be LeaderCreated or LeaderReady", input.top.Described(),
                               Excerpt(policy)));
  }
  BASALT_ASSIGN_OR_RETURN(const Replica replica, ReplicaOf(input));
  Grouping grouping = InheritFromTop(input);
  // Workers are made once the leader is ready: nothing else can be waited for until the leader has a node.
  const bool leads_alone =
      policy == "LeaderReady" && replica.is_leader() && input.pod.TextAt({"spec", "nodeName"}).empty();
  grouping.minimum = {.count = leads_alone ? 1 : replica.size};
  if (const json::string* const text = input.pod.Label(kGroupIndexLabel); text != nullptr) {
    if (const std::optional<int32_t> index = ParseInt32(*text); index) {
      grouping.name = GroupNameOf(fmt::format("{}-group-{}", grouping.name, *index));
    }
  }
  if (!replica.segment) {
    AddRoles(replica, grouping);
    return grouping;
  }
  BASALT_RETURN_IF_ERROR(AddSegments(input, replica, grouping));
  if (leads_alone) WaitForLeaderAlone(grouping);
  return grouping;
}

}  // namespace basalt::pgsvc
