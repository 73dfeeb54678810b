#include "services/pgsvc/control/namespaces/namespace_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/base/json.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/explanation.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

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

NamespaceWrites::NamespaceWrites(runtime::Context& context, PodGrouper& grouper, NamespaceWarnings& warnings,
                                 const SlotMap<NamespaceState>& namespaces)
    : context_(context),
      grouper_(grouper),
      warnings_(warnings),
      namespaces_(namespaces),
      writes_(context, grouper.emitter().kind(), *this) {}

void NamespaceWrites::Serve(NamespaceState& space, const std::string& name, GroupState& group) {
  if (group.busy) return;
  warnings_.CheckQueue(space, name, group);
  if (!group.has_active()) return ServeEmpty(space, name, group);
  group.empty_since.reset();
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  const bool is_going = observed != nullptr && observed->object.meta().deletion_ms() != 0;
  if (group.retry.Blocks(context_.ApiNow())) {
    space.ServeAt(name, group.retry.until());
    // A refused write of the group keeps no pod out of the group.
    if (observed != nullptr && !is_going && group.is_ours) writes_.LinkPods({space.key, name}, group);
    return;
  }
  if (observed == nullptr) return Create(space, name, group);
  if (is_going) return;  // The watch will show the end of the group.
  if (!group.is_compared) Update(space, name, group);
  if (group.is_compared && !group.busy) writes_.LinkPods({space.key, name}, group);
}

void NamespaceWrites::ServeEmpty(NamespaceState& space, const std::string& name, GroupState& group) {
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  if (observed == nullptr && group.lost) return ServeLost(space, name, group);
  const bool holds_room = observed != nullptr && grouper_.GoesWithItsPods(*observed) &&
                          observed->object.meta().deletion_ms() == 0 &&
                          (!space.objects.IsNamed(name) || grouper_.AreOverForGood(space, name, group));
  if (!holds_room) {
    group.empty_since.reset();
    return space.EndFailures(name, group);
  }
  const absl::Time now = context_.ApiNow();
  if (!group.empty_since) group.empty_since = now;
  absl::Time due = std::max(*group.empty_since + kEmptyGrace, group.retry.until());
  if (now >= due && now < *group.empty_since + kMostEmptyGrace && space.MayBelong()) due = now + kEmptyGrace / 10;
  if (now < due) return space.ServeAt(name, due);
  const std::string& uid = observed->object.meta().uid();
  writes_.CarryOut(
      {space.key, name}, group,
      {.kind = GroupStep::Kind::kDelete,
       .uid = uid,
       .decision = {.kind = GroupDecision::Kind::kDeleted, .uid = uid, .message = "no pod is in the group any more"}});
}

void NamespaceWrites::ServeLost(NamespaceState& space, const std::string& name, GroupState& group) {
  if (!space.objects.IsNamedByActive(name)) return group.lost.reset();
  if (group.retry.Blocks(context_.ApiNow())) return space.ServeAt(name, group.retry.until());
  if (WaitsFor(space, name, group.creates, "")) return;
  writes_.CarryOut({space.key, name}, group,
                   {.kind = GroupStep::Kind::kCreate,
                    .body = ToText(*group.lost),
                    .decision = {.kind = GroupDecision::Kind::kCreated,
                                 .message = "pods name the group, and their owner has left them behind"}});
}

void NamespaceWrites::Create(NamespaceState& space, const std::string& name, GroupState& group) {
  if (WaitsFor(space, name, group.creates, "")) return;
  const std::optional<GroupPlanOfPods> plan = grouper_.PlanNow(space, group);
  if (!plan || plan->grouping.name != name) return;
  space.SetLeast(name, group, grouper_.emitter().LeastPodsOf(plan->grouping));
  writes_.CarryOut({space.key, name}, group,
                   {.kind = GroupStep::Kind::kCreate,
                    .body = ToText(grouper_.Render(space, *plan).object),
                    .decision = {.kind = GroupDecision::Kind::kCreated, .asked_by = Asker(plan->grouping)}});
}

