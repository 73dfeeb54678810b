// Sends the writes of a group and of its pods, and handles the answers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/grouping/owner_walk.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// How many members are tried at most, if the rules find no group for the first ones.
constexpr int kMostAsked = 16;

// Names the owner of the group, as history states it.
std::string Asker(const Grouping& grouping) { return fmt::format("{} {}", grouping.owner.kind, grouping.owner.name); }

// Whether the group is that of a job, which the gateway sends to the owner of the job's key.
bool IsOfJob(const kube::v1::Object& group) {
  const auto& owners = group.pod_group().meta().owner_references();
  return std::any_of(owners.begin(), owners.end(), [](const kube::v1::OwnerReference& owner) {
    return owner.controller() && owner.kind() == kube::kJobs.name && owner.api_version() == kube::kJobApiVersion;
  });
}

}  // namespace

void NamespaceGroups::ServeGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  if (group.busy) return;
  CheckQueue(ns, space, name, group);
  if (!group.has_active()) return ServeEmptyGroup(ns, space, name, group);
  group.empty_since.reset();
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  const bool is_going = observed != nullptr && observed->object.meta().deletion_ms() != 0;
  if (group.retry.Blocks(context_.ApiNow())) {
    WaitUntil(ns, space, name, group.retry.until());
    // A refused write of the group keeps no pod out of the group.
    if (observed != nullptr && !is_going && group.is_ours) writes_.LinkPods({ns, name}, group);
    return;
  }
  if (observed == nullptr) return CreateGroup(ns, space, name, group);
  if (is_going) return;  // The watch will show the end of the group.
  if (!group.is_compared) UpdateGroup(ns, space, name, group);
  if (group.is_compared && !group.busy) writes_.LinkPods({ns, name}, group);
}

void NamespaceGroups::ServeEmptyGroup(const std::string& ns, Namespace& space, const std::string& name,
                                      GroupState& group) {
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  if (observed == nullptr && group.lost) return ServeLostGroup(ns, space, name, group);
  const bool holds_room = observed != nullptr && GoesWithItsPods(*observed) &&
                          observed->object.meta().deletion_ms() == 0 &&
                          (!space.objects.IsNamed(name) || AreOverForGood(space, name, group));
  if (!holds_room) {
    group.empty_since.reset();
    return Succeed(space, name, group);
  }
  const absl::Time now = context_.ApiNow();
  if (!group.empty_since) group.empty_since = now;
  absl::Time due = std::max(*group.empty_since + kEmptyGrace, group.retry.until());
  if (now >= due && now < *group.empty_since + kMostEmptyGrace && MayBelong(space)) due = now + kEmptyGrace / 10;
  if (now < due) return WaitUntil(ns, space, name, due);
  const std::string& uid = observed->object.meta().uid();
  writes_.CarryOut(
      {ns, name}, group,
      {.kind = GroupStep::Kind::kDelete,
       .uid = uid,
       .decision = {.kind = GroupDecision::Kind::kDeleted, .uid = uid, .message = "no pod is in the group any more"}});
}

bool NamespaceGroups::GoesWithItsPods(const ObservedGroup& group) const {
  if (!emitter_->IsByRules(group)) return false;
  return emitter_->drops_empty_groups() || group.object.meta().owner_references().empty();
}

bool NamespaceGroups::AreOverForGood(Namespace& space, const std::string& name, const GroupState& group) const {
  if (group.members().empty() || space.objects.IsNamedByActive(name)) return false;
  const kube::v1::Pod& pod = space.objects.pods().at(group.members().begin()->first.uid);
  const json::value object = PodObject(pod, emitter_->group_name_key());
  NamespaceView view(space.objects, priority_classes_, kartas_);
  const absl::StatusOr<std::vector<ObjectView>> owners = view.OwnersOf(ObjectView(object));
  return owners.ok() &&
         std::any_of(owners->begin(), owners->end(), [](ObjectView owner) { return WantsNoPods(owner); });
}

void NamespaceGroups::ServeLostGroup(const std::string& ns, Namespace& space, const std::string& name,
                                     GroupState& group) {
  if (!space.objects.IsNamedByActive(name)) return group.lost.reset();
  if (group.retry.Blocks(context_.ApiNow())) return WaitUntil(ns, space, name, group.retry.until());
  if (WaitsFor(ns, space, name, group.creates, "")) return;
  writes_.CarryOut({ns, name}, group,
                   {.kind = GroupStep::Kind::kCreate,
                    .body = ToText(*group.lost),
                    .decision = {.kind = GroupDecision::Kind::kCreated,
                                 .message = "pods name the group, and their owner has left them behind"}});
}

