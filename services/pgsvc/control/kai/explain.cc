// What people are told of the grouping of a pod.
#include <fmt/format.h>

#include <utility>

#include "services/pgsvc/control/kai/kai_groups.h"
#include "services/pgsvc/core/grouping/volcano_group.h"
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
  if (explanation.plan) {
    explanation.members = MembersOf(*space, group->second, LeastPodsForKai(*explanation.plan));
    explanation.notes = NotesOn(*explanation.plan);
  }
  const kube::v1::KaiPodGroup* const observed = space->objects.FindGroup(name);
  if (observed == nullptr) return explanation;
  explanation.is_there = true;
  if (!explanation.plan) return explanation;
  if (std::optional<GroupUpdate> update = KaiUpdateOf(*observed, *explanation.plan, rules_, form_)) {
    explanation.differing_fields = std::move(update->fields);
  }
  return explanation;
}

podgroup::v1::GroupMembers KaiGroups::MembersOf(const Namespace& space, const KaiGroupState& group, int64_t least) {
  using Members = podgroup::v1::GroupMembers;
  Members members;
  for (const auto& [id, member] : group.members()) {
    switch (space.objects.pods().at(id.uid).phase()) {
      case kube::v1::POD_PHASE_RUNNING:
        members.set_running(members.running() + 1);
        break;
      case kube::v1::POD_PHASE_SUCCEEDED:
        members.set_succeeded(members.succeeded() + 1);
        break;
      case kube::v1::POD_PHASE_FAILED:
        members.set_failed(members.failed() + 1);
        break;
      default:
        members.set_pending(members.pending() + 1);
    }
  }
  const bool is_over = members.pending() + members.running() == 0;
  if (is_over) {
    members.set_phase(members.failed() == 0 ? Members::PHASE_SUCCEEDED : Members::PHASE_FAILED);
  } else {
    const bool runs = members.running() > 0 && members.running() + members.succeeded() >= least;
    members.set_phase(runs ? Members::PHASE_RUNNING : Members::PHASE_PENDING);
  }
  return members;
}

std::vector<std::string> KaiGroups::NotesOn(const Grouping& plan) const {
  std::vector<std::string> notes;
  const int64_t least = LeastPodsForKai(plan);
  if (!plan.sub_groups.empty() && !plan.minimum.of_sub_groups && least > plan.minimum.count) {
    notes.push_back(fmt::format("the subgroups need {} pods at least, more than minMember {}: whole ones are placed",
                                least, plan.minimum.count));
  }
  // Groups below this value are preemptible where nobody says otherwise (5.5).
  constexpr int32_t kLeastOfNonPreemptible = 100;
  const auto priority = priority_classes_.find(plan.priority_class);
  std::string why = plan.preemptibility;
  bool is_preemptible = plan.preemptibility == "preemptible";
  if (plan.preemptibility.empty()) {
    if (priority == priority_classes_.end()) return notes;
    is_preemptible = priority->second < kLeastOfNonPreemptible;
    why = fmt::format("{}preemptible, as the value {} of priority class {} is {} {}", is_preemptible ? "" : "non-",
                      priority->second, plan.priority_class, is_preemptible ? "below" : "not below",
                      kLeastOfNonPreemptible);
  }
  notes.push_back(
      fmt::format("{}: the group {} its queue's quota", why, is_preemptible ? "may exceed" : "must fit into"));
  return notes;
}

}  // namespace basalt::pgsvc
