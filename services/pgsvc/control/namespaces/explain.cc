// Explains the grouping of a pod to people.
#include <fmt/format.h>

#include <utility>

#include "services/pgsvc/control/namespaces/namespace_groups.h"

namespace basalt::pgsvc {

std::optional<Explanation> NamespaceGroups::Explain(std::string_view key, std::string_view pod_name) const {
  Namespace* const space = namespaces_.Find(key);
  if (space == nullptr) return std::nullopt;
  std::optional<Explanation> explanation = ExplainIn(*space, pod_name);
  space->objects.DropMade();
  return explanation;
}

std::optional<Explanation> NamespaceGroups::ExplainIn(Namespace& space, std::string_view pod_name) const {
  const kube::v1::Pod* const pod = space.objects.FindPod(pod_name);
  if (pod == nullptr) return std::nullopt;
  StepBudget budget;
  Found found = FindGrouping(space, *pod, budget, Describe::kOwners);
  for (const std::string& fact : found.facts) {
    // No pass has requested the fact, so that no pass forgets it.
    if (space.dependents.Of(fact).empty() && space.queue_dependents.Of(fact).empty()) space.objects.Forget(fact);
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
  const std::optional<GroupPlanOfPods> plan = PlanOf(space, group->second, budget_of_plan);
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  explanation.is_there = observed != nullptr;
  Dependents::Facts facts;
  if (observed != nullptr) explanation.queue_problem = WhyQueuePlacesNothing(space, *observed, facts);
  AddObstacles(space, *pod, name, group->second, explanation.notes);
  if (!plan) return explanation;
  explanation.plan = plan->grouping;
  explanation.least_pods = emitter_->LeastPodsOf(plan->grouping);
  explanation.members = MembersOf(group->second, explanation.least_pods);
  for (std::string& note : NotesOn(plan->grouping)) explanation.notes.push_back(std::move(note));
  RenderedGroup rendered = Render(space, *plan);
  if (observed != nullptr) {
    explanation.unschedulable = WhyNotPlaced(observed->object);
    if (auto update = emitter_->UpdateOf(*observed, plan->grouping, rendered)) {
      explanation.differing_fields = std::move(update->fields);
    }
    const json::value spec = emitter_->SpecOf(*observed);
    const json::object& wanted = rendered.object.at("spec").as_object();
    for (std::string& kept : KeptFields(spec, wanted, explanation.differing_fields)) {
      explanation.notes.push_back(std::move(kept));
    }
  }
  explanation.rendered = std::move(rendered);
  return explanation;
}

void NamespaceGroups::AddObstacles(const Namespace& space, const kube::v1::Pod& pod, const std::string& name,
                                   const GroupState& group, std::vector<std::string>& notes) const {
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  notes = ObstaclesOf(observed == nullptr ? nullptr : &observed->object.meta(), group.refusal, group.retry);
  if (std::string fight = FightOver(name, group); !fight.empty()) notes.push_back(std::move(fight));
  const auto state = space.pods.find(pod.uid());
  if (state == space.pods.end()) return;
  const PodLink& link = state->second.link;
  if (link.pace.IsFought(context_.ApiNow())) notes.push_back(FightOverLink(name));
  if (link.refusal.empty()) return;
  notes.push_back(RefusedLink(link.refusal));
}

podgroup::v1::GroupMembers NamespaceGroups::MembersOf(const GroupState& group, int64_t least) {
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

// Returns notes for KAI alone: they describe the behaviour of its scheduler.
std::vector<std::string> NamespaceGroups::NotesOn(const Grouping& plan) const {
  std::vector<std::string> notes;
  if (emitter_->profile() != kube::GroupProfile::kKai) return notes;
  const int64_t least = emitter_->LeastPodsOf(plan);
  if (!plan.sub_groups.empty() && !plan.minimum.of_sub_groups && least > plan.minimum.count) {
    notes.push_back(fmt::format("the subgroups need {} pods at least, more than minMember {}: whole ones are placed",
                                least, plan.minimum.count));
  }
  // Groups below this value are preemptible unless preemptibility is set (pod-grouper 5.5).
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