bool NamespaceGroups::MayBelong(const Namespace& space) const {
  return std::any_of(space.waiting.begin(), space.waiting.end(), [&](const std::string& uid) {
    const auto pod = space.objects.pods().find(uid);
    return pod != space.objects.pods().end() && IsActive(pod->second) && NameOfGroup(pod->second).empty();
  });
}

std::optional<GroupPlanOfPods> NamespaceGroups::PlanOf(Namespace& space, const GroupState& group,
                                                       StepBudget& budget) const {
  const NamespaceObjects::Pods& pods = space.objects.pods();
  int asked = 0;
  for (const auto& [pod, member] : group.members()) {
    if (++asked > kMostAsked || budget.is_spent()) break;
    Found found = FindGrouping(space, pods.at(pod.uid), budget);
    if (found.is_waiting || !found.grouping.ok()) continue;
    if (found.grouping->verdict != PodGrouping::Verdict::kGrouped) continue;
    GroupPlan plan;
    plan.Add(pod.name, std::move(found.grouping->grouping));
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

std::optional<GroupPlanOfPods> NamespaceGroups::PlanNow(Namespace& space, const GroupState& group) {
  StepBudget budget;
  std::optional<GroupPlanOfPods> plan = PlanOf(space, group, budget);
  pass_steps_ += budget.used();
  return plan;
}

RenderedGroup NamespaceGroups::Render(Namespace& space, const GroupPlanOfPods& plan) const {
  const NamespaceView view(space.objects, priority_classes_, kartas_);
  return emitter_->Render(plan, view);
}

void NamespaceGroups::CreateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  if (WaitsFor(ns, space, name, group.creates, "")) return;
  const std::optional<GroupPlanOfPods> plan = PlanNow(space, group);
  if (!plan || plan->grouping.name != name) return;
  TakeLeast(space, name, group, emitter_->LeastPodsOf(plan->grouping));
  writes_.CarryOut({ns, name}, group,
                   {.kind = GroupStep::Kind::kCreate,
                    .body = ToText(Render(space, *plan).object),
                    .decision = {.kind = GroupDecision::Kind::kCreated, .asked_by = Asker(plan->grouping)}});
}

void NamespaceGroups::UpdateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  const std::optional<GroupPlanOfPods> plan = PlanNow(space, group);
  if (!plan || plan->grouping.name != name) return;
  const Grouping& grouping = plan->grouping;
  const ObservedGroup& observed = *space.objects.FindGroup(name);
  group.is_ours = emitter_->IsOurs(observed, grouping);
  if (!group.is_ours) {
    Succeed(space, name, group);  // No write is tried again.
    TakeLeast(space, name, group, FindInt(emitter_->SpecOf(observed), "minMember"));
    writes_.Note(
        {ns, name}, group,
        {.kind = GroupDecision::Kind::kForeign, .uid = observed.object.meta().uid(), .asked_by = Asker(grouping)});
    return RecordOnGroup(ns, space, name, group, "PodGroupError",
                         fmt::format("pod group {} was made by somebody else for other pods, and is left alone", name));
  }
  TakeLeast(space, name, group, emitter_->LeastPodsOf(grouping));
  RenderedGroup rendered = Render(space, *plan);
  // Kubernetes itself removes the references to an owner that goes and leaves its pods behind: they must not be written
  // again.
  const GroupOwner& owner = grouping.owner;
  if (space.objects.IsGoing(owner.api_version, owner.kind, owner.name)) {
    ObjectIn(rendered.object, "metadata").erase("ownerReferences");
  }
  for (const std::string& warning : grouping.warnings)
    RecordOnGroup(ns, space, name, group, "PodGroupWarning", warning);
  for (const std::string& loss : rendered.losses) RecordOnGroup(ns, space, name, group, "PodGroupWarning", loss);
  std::set<std::string> leaves;
  for (const SubGroup& sub_group : grouping.sub_groups) {
    if (!sub_group.minimum.of_sub_groups) leaves.insert(sub_group.name);
  }
  std::optional<GroupUpdate> update = emitter_->UpdateOf(observed, grouping, rendered);
  std::string wanted = update ? ToText(rendered.object) : "";
  // Pods are linked nevertheless, to the subgroups that the group has now.
  if (update && WaitsFor(ns, space, name, group.updates, wanted)) return writes_.LinkPods({ns, name}, group);
  group.is_compared = true;
  if (!update) {
    NoteIfCarriedOut(ns, space, name, group);
    Succeed(space, name, group);
    return TakeLeaves(group, std::move(leaves));
  }
  // If the update is refused, the leaves that the group has already count.
  TakeLeaves(group, emitter_->LeavesIn(observed, leaves));
  group.sent_leaves = std::move(leaves);
  const std::string& uid = observed.object.meta().uid();
  writes_.CarryOut({ns, name}, group,
                   {.kind = GroupStep::Kind::kPatch,
                    .uid = uid,
                    .body = std::move(update->patch),
                    .decision = {.kind = GroupDecision::Kind::kUpdated,
                                 .uid = uid,
                                 .asked_by = Asker(grouping),
                                 .fields = std::move(update->fields)},
                    .state = std::move(wanted)});
}

