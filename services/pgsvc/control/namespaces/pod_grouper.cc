// Finds the group of each pod by the rules, and each group as its members want it.
#include "services/pgsvc/control/namespaces/pod_grouper.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/grouping/owner_walk.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// How many members are tried at most, if the rules find no group for the first ones.
constexpr int kMostAsked = 16;

// Removes the annotation by which a pod without owners names its group, and returns that name: grouping itself may have
// written it. The pod is in KAI's terms (pod_object.h).
std::string TakeAssignment(json::value& pod) {
  json::object& metadata = ObjectIn(pod.as_object(), "metadata");
  if (metadata.contains("ownerReferences") || !metadata.contains("annotations")) return {};
  json::object& annotations = ObjectIn(metadata, "annotations");
  std::string name(FindString(metadata["annotations"], kube::kKaiGroupNameKey));
  if (!name.empty()) annotations.erase(kube::kKaiGroupNameKey);
  return name;
}

}  // namespace

PodGrouper::PodGrouper(RuleOptions rules, const QueueIndex& queues, std::unique_ptr<GroupEmitter> emitter)
    : rules_(std::move(rules)), queues_(queues), emitter_(std::move(emitter)) {}

bool PodGrouper::TakeDefinition(const json::value* definition) {
  if (!emitter_->TakeDefinition(definition)) return false;
  rules_.form = emitter_->form();
  return true;
}

std::set<std::string> PodGrouper::TakePriorityClass(const kube::v1::PriorityClass& priority_class, bool gone) {
  const std::string& name = priority_class.meta().name();
  const bool was_there = priority_classes_.contains(name);
  if (gone) {
    priority_classes_.erase(name);
  } else {
    priority_classes_[name] = priority_class.value();
  }
  return was_there == gone ? std::set<std::string>{ClassFact(name)} : std::set<std::string>();
}

std::set<std::string> PodGrouper::TakeKarta(std::string_view name, const json::value* karta) {
  const std::vector<std::string> kinds =
      karta == nullptr ? kartas_.Erase(std::string(name)) : kartas_.Set(ObjectView(*karta));
  std::set<std::string> facts;
  for (const std::string& kind : kinds) facts.insert(KartaFact(kind));
  return facts;
}

std::optional<int32_t> PodGrouper::FindPriority(std::string_view name) const {
  const auto known = priority_classes_.find(name);
  return known == priority_classes_.end() ? std::nullopt : std::optional(known->second);
}

PodGrouper::Found PodGrouper::FindNow(NamespaceState& space, const kube::v1::Pod& pod) {
  StepBudget budget;
  Found found = FindGrouping(space, pod, budget);
  steps_ += budget.used();
  return found;
}

