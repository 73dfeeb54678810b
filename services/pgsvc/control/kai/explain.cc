// What people are told of the grouping of a pod.
#include <utility>

#include "services/pgsvc/control/kai/kai_groups.h"
#include "services/pgsvc/core/kai/group_patch.h"

namespace basalt::pgsvc {

std::optional<KaiGroups::Explanation> KaiGroups::Explain(std::string_view ns, std::string_view pod_name) const {
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return std::nullopt;
  const kube::v1::Pod* const pod = space->objects.FindPod(pod_name);
  if (pod == nullptr) return std::nullopt;
  Found found = FindGrouping(*space, *pod);
  Explanation explanation{.found = std::move(found.grouping),
                          .owners = std::move(found.owners),
                          .waits_for = std::move(found.waits_for),
                          .unreadable = std::move(found.unreadable)};
  if (!explanation.found.ok() || found.is_waiting) return explanation;
  const std::string& name = explanation.found->grouping.name;
  const auto group = space->groups.find(name);
  if (group == space->groups.end()) return explanation;
  explanation.plan = PlanOf(*space, group->second);
  const kube::v1::KaiPodGroup* const observed = space->objects.FindGroup(name);
  if (observed == nullptr) return explanation;
  explanation.is_there = true;
  if (!explanation.plan) return explanation;
  if (std::optional<GroupUpdate> update = KaiUpdateOf(*observed, *explanation.plan, rules_, form_)) {
    explanation.differing_fields = std::move(update->fields);
  }
  return explanation;
}

}  // namespace basalt::pgsvc
