// JobSet: one group with two levels of subgroups (pod-grouper 6.6).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/rules/rules.h"
#include "services/pgsvc/core/integers.h"

namespace basalt::pgsvc {

namespace {

// This label of a pod names its replicated job in the JobSet, which decides its subgroup.
constexpr std::string_view kReplicatedJobLabel = "jobset.sigs.k8s.io/replicatedjob-name";
// This label of a pod has the index of its Job in the replicated job, which decides its subgroup.
constexpr std::string_view kJobIndexLabel = "jobset.sigs.k8s.io/job-index";

struct ReplicatedJob {
  std::string name;
  int32_t replicas = 1;
  int32_t minimum = 1;  // The minimum of pods of one replica.
  Topology topology;
};

std::string LeafName(std::string_view job, int64_t replica) { return fmt::format("{}-replica-{}", job, replica); }

bool IsInOrder(ObjectView set) { return set.TextAt({"spec", "startupPolicy", "startupPolicyOrder"}) == "InOrder"; }

// The JobSet controller makes one replicated job after the other: a group that needs all of them at once would never
// start (G36).
bool StartsInSequence(ObjectView set, const json::array& jobs) {
  return IsInOrder(set) || std::any_of(jobs.begin(), jobs.end(), [](const json::value& job) {
           const json::value* const depends = Find(job, "dependsOn");
           return depends != nullptr && depends->is_array() && !depends->get_array().empty();
         });
}

absl::StatusOr<int32_t> LeafMinimum(ObjectView job, std::vector<std::string>& warnings) {
  BASALT_ASSIGN_OR_RETURN(const int32_t most, MostPodsAtOnce(job, {"template", "spec", "parallelism"},
                                                             {"template", "spec", "completions"}));
  const json::value* const pod_template = job.At({"template"});
  const MinimumAnnotation asked =
      pod_template == nullptr ? MinimumAnnotation() : MinimumAnnotationOf(ObjectView(*pod_template));
  if (asked.text == nullptr || asked.text->empty()) return most;
  BASALT_ASSIGN_OR_RETURN(const int32_t wanted, MinimumOf(job.Described(), asked.key, *asked.text, 1));
  return Capped(wanted, most, fmt::format("{}: annotation {}", job.Described(), asked.key), warnings);
}

// Returns the replicated jobs that have replicas (G34).
absl::StatusOr<std::vector<ReplicatedJob>> ReplicatedJobsOf(ObjectView set, const json::array& jobs,
                                                            std::vector<std::string>& warnings) {
  std::vector<ReplicatedJob> read;
  int64_t leaves = 0;
  for (const json::value& entry : jobs) {
    const std::string_view name = FindString(entry, "name");
    if (name.empty())
      return Invalid(fmt::format("{}: spec.replicatedJobs: each one must have a name", set.Described()));
    const std::string where = fmt::format("{}: replicated job {}", set.Described(), name);
    const ObjectView job(entry, where);
    BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> replicas, job.IntAt({"replicas"}));
    if (replicas.value_or(1) <= 0) continue;
    BASALT_ASSIGN_OR_RETURN(const int32_t minimum, LeafMinimum(job, warnings));
    leaves += replicas.value_or(1);
    if (leaves > kMostSubGroups) {
      return Invalid(fmt::format("{}: spec.replicatedJobs: there may be {} replicas in all at most", set.Described(),
                                 kMostSubGroups));
    }
    Topology topology = TemplateTopologyOf(job.At({"template"}));
    if (topology.name.empty() || !topology.has_level()) topology = {};
    read.push_back({std::string(name), replicas.value_or(1), minimum, topology});
  }
  return read;
}

absl::StatusOr<int32_t> MinimumOfJobs(ObjectView set, const json::array& jobs, size_t count,
                                      std::vector<std::string>& warnings) {
  const int32_t most = static_cast<int32_t>(count);
  if (const MinimumAnnotation asked = MinimumAnnotationOf(set); asked.text != nullptr) {
    BASALT_ASSIGN_OR_RETURN(const int32_t wanted, MinimumOf(set.Described(), asked.key, *asked.text, 1));
    return Capped(wanted, most, fmt::format("{}: annotation {}", set.Described(), asked.key), warnings);
  }
  return StartsInSequence(set, jobs) ? std::min(1, most) : most;
}

absl::StatusOr<std::string> LeafOf(ObjectView pod, const std::vector<ReplicatedJob>& jobs) {
  for (const std::string_view label : {kReplicatedJobLabel, kJobIndexLabel}) {
    const json::string* const text = pod.Label(label);
    if (text == nullptr || text->empty()) {
      return Invalid(fmt::format("{}: label {}: is required", pod.Described(), label));
    }
  }
  const std::string_view name = *pod.Label(kReplicatedJobLabel);
  const std::optional<int32_t> index = ParseInt32(*pod.Label(kJobIndexLabel));
  const auto job =
      std::find_if(jobs.begin(), jobs.end(), [name](const ReplicatedJob& one) { return one.name == name; });
  if (job == jobs.end() || !index || *index < 0 || *index >= job->replicas) {
    return Invalid(fmt::format("{}: labels {} and {}: the JobSet has no replica {} of {}", pod.Described(),
                               kReplicatedJobLabel, kJobIndexLabel, std::string_view(*pod.Label(kJobIndexLabel)),
                               name));
  }
  return LeafName(name, *index);
}

// Before v0.16 a JobSet had flat groups. An existing one goes on, with its stored minimum (G40).
absl::StatusOr<bool> FindLegacyGroup(const RuleInput& input, const json::array& jobs, Grouping& grouping) {
  std::vector<std::string> names = {grouping.name};
  for (const json::value& job : jobs) {
    names.push_back(GroupNameOf(fmt::format("{}-{}", grouping.name, FindString(job, "name"))));
  }
  const std::vector<ObjectView> groups = input.cluster.GroupsOwnedBy(input.pod.ns(), input.top.uid());
  const auto is_legacy = [&names](ObjectView group) {
    return !HasSubGroups(group) && std::find(names.begin(), names.end(), group.name()) != names.end();
  };
  if (std::none_of(groups.begin(), groups.end(), is_legacy)) return false;
  const json::string* const job = input.pod.Label(kReplicatedJobLabel);
  if (job == nullptr || job->empty()) {
    return Invalid(fmt::format("{}: label {}: is required", input.pod.Described(), kReplicatedJobLabel));
  }
  // Releases before v0.16 treated a JobSet without an order like one in order: such a group goes on, too.
  const std::string own = GroupNameOf(fmt::format("{}-{}", grouping.name, std::string_view(*job)));
  const bool has_own = std::any_of(groups.begin(), groups.end(),
                                   [&](ObjectView group) { return is_legacy(group) && group.name() == own; });
  if (IsInOrder(input.top) || has_own) grouping.name = own;
  grouping.minimum = {};
  if (const MinimumAnnotation asked = MinimumAnnotationOf(input.top); asked.text != nullptr) {
    BASALT_ASSIGN_OR_RETURN(grouping.minimum.count, MinimumOf(input.top.Described(), asked.key, *asked.text, 0));
  }
  for (const ObjectView group : groups) {
    if (group.name() != grouping.name) continue;
    BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> stored, group.IntAt({"spec", "minMember"}));
    if (stored) grouping.minimum.count = *stored;
  }
  return true;
}