PodGrouper::Found PodGrouper::FindGrouping(NamespaceState& space, const kube::v1::Pod& pod, StepBudget& budget,
                                           Describe describe) const {
  json::value object = PodObject(pod, emitter_->group_name_key());
  const std::string assigned = TakeAssignment(object);
  const ObjectView seen(object);
  NamespaceView view(space.objects, priority_classes_, kartas_);
  const json::string* const opt_out = seen.Annotation(kOptOutAnnotation);
  absl::StatusOr<std::vector<ObjectView>> owners = std::vector<ObjectView>();
  if (opt_out == nullptr || *opt_out != "true") owners = view.OwnersOf(seen);
  Found found;
  if (owners.ok()) {
    found.grouping = GroupPodByRules(seen, *owners, view, rules_, budget);
    // The form may read the rule's own class, too.
    if (found.grouping.ok() && found.grouping->grouping.has_default_priority) {
      view.HasPriorityClass(found.grouping->grouping.priority_class);
    }
  } else {
    found.grouping = owners.status();
  }
  found.facts = view.facts();
  found.is_waiting = !view.waits_for().empty();
  found.unreadable = view.unreadable();
  found.waits_for = view.waits_for();
  if (describe == Describe::kOwners && owners.ok()) {
    for (const ObjectView owner : *owners) found.owners.push_back(owner.Described());
  }
  const std::string_view named = space.NameOfGroup(pod);
  const bool is_named_otherwise = !named.empty() && found.grouping.ok() &&
                                  found.grouping->verdict == PodGrouping::Verdict::kGrouped &&
                                  found.grouping->grouping.name != named;
  const bool stays = is_named_otherwise && StaysInItsGroup(space, pod, *found.grouping);
  if (!assigned.empty() ? !found.grouping.ok() || is_named_otherwise
                        : stays || (is_named_otherwise && rules_.keeps_named_groups)) {
    PodGrouping kept{.verdict = PodGrouping::Verdict::kAssigned, .decided_by = seen.Described()};
    if (stays) {
      kept.grouping.warnings = std::move(found.grouping->grouping.warnings);
      kept.karta = std::move(found.grouping->karta);
    } else if (is_named_otherwise) {
      found.alone = std::move(found.grouping->grouping);
    }
    found.grouping = std::move(kept);
  }
  const bool is_others = found.grouping.ok() && found.grouping->verdict != PodGrouping::Verdict::kGrouped;
  if (is_others && !named.empty()) found.facts.insert(GroupFact(named));
  return found;
}

// A Karta that breaks moves no pod out of its group. One that comes or goes moves no pod that has its node (G26).
bool PodGrouper::StaysInItsGroup(const NamespaceState& space, const kube::v1::Pod& pod,
                                 const PodGrouping& found) const {
  const ObservedGroup* const named = space.objects.FindGroup(space.NameOfGroup(pod));
  if (named == nullptr) return false;
  if (found.is_makeshift()) return true;
  const auto& owners = named->object.meta().owner_references();
  return found.follows_kartas && !pod.node_name().empty() &&
         std::any_of(owners.begin(), owners.end(),
                     [&found](const auto& owner) { return owner.uid() == found.grouping.owner.uid; });
}

std::optional<GroupPlanOfPods> PodGrouper::PlanNow(NamespaceState& space, const GroupState& group) {
  StepBudget budget;
  std::optional<GroupPlanOfPods> plan = PlanOf(space, group, budget);
  steps_ += budget.used();
  return plan;
}

std::optional<GroupPlanOfPods> PodGrouper::PlanOf(NamespaceState& space, const GroupState& group,
                                                  StepBudget& budget) const {
  const NamespaceObjects::Pods& pods = space.objects.pods();
  int asked = 0;
  for (const auto& [pod, member] : group.members()) {
    if (++asked > kMostAsked || budget.is_spent()) break;
    GroupPlan plan;
    if (const auto known = space.found.find(pod.uid); known != space.found.end()) {
      plan.Add(pod.name, Grouping(known->second));
    } else {
      Found found = FindGrouping(space, pods.at(pod.uid), budget);
      if (found.is_waiting || !found.grouping.ok()) continue;
      if (found.grouping->verdict != PodGrouping::Verdict::kGrouped) continue;
      plan.Add(pod.name, std::move(found.grouping->grouping));
    }
    GroupPlanOfPods planned{.grouping = {}, .pod = &pods.at(pod.uid)};
    for (const auto& [name, leaf] : group.leaves()) {
      plan.AddLeaf(name);
      planned.leaf_pods[name] = &pods.at(leaf.first.uid);
    }
    planned.grouping = plan.Group(rules_.form);
    return planned;
  }
  return std::nullopt;
}

RenderedGroup PodGrouper::Render(NamespaceState& space, const GroupPlanOfPods& plan) const {
  const NamespaceView view(space.objects, priority_classes_, kartas_);
  return emitter_->Render(plan, view);
}