void NamespaceWrites::Update(NamespaceState& space, const std::string& name, GroupState& group) {
  const std::optional<GroupPlanOfPods> plan = grouper_.PlanNow(space, group);
  if (!plan || plan->grouping.name != name) return;
  const Grouping& grouping = plan->grouping;
  const ObservedGroup& observed = *space.objects.FindGroup(name);
  group.is_ours = grouper_.emitter().IsOurs(observed, grouping);
  if (!group.is_ours) {
    space.EndFailures(name, group);  // No write is tried again.
    space.SetLeast(name, group, FindInt(grouper_.emitter().SpecOf(observed), "minMember"));
    writes_.Note(
        {space.key, name}, group,
        {.kind = GroupDecision::Kind::kForeign, .uid = observed.object.meta().uid(), .asked_by = Asker(grouping)});
    return warnings_.RecordOnGroup(
        space, name, group, "PodGroupError",
        fmt::format("pod group {} was made by somebody else for other pods, and is left alone", name));
  }
  space.SetLeast(name, group, grouper_.emitter().LeastPodsOf(grouping));
  RenderedGroup rendered = grouper_.Render(space, *plan);
  // Kubernetes itself removes the references to an owner that goes and leaves its pods behind: they must not be written
  // again.
  const GroupOwner& owner = grouping.owner;
  if (space.objects.IsGoing(owner.api_version, owner.kind, owner.name)) {
    ObjectIn(rendered.object, "metadata").erase("ownerReferences");
  }
  for (const std::string& warning : grouping.warnings)
    warnings_.RecordOnGroup(space, name, group, "PodGroupWarning", warning);
  for (const std::string& loss : rendered.losses) warnings_.RecordOnGroup(space, name, group, "PodGroupWarning", loss);
  std::set<std::string> leaves;
  for (const SubGroup& sub_group : grouping.sub_groups) {
    if (!sub_group.minimum.of_sub_groups) leaves.insert(sub_group.name);
  }
  std::optional<GroupUpdate> update = grouper_.emitter().UpdateOf(observed, grouping, rendered);
  std::string wanted = update ? ToText(rendered.object) : "";
  // Pods are linked nevertheless, to the subgroups that the group has now.
  if (update && WaitsFor(space, name, group.updates, wanted)) return writes_.LinkPods({space.key, name}, group);
  group.is_compared = true;
  if (!update) {
    NoteIfCarriedOut(space, name, group);
    space.EndFailures(name, group);
    return group.SetLeaves(std::move(leaves));
  }
  // If the update is refused, the leaves that the group has already count.
  group.SetLeaves(grouper_.emitter().LeavesIn(observed, leaves));
  group.sent_leaves = std::move(leaves);
  const std::string& uid = observed.object.meta().uid();
  writes_.CarryOut({space.key, name}, group,
                   {.kind = GroupStep::Kind::kPatch,
                    .uid = uid,
                    .body = std::move(update->patch),
                    .decision = {.kind = GroupDecision::Kind::kUpdated,
                                 .uid = uid,
                                 .asked_by = Asker(grouping),
                                 .fields = std::move(update->fields)},
                    .state = std::move(wanted)});
}

void NamespaceWrites::NoteIfCarriedOut(const NamespaceState& space, const std::string& name, GroupState& group) {
  if (!group.sent) return;
  GroupDecision sent = group.TakeSent();
  if (sent.kind == GroupDecision::Kind::kDeleted) return;
  sent.uid = space.objects.FindGroup(name)->object.meta().uid();
  writes_.Note({space.key, name}, group, std::move(sent));
}

bool NamespaceWrites::WaitsFor(NamespaceState& space, const std::string& name, const Pace& pace,
                               const std::string& state) {
  if (!pace.Blocks(context_.ApiNow(), state)) return false;
  space.ServeAt(name, pace.Until(state));
  return true;
}

GroupState* NamespaceWrites::FindEntry(const GroupRef& group) {
  NamespaceState* const space = namespaces_.Find(group.scope);
  if (space == nullptr) return nullptr;
  const auto known = space->groups.find(group.name);
  return known == space->groups.end() ? nullptr : &known->second;
}

const kube::v1::ObjectMeta* NamespaceWrites::FindMeta(const GroupRef& group) const {
  const NamespaceState* const space = namespaces_.Find(group.scope);
  const ObservedGroup* const observed = space == nullptr ? nullptr : space->objects.FindGroup(group.name);
  return observed == nullptr ? nullptr : &observed->object.meta();
}

bool NamespaceWrites::IsKeptElsewhere(const kube::v1::Object& group) const { return IsOfJob(group); }

void NamespaceWrites::Publish(const GroupRef& group) {
  namespaces_.Find(group.scope)->to_publish.insert(group.name);
  context_.Wake(group.scope);
}

void NamespaceWrites::Touch(const GroupRef& group) {
  namespaces_.Find(group.scope)->groups_due.insert(group.name);
  Publish(group);
}