void NamespaceGroups::TakeLeast(Namespace& space, const std::string& name, GroupState& group, int64_t least) {
  if (std::exchange(group.least_pods, least) != least) space.to_publish.insert(name);
}

void NamespaceGroups::TakeLeaves(GroupState& group, std::set<std::string> leaves) {
  if (leaves == group.plan_leaves) return;
  group.plan_leaves = std::move(leaves);
  for (const auto& [pod, member] : group.members()) group.links.due.insert(pod.uid);
}

bool NamespaceGroups::WaitsFor(const std::string& ns, Namespace& space, const std::string& name, const Pace& pace,
                               const std::string& state) {
  if (!pace.Blocks(context_.ApiNow(), state)) return false;
  WaitUntil(ns, space, name, pace.Until(state));
  return true;
}

void NamespaceGroups::WaitUntil(const std::string& ns, Namespace& space, const std::string& name, absl::Time when) {
  space.later.Add(name, when);
  context_.WakeAt(ns, when);
}

GroupState* NamespaceGroups::FindEntry(const GroupRef& group) {
  Namespace* const space = namespaces_.Find(group.scope);
  if (space == nullptr) return nullptr;
  const auto known = space->groups.find(group.name);
  return known == space->groups.end() ? nullptr : &known->second;
}

const kube::v1::ObjectMeta* NamespaceGroups::FindMeta(const GroupRef& group) const {
  const Namespace* const space = namespaces_.Find(group.scope);
  const ObservedGroup* const observed = space == nullptr ? nullptr : space->objects.FindGroup(group.name);
  return observed == nullptr ? nullptr : &observed->object.meta();
}

bool NamespaceGroups::IsKeptElsewhere(const kube::v1::Object& group) const { return IsOfJob(group); }

void NamespaceGroups::Publish(const GroupRef& group) {
  namespaces_.Find(group.scope)->to_publish.insert(group.name);
  context_.Wake(group.scope);
}

void NamespaceGroups::Touch(const GroupRef& group) {
  namespaces_.Find(group.scope)->groups_due.insert(group.name);
  Publish(group);
}

void NamespaceGroups::TouchAt(const GroupRef& group, absl::Time when) {
  WaitUntil(group.scope, *namespaces_.Find(group.scope), group.name, when);
}

void NamespaceGroups::OnAnswer(const GroupRef& ref, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) {
  Namespace& space = *namespaces_.Find(ref.scope);
  auto& group = static_cast<GroupState&>(entry);
  if (answer.meaning == Meaning::kSucceeded) {
    space.failing.erase(ref.name);
    if (step.kind == GroupStep::Kind::kDelete) group.empty_since.reset();
    if (group.is_compared) TakeLeaves(group, std::move(group.sent_leaves));
    if (const std::string fight = FightOver(ref.name, group); !fight.empty()) {
      RecordOnGroup(ref.scope, space, ref.name, group, "PodGroupWarning", fight);
    }
    return;
  }
  group.is_compared = false;
  space.failing.insert(ref.name);
  if (answer.meaning == Meaning::kLook) group.retry.Fail(context_.ApiNow(), context_.random());
  if (!answer.is_reported || step.kind == GroupStep::Kind::kDelete) return;
  RecordOnGroup(ref.scope, space, ref.name, group, "PodGroupError", answer.outcome.error.message());
}

