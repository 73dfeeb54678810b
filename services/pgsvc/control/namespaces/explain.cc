#include "services/pgsvc/control/namespaces/explain.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "common/kube/group_profile.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// Returns the problems that keep the pod or the group from being as the rules require.
std::vector<std::string> ObstaclesTo(const NamespaceState& space, const kube::v1::Pod& pod, const std::string& name,
                                     const GroupState& group, absl::Time now) {
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  std::vector<std::string> notes =
      ObstaclesOf(observed == nullptr ? nullptr : &observed->object.meta(), group.refusal, group.retry);
  if (std::string fight = DescribeFight(name, group, now); !fight.empty()) notes.push_back(std::move(fight));
  const auto state = space.pods.find(pod.uid());
  if (state == space.pods.end()) return notes;
  const PodLink& link = state->second.link;
  if (link.pace.IsFought(now)) notes.push_back(DescribeFightOverLink(name));
  if (!link.refusal.empty()) notes.push_back(RefusedLink(link.refusal));
  return notes;
}

// Returns notes for KAI alone: they describe the behaviour of its scheduler.
std::vector<std::string> NotesOn(const PodGrouper& grouper, const Grouping& plan) {
  std::vector<std::string> notes;
  if (grouper.emitter().profile() != kube::GroupProfile::kKai) return notes;
  const int64_t least = grouper.emitter().LeastPodsOf(plan);
  if (!plan.sub_groups.empty() && !plan.minimum.of_sub_groups && least > plan.minimum.count) {
    notes.push_back(fmt::format("the subgroups need {} pods at least, more than minMember {}: whole ones are placed",
                                least, plan.minimum.count));
  }
  // Groups below this value are preemptible unless preemptibility is set (pod-grouper 5.5).
  constexpr int32_t kLeastOfNonPreemptible = 100;
  const std::optional<int32_t> priority = grouper.FindPriority(plan.priority_class);
  std::string why = plan.preemptibility;
  bool is_preemptible = plan.preemptibility == "preemptible";
  if (plan.preemptibility.empty()) {
    if (!priority) return notes;
    is_preemptible = *priority < kLeastOfNonPreemptible;
    why = fmt::format("{}preemptible, as the value {} of priority class {} is {} {}", is_preemptible ? "" : "non-",
                      *priority, plan.priority_class, is_preemptible ? "below" : "not below", kLeastOfNonPreemptible);
  }
  notes.push_back(
      fmt::format("{}: the group {} its queue's quota", why, is_preemptible ? "may exceed" : "must fit into"));
  return notes;
}

}  // namespace

podgroup::v1::GroupMembers MembersOf(const GroupState& group, int64_t least) {
  using Members = podgroup::v1::GroupMembers;
  Members members;
  members.set_running(static_cast<int32_t>(group.CountOf(kube::v1::POD_PHASE_RUNNING)));
  members.set_succeeded(static_cast<int32_t>(group.CountOf(kube::v1::POD_PHASE_SUCCEEDED)));
  members.set_failed(static_cast<int32_t>(group.CountOf(kube::v1::POD_PHASE_FAILED)));
  members.set_pending(static_cast<int32_t>(group.members().size()) - members.running() - members.succeeded() -
                      members.failed());
  SetPhase(least, members);
  return members;
}

std::optional<Explanation> ExplainPod(const PodGrouper& grouper, NamespaceState& space, std::string_view pod_name,
                                      absl::Time now) {
  const kube::v1::Pod* const pod = space.objects.FindPod(pod_name);
  if (pod == nullptr) return std::nullopt;
  StepBudget budget;
  PodGrouper::Found found = grouper.FindGrouping(space, *pod, budget, PodGrouper::Describe::kOwners);
  for (const std::string& fact : found.facts) {
    // No pass has requested the fact, so that no pass forgets it.
    if (!space.DependsOn(fact)) space.objects.Forget(fact);
  }
  Explanation explanation{.found = std::move(found.grouping),
                          .owners = std::move(found.owners),
                          .waits_for = std::move(found.waits_for),
                          .unreadable = std::move(found.unreadable)};
  if (!explanation.found.ok() || found.is_waiting) return explanation;
  const std::string& name = explanation.found->grouping.name;
  const auto group = space.groups.find(name);
  if (group == space.groups.end()) return explanation;
  StepBudget budget_of_plan;
  const std::optional<GroupPlanOfPods> plan = grouper.PlanOf(space, group->second, budget_of_plan);
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  explanation.is_there = observed != nullptr;
  Dependents::Facts facts;
  if (observed != nullptr) explanation.queue_problem = grouper.WhyQueuePlacesNothing(space, *observed, facts);
  explanation.notes = ObstaclesTo(space, *pod, name, group->second, now);
  if (!plan) return explanation;
  explanation.plan = plan->grouping;
  explanation.least_pods = grouper.emitter().LeastPodsOf(plan->grouping);
  explanation.members = MembersOf(group->second, explanation.least_pods);
  for (std::string& note : NotesOn(grouper, plan->grouping)) explanation.notes.push_back(std::move(note));
  RenderedGroup rendered = grouper.Render(space, *plan);
  if (observed != nullptr) {
    explanation.unschedulable = WhyNotPlaced(observed->object);
    if (auto update = grouper.emitter().UpdateOf(*observed, plan->grouping, rendered)) {
      explanation.differing_fields = std::move(update->fields);
    }
    const json::value spec = grouper.emitter().SpecOf(*observed);
    const json::object& wanted = rendered.object.at("spec").as_object();
    for (std::string& kept : KeptFields(spec, wanted, explanation.differing_fields)) {
      explanation.notes.push_back(std::move(kept));
    }
  }
  explanation.rendered = std::move(rendered);
  return explanation;
}

}  // namespace basalt::pgsvc