std::optional<std::string> PodGrouper::LinkOf(const kube::v1::Pod& pod, std::string_view name, const GroupState& group,
                                              const GroupState::Member& member) const {
  return LinkPatchOf(pod, emitter_->group_name_key(), name, group.plan_leaves.contains(member.leaf) ? member.leaf : "");
}

bool PodGrouper::IsLinked(const NamespaceState& space, const std::string& uid) const {
  const auto known = space.pods.find(uid);
  const auto group = known == space.pods.end() ? space.groups.end() : space.groups.find(known->second.group);
  if (group == space.groups.end()) return false;
  const kube::v1::Pod& pod = space.objects.pods().at(uid);
  const GroupState::Member* const member = group->second.Find(pod);
  return member != nullptr && !LinkOf(pod, group->first, group->second, *member);
}

bool PodGrouper::GoesWithItsPods(const ObservedGroup& group) const {
  if (!emitter_->IsByRules(group)) return false;
  return emitter_->drops_empty_groups() || group.object.meta().owner_references().empty();
}

bool PodGrouper::AreOverForGood(NamespaceState& space, const std::string& name, const GroupState& group) const {
  if (group.members().empty() || space.objects.IsNamedByActive(name)) return false;
  const kube::v1::Pod& pod = space.objects.pods().at(group.members().begin()->first.uid);
  const json::value object = PodObject(pod, emitter_->group_name_key());
  NamespaceView view(space.objects, priority_classes_, kartas_);
  const absl::StatusOr<std::vector<ObjectView>> owners = view.OwnersOf(ObjectView(object));
  return owners.ok() &&
         std::any_of(owners->begin(), owners->end(), [](ObjectView owner) { return WantsNoPods(owner); });
}

std::optional<json::object> PodGrouper::OwnerlessObjectFor(NamespaceState& space, const kube::v1::Pod& pod,
                                                           const std::string& name) {
  Found found = FindNow(space, pod);
  if (!found.alone) return std::nullopt;
  Grouping& grouping = *found.alone;
  grouping.name = name;
  // The scheduler never places a pod whose label names no subgroup (weakness G18).
  std::set<std::string> leaves;
  for (const SubGroup& sub_group : grouping.sub_groups) leaves.insert(sub_group.name);
  GroupPlanOfPods planned{.grouping = {}, .pod = &pod, .leaf_pods = {{"", &pod}}};
  for (const kube::v1::Pod* const one : space.ActiveThatName(name)) {
    const std::string leaf(FindKey(one->grouping().labels(), kube::kKaiSubGroupNameKey).value_or(""));
    planned.leaf_pods.try_emplace(leaf, one);
    if (leaf.empty() || !leaves.insert(leaf).second) continue;
    grouping.sub_groups.push_back({.name = leaf, .minimum = {.count = 0}});
  }
  GroupPlan plan;
  plan.Add(pod.name(), std::move(grouping));
  planned.grouping = plan.Group(rules_.form);
  json::object body = Render(space, planned).object;
  ObjectIn(body, "metadata").erase("ownerReferences");
  return body;
}

std::string PodGrouper::WhyQueuePlacesNothing(NamespaceState& space, const ObservedGroup& observed,
                                              Dependents::Facts& facts) const {
  const json::value spec = emitter_->SpecOf(observed);
  const std::string_view named = FindString(spec, "queue");
  if (emitter_->profile() == kube::GroupProfile::kKai) {
    if (named.empty()) return {};
    const NamespaceView view(space.objects, priority_classes_, kartas_);
    std::string why =
        pgsvc::WhyQueuePlacesNothing(named, [&view](std::string_view queue) { return view.FindQueue(queue); });
    facts.insert(view.facts().begin(), view.facts().end());
    return why;
  }
  return pgsvc::WhyQueuePlacesNothing(named.empty() ? kube::kDefaultQueue : named, [&](std::string_view queue) {
    facts.insert(QueueFact(queue));
    return queues_.Find(queue);
  });
}

}  // namespace basalt::pgsvc
