// Jobs of Kubernetes, and the kinds that make Jobs (pod-grouper 6.1, 6.2).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/rules/rules.h"

namespace basalt::pgsvc {

namespace {

// Up to v0.14 each pod of a Job had a group of its own, which the Job owned.
std::string LegacyName(std::string_view name, std::string_view uid) {
  return GroupNameOf(fmt::format("pg-{}-{}", name, uid));
}

bool HasGroup(const std::vector<ObjectView>& groups, std::string_view name) {
  return std::any_of(groups.begin(), groups.end(), [name](ObjectView group) { return group.name() == name; });
}

// Returns the annotation's minimum, but no more than the pods of the Job that can run at once (G37).
absl::StatusOr<int32_t> MinimumOfJob(ObjectView job, std::vector<std::string>& warnings) {
  const MinimumAnnotation asked = MinimumAnnotationOf(job);
  if (asked.text == nullptr) return 1;
  BASALT_ASSIGN_OR_RETURN(const int32_t wanted, MinimumOf(job.Described(), asked.key, *asked.text, 0));
  BASALT_ASSIGN_OR_RETURN(const int32_t most, MostPodsAtOnce(job, {"spec", "parallelism"}, {"spec", "completions"}));
  return Capped(wanted, most, fmt::format("{}: annotation {}", job.Described(), asked.key), warnings);
}

// If some pods stay in groups of their own, the annotation does not count: the common group may never reach the minimum
// (G41).
bool TakeLegacyGroup(const RuleInput& input, ObjectView job, Grouping& grouping) {
  if (!input.options.finds_legacy_groups) return false;
  const std::vector<ObjectView> groups = input.cluster.GroupsOwnedBy(input.pod.ns(), job.uid());
  const std::string suffix = fmt::format("-{}", job.uid());
  const bool has_legacy = std::any_of(groups.begin(), groups.end(), [&](ObjectView group) {
    return group.name() != grouping.name && group.name().starts_with("pg-") && group.name().ends_with(suffix);
  });
  if (!has_legacy) return false;
  grouping.minimum = {};
  grouping.sources["minMember"] = "groups that pods of the Job had before they shared one";
  const std::string own = LegacyName(input.pod.name(), job.uid());
  if (HasGroup(groups, own)) grouping.name = own;
  return true;
}

absl::StatusOr<Grouping> GroupOfJob(const RuleInput& input, ObjectView job) {
  Grouping grouping = InheritFrom(input, job, {job}, kTrain);
  if (input.options.groups_job_pods_alone) {
    grouping.name = LegacyName(input.pod.name(), job.uid());
    return grouping;
  }
  if (TakeLegacyGroup(input, job, grouping)) return grouping;
  BASALT_ASSIGN_OR_RETURN(const int32_t minimum, MinimumOfJob(job, grouping.warnings));
  grouping.minimum = {.count = minimum};
  if (const MinimumAnnotation asked = MinimumAnnotationOf(job); asked.text != nullptr) {
    grouping.sources["minMember"] = fmt::format("annotation {} of {}", asked.key, job.Described());
  }
  return grouping;
}

}  // namespace

absl::StatusOr<Grouping> GroupJob(const RuleInput& input) { return GroupOfJob(input, input.top); }

// Applies the Job's own rule to the Job that owns the pod (G42); its API group counts (G24). If the Job names no queue,
// the queue of the CronJob counts: users label the object that they write.
absl::StatusOr<Grouping> GroupCronJob(const RuleInput& input) {
  const std::string& key = input.options.queue_label;
  for (const ObjectView owner : input.owners) {
    if (owner.kind() != "Job" || owner.group() != "batch") continue;
    BASALT_ASSIGN_OR_RETURN(Grouping grouping, GroupOfJob(input, owner));
    const json::string* const queue = owner.Label(key) == nullptr ? input.top.Label(key) : nullptr;
    if (queue != nullptr) {
      grouping.queue = std::string(*queue);
      grouping.has_default_queue = false;
      grouping.sources["queue"] = fmt::format("label {} of {}", key, input.top.Described());
    }
    return grouping;
  }
  return Invalid(fmt::format("{}: metadata.ownerReferences: names no Job of batch, though {} owns the pod",
                             input.pod.Described(), input.top.Described()));
}

absl::StatusOr<Grouping> GroupRunaiJob(const RuleInput& input) {
  Grouping grouping = InheritFromTop(input);
  const std::string_view pod = input.pod.name();
  const ObjectView job = input.top;
  grouping.name = GroupNameOf(fmt::format("pg-{}-{}", pod.substr(0, pod.rfind('-')), job.uid()));
  if (!input.options.finds_legacy_groups) return grouping;
  const absl::StatusOr<std::optional<int32_t>> parallelism = job.IntAt({"spec", "parallelism"});
  const bool is_parallel = parallelism.ok() && parallelism->value_or(0) > 1;
  const std::string legacy = LegacyName(is_parallel ? pod : job.name(), job.uid());
  if (!input.cluster.Find(kKaiApiVersion, "PodGroup", input.pod.ns(), legacy).empty()) grouping.name = legacy;
  return grouping;
}

}  // namespace basalt::pgsvc