void NamespaceGroups::OnRead(const GroupRef& ref, GroupEntry& entry, Answer answer, const kube::v1::Object* found) {
  Namespace& space = *namespaces_.Find(ref.scope);
  auto& group = static_cast<GroupState&>(entry);
  if (found != nullptr && IsOfJob(*found)) {
    writes_.Note(ref, group, {.kind = GroupDecision::Kind::kForeign, .message = "the group of a job has that name"});
    return RecordOnGroup(ref.scope, space, ref.name, group, "PodGroupError",
                         fmt::format("pod group {} is that of a job, and is left alone", ref.name));
  }
  const bool is_gone = space.objects.FindGroup(ref.name) == nullptr;
  if (is_gone && group.sent && group.sent->kind == GroupDecision::Kind::kDeleted) {
    writes_.Note(ref, group, group.TakeSent());
  }
  if (answer == Answer::kDone || answer == Answer::kNotFound) return;
  space.failing.insert(ref.name);
  group.retry.Fail(context_.ApiNow(), context_.random());
}

std::string NamespaceGroups::FightOver(const std::string& name, const GroupState& group) const {
  const bool is_deleted = group.creates.IsFought(context_.ApiNow());
  if (!is_deleted && !group.updates.IsFought(context_.ApiNow())) return {};
  return fmt::format("somebody else keeps {} pod group {}, which is put right less and less often",
                     is_deleted ? "deleting" : "changing", name);
}

std::string NamespaceGroups::FightOverLink(const std::string& group) {
  return fmt::format("somebody else keeps changing which pod group the pod names: it belongs to {}", group);
}

void NamespaceGroups::Succeed(Namespace& space, const std::string& name, GroupState& group) {
  if (group.retry.since()) space.to_publish.insert(name);
  group.retry.Succeed();
  group.refusal.clear();
  space.failing.erase(name);
}

std::optional<std::string> NamespaceGroups::LinkOf(const kube::v1::Pod& pod, std::string_view name,
                                                   const GroupState& group, const GroupState::Member& member) const {
  return LinkPatchOf(pod, emitter_->group_name_key(), name, group.plan_leaves.contains(member.leaf) ? member.leaf : "");
}

ScopeLinks* NamespaceGroups::FindScopeLinks(const std::string& scope) {
  Namespace* const space = namespaces_.Find(scope);
  return space == nullptr ? nullptr : &space->links;
}

PodLink* NamespaceGroups::FindLink(const GroupRef& group, const std::string& pod_uid) {
  Namespace& space = *namespaces_.Find(group.scope);
  const auto known = space.pods.find(pod_uid);
  return known == space.pods.end() || !space.objects.pods().contains(pod_uid) ? nullptr : &known->second.link;
}

LinkStep NamespaceGroups::NextLink(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid) {
  Namespace& space = *namespaces_.Find(ref.scope);
  const auto& group = static_cast<const GroupState&>(entry);
  const auto known = space.objects.pods().find(pod_uid);
  if (known == space.objects.pods().end() || !IsActive(known->second)) return {};
  const GroupState::Member* const member = group.Find(known->second);
  if (member == nullptr) return {};
  // The next update may give the group that subgroup.
  if (!group.is_compared && !member->leaf.empty() && !group.plan_leaves.contains(member->leaf)) {
    return {.kind = LinkStep::Kind::kLater};
  }
  std::optional<std::string> patch = LinkOf(known->second, ref.name, group, *member);
  if (!patch) return {};
  return {.kind = LinkStep::Kind::kNow,
          .pod = &known->second,
          .link = &space.pods.at(pod_uid).link,
          .patch = *std::move(patch),
          .state = fmt::format("{} {}", ref.name, member->leaf)};
}

void NamespaceGroups::OnLinked(const GroupRef& group, GroupEntry&, const std::string& pod_uid, const PodLink& link,
                               Meaning meaning) {
  Namespace& space = *namespaces_.Find(group.scope);
  const kube::v1::Pod& pod = space.objects.pods().at(pod_uid);
  if (meaning == Meaning::kSucceeded) {
    if (!link.pace.IsFought(context_.ApiNow())) return;
    return RecordOnPod(group.scope, space, pod, "PodGroupWarning", FightOverLink(group.name));
  }
  if (meaning != Meaning::kRefused || link.refusal.empty() || !IsActive(pod)) return;
  obs::LogWarning("pod cannot be put into its group",
                  {{"pod", kube::ObjectKey(pod.namespace_(), pod.name())}, {"why", link.refusal}});
  RecordOnPod(group.scope, space, pod, "PodGroupError", link.refusal);
}

}  // namespace basalt::pgsvc