// Groups a JobSet as releases before v0.15 do (9.4): without subgroups, and with a group for each replicated job if
// they start one after the other, which is the default.
absl::StatusOr<Grouping> GroupFlat(const RuleInput& input, const json::array& jobs, Grouping grouping) {
  const std::string_view order = input.top.TextAt({"spec", "startupPolicy", "startupPolicyOrder"});
  const bool is_in_order = order.empty() || order == "InOrder";
  const json::string* const own = input.pod.Label(kReplicatedJobLabel);
  if (is_in_order && (own == nullptr || own->empty())) {
    return Invalid(fmt::format("{}: label {}: is required", input.pod.Described(), kReplicatedJobLabel));
  }
  int64_t minimum = 0;
  for (const json::value& entry : jobs) {
    const std::string_view name = FindString(entry, "name");
    if (is_in_order && name != *own) continue;
    const std::string where = fmt::format("{}: replicated job {}", input.top.Described(), name);
    const ObjectView job(entry, where);
    BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> replicas, job.IntAt({"replicas"}));
    BASALT_ASSIGN_OR_RETURN(std::optional<int32_t> pods, job.IntAt({"template", "spec", "parallelism"}));
    BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> completions, job.IntAt({"template", "spec", "completions"}));
    if (!pods || *pods <= 0) pods = 1;
    if (completions && *completions > 0) pods = std::min(*pods, *completions);
    minimum += static_cast<int64_t>(replicas && *replicas > 0 ? *replicas : 1) * *pods;
  }
  if (is_in_order) grouping.name = GroupNameOf(fmt::format("{}-{}", grouping.name, std::string_view(*own)));
  grouping.minimum = {.count = static_cast<int32_t>(std::min<int64_t>(minimum, INT32_MAX))};
  return grouping;
}

}  // namespace

absl::StatusOr<Grouping> GroupJobSet(const RuleInput& input) {
  const ObjectView set = input.top;
  const json::value* const list = set.At({"spec", "replicatedJobs"});
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    return Invalid(fmt::format("{}: spec.replicatedJobs: must not be empty", set.Described()));
  }
  if (set.name().empty() || set.uid().empty()) {
    return Invalid(fmt::format("{}: metadata: must have a name and a UID", set.Described()));
  }
  const json::array& jobs = list->get_array();
  Grouping grouping = InheritFromTop(input);
  // These groups look like legacy ones: they are those that such releases make.
  if (!input.options.form.has_sub_group_minimum) return GroupFlat(input, jobs, std::move(grouping));
  BASALT_ASSIGN_OR_RETURN(const bool is_legacy, FindLegacyGroup(input, jobs, grouping));
  if (is_legacy) return grouping;
  BASALT_ASSIGN_OR_RETURN(const std::vector<ReplicatedJob> replicated, ReplicatedJobsOf(set, jobs, grouping.warnings));
  BASALT_ASSIGN_OR_RETURN(const int32_t minimum, MinimumOfJobs(set, jobs, replicated.size(), grouping.warnings));
  grouping.minimum = {.count = minimum, .of_sub_groups = true};
  for (const ReplicatedJob& job : replicated) {
    grouping.sub_groups.push_back({.name = job.name, .minimum = {.count = job.replicas, .of_sub_groups = true}});
    for (int32_t i = 0; i < job.replicas; ++i) {
      grouping.sub_groups.push_back({.name = LeafName(job.name, i),
                                     .parent = job.name,
                                     .minimum = {.count = job.minimum},
                                     .topology = job.topology});
    }
  }
  BASALT_ASSIGN_OR_RETURN(grouping.pod_sub_group, LeafOf(input.pod, replicated));
  return grouping;
}

}  // namespace basalt::pgsvc