void NamespaceWrites::TouchAt(const GroupRef& group, absl::Time when) {
  namespaces_.Find(group.scope)->ServeAt(group.name, when);
}

void NamespaceWrites::OnAnswer(const GroupRef& ref, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) {
  NamespaceState& space = *namespaces_.Find(ref.scope);
  auto& group = static_cast<GroupState&>(entry);
  if (answer.meaning == Meaning::kSucceeded) {
    space.failing.erase(ref.name);
    if (step.kind == GroupStep::Kind::kDelete) group.empty_since.reset();
    if (group.is_compared) group.SetLeaves(std::move(group.sent_leaves));
    if (const std::string fight = DescribeFight(ref.name, group, context_.ApiNow()); !fight.empty()) {
      warnings_.RecordOnGroup(space, ref.name, group, "PodGroupWarning", fight);
    }
    return;
  }
  group.is_compared = false;
  space.failing.insert(ref.name);
  if (answer.meaning == Meaning::kLook) group.retry.Fail(context_.ApiNow(), context_.random());
  if (!answer.is_reported || step.kind == GroupStep::Kind::kDelete) return;
  warnings_.RecordOnGroup(space, ref.name, group, "PodGroupError", answer.outcome.error.message());
}

void NamespaceWrites::OnRead(const GroupRef& ref, GroupEntry& entry, Answer answer, const kube::v1::Object* found) {
  NamespaceState& space = *namespaces_.Find(ref.scope);
  auto& group = static_cast<GroupState&>(entry);
  if (found != nullptr && IsOfJob(*found)) {
    writes_.Note(ref, group, {.kind = GroupDecision::Kind::kForeign, .message = "the group of a job has that name"});
    return warnings_.RecordOnGroup(space, ref.name, group, "PodGroupError",
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

ScopeLinks* NamespaceWrites::FindScopeLinks(const std::string& scope) {
  NamespaceState* const space = namespaces_.Find(scope);
  return space == nullptr ? nullptr : &space->links;
}

PodLink* NamespaceWrites::FindLink(const GroupRef& group, const std::string& pod_uid) {
  NamespaceState& space = *namespaces_.Find(group.scope);
  const auto known = space.pods.find(pod_uid);
  return known == space.pods.end() || !space.objects.pods().contains(pod_uid) ? nullptr : &known->second.link;
}

LinkStep NamespaceWrites::NextLink(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid) {
  NamespaceState& space = *namespaces_.Find(ref.scope);
  const auto& group = static_cast<const GroupState&>(entry);
  const auto known = space.objects.pods().find(pod_uid);
  if (known == space.objects.pods().end() || !IsActive(known->second)) return {};
  const GroupState::Member* const member = group.Find(known->second);
  if (member == nullptr) return {};
  // The next update may give the group that subgroup.
  if (!group.is_compared && !member->leaf.empty() && !group.plan_leaves.contains(member->leaf)) {
    return {.kind = LinkStep::Kind::kLater};
  }
  std::optional<std::string> patch = grouper_.LinkOf(known->second, ref.name, group, *member);
  if (!patch) return {};
  return {.kind = LinkStep::Kind::kNow,
          .pod = &known->second,
          .link = &space.pods.at(pod_uid).link,
          .patch = *std::move(patch),
          .state = fmt::format("{} {}", ref.name, member->leaf)};
}

void NamespaceWrites::OnLinked(const GroupRef& group, GroupEntry&, const std::string& pod_uid, const PodLink& link,
                               Meaning meaning) {
  NamespaceState& space = *namespaces_.Find(group.scope);
  const kube::v1::Pod& pod = space.objects.pods().at(pod_uid);
  if (meaning == Meaning::kSucceeded) {
    if (!link.pace.IsFought(context_.ApiNow())) return;
    return warnings_.RecordOnPod(space, pod, "PodGroupWarning", DescribeFightOverLink(group.name));
  }
  if (meaning != Meaning::kRefused || link.refusal.empty() || !IsActive(pod)) return;
  obs::LogWarning("pod cannot be put into its group",
                  {{"pod", kube::ObjectKey(pod.namespace_(), pod.name())}, {"why", link.refusal}});
  warnings_.RecordOnPod(space, pod, "PodGroupError", link.refusal);
}

void NamespaceWrites::NoteDeletion(NamespaceState& space, const std::string& name, GroupState& group) {
  if (group.busy || !group.sent || group.sent->kind != GroupDecision::Kind::kDeleted) return;
  writes_.Note({space.key, name}, group, group.TakeSent());
}

}  // namespace basalt::pgsvc
