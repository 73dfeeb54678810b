// What is sent for a group and for its pods, and what becomes of it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/grouping/owner_walk.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

using Kind = runtime::WriteOutcome::Kind;

// So many members are asked how the group is to be, where the first ones cannot say it.
constexpr int kMostAsked = 16;

// For whom a group is, as history says it.
std::string Asker(const Grouping& grouping) { return fmt::format("{} {}", grouping.owner.kind, grouping.owner.name); }

std::string_view UidOf(const kube::v1::Object& group) {
  return group.has_kai_pod_group() ? group.kai_pod_group().meta().uid() : group.pod_group().meta().uid();
}

// Such a group is told to whoever has the job's key.
bool IsOfJob(const kube::v1::Object& group) {
  const auto& owners = group.pod_group().meta().owner_references();
  return std::any_of(owners.begin(), owners.end(), [](const kube::v1::OwnerReference& owner) {
    return owner.controller() && owner.kind() == kube::kJobs.name && owner.api_version() == kube::kJobApiVersion;
  });
}

// What is there is not what was known.
bool IsAnother(const runtime::WriteOutcome& outcome) {
  if (outcome.kind != Kind::kRefused) return false;
  // The API server refuses another UID as "Conflict", whatever the code.
  return outcome.error.code() == 404 || outcome.error.code() == 409 || outcome.error.reason() == "Conflict";
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
    space.groups_due.insert(name);
    context_.WakeAt(ns, group.retry.until());
    // What is refused of the group keeps no pod out of it.
    if (observed != nullptr && !is_going && group.is_ours) LinkPods(ns, space, name, group);
    return;
  }
  if (observed == nullptr) return CreateGroup(ns, space, name, group);
  if (is_going) return;  // The watch will show the end of the group.
  if (!group.is_compared) UpdateGroup(ns, space, name, group);
  if (group.is_compared && !group.busy) LinkPods(ns, space, name, group);
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
  if (now < due) {
    space.groups_due.insert(name);
    return context_.WakeAt(ns, due);
  }
  const kube::v1::ObjectMeta& meta = observed->object.meta();
  group.busy = true;
  auto request = kube::WriteOf(emitter_->kind(), kube::NamespaceOf(ns), name);
  request.mutable_delete_()->set_uid(meta.uid());
  request.mutable_delete_()->set_propagation_policy("Background");
  group.sent = GroupDecision{
      .kind = GroupDecision::Kind::kDeleted, .uid = meta.uid(), .message = "no pod is in the group any more"};
  context_.Write(ns, std::move(request),
                 [this, ns, name](const runtime::WriteOutcome& outcome) { OnGroupDeleted(ns, name, outcome); });
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
  if (group.retry.Blocks(context_.ApiNow())) {
    space.groups_due.insert(name);
    return context_.WakeAt(ns, group.retry.until());
  }
  if (WaitsFor(ns, space, name, group.creates, "")) return;
  group.sent = GroupDecision{.kind = GroupDecision::Kind::kCreated,
                             .message = "pods name the group, and their owner has left them behind"};
  SendNewGroup(ns, name, group, ToText(*group.lost));
}

void NamespaceGroups::SendNewGroup(const std::string& ns, const std::string& name, GroupState& group,
                                   std::string body) {
  group.busy = true;
  group.sent_state.clear();
  auto request = kube::WriteOf(emitter_->kind(), kube::NamespaceOf(ns), name);
  request.mutable_create()->set_body(std::move(body));
  context_.Write(ns, std::move(request), [this, ns, name](const runtime::WriteOutcome& outcome) {
    OnGroupWritten(ns, name, runtime::IsNameTaken(outcome), outcome);
  });
}

bool NamespaceGroups::MayBelong(const Namespace& space) const {
  return std::any_of(space.waiting.begin(), space.waiting.end(), [&](const std::string& uid) {
    const auto pod = space.objects.pods().find(uid);
    return pod != space.objects.pods().end() && IsActive(pod->second) && NameOfGroup(pod->second).empty();
  });
}

void NamespaceGroups::OnGroupDeleted(const std::string& ns, const std::string& name,
                                     const runtime::WriteOutcome& outcome) {
  Namespace* const space = namespaces_.Find(ns);
  const auto deleted = space == nullptr ? decltype(space->groups.end())() : space->groups.find(name);
  if (space == nullptr || deleted == space->groups.end()) return;
  GroupState& group = deleted->second;
  group.busy = false;
  space->groups_due.insert(name);
  space->to_publish.insert(name);
  if (outcome.kind == Kind::kDone) {
    group.empty_since.reset();
    Succeed(*space, name, group);
    return Note(ns, *space, name, group, group.TakeSent());
  }
  TryLater(ns, *space, name, group);
  if (outcome.kind == Kind::kUnknown) return Refresh(ns, name);
  const GroupDecision sent = group.TakeSent();
  if (IsAnother(outcome)) return Refresh(ns, name);
  if (!runtime::ShouldReportToUser(outcome)) return;
  obs::LogWarning("pod group cannot be deleted",
                  {{"group", kube::ObjectKey(kube::NamespaceOf(ns), name)}, {"why", outcome.error.message()}});
  Note(ns, *space, name, group, RefusalOf(sent, outcome.error.message()));
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
  group.sent = GroupDecision{.kind = GroupDecision::Kind::kCreated, .asked_by = Asker(plan->grouping)};
  SendNewGroup(ns, name, group, ToText(Render(space, *plan).object));
}

void NamespaceGroups::UpdateGroup(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  const std::optional<GroupPlanOfPods> plan = PlanNow(space, group);
  if (!plan || plan->grouping.name != name) return;
  const Grouping& grouping = plan->grouping;
  const ObservedGroup& observed = *space.objects.FindGroup(name);
  group.is_ours = emitter_->IsOurs(observed, grouping);
  if (!group.is_ours) {
    Succeed(space, name, group);  // Nothing is tried again.
    TakeLeast(space, name, group, FindInt(emitter_->SpecOf(observed), "minMember"));
    Note(ns, space, name, group,
         {.kind = GroupDecision::Kind::kForeign, .uid = observed.object.meta().uid(), .asked_by = Asker(grouping)});
    return RecordOnGroup(ns, space, name, group, "PodGroupError",
                         fmt::format("pod group {} was made by somebody else for other pods, and is left alone", name));
  }
  TakeLeast(space, name, group, emitter_->LeastPodsOf(grouping));
  RenderedGroup rendered = Render(space, *plan);
  // An owner that goes and leaves its pods behind takes its references away itself.
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
  // Pods are linked all the same, to what the group has by now.
  if (update && WaitsFor(ns, space, name, group.updates, wanted)) return LinkPods(ns, space, name, group);
  group.is_compared = true;
  if (!update) {
    NoteIfCarriedOut(ns, space, name, group);
    Succeed(space, name, group);
    return TakeLeaves(group, std::move(leaves));
  }
  // Should this be refused: what the group has already counts.
  TakeLeaves(group, emitter_->LeavesIn(observed, leaves));
  group.busy = true;
  group.sent_leaves = std::move(leaves);
  group.sent_state = std::move(wanted);
  group.sent = GroupDecision{.kind = GroupDecision::Kind::kUpdated,
                             .uid = observed.object.meta().uid(),
                             .asked_by = Asker(grouping),
                             .fields = std::move(update->fields)};
  auto request = kube::WriteOf(emitter_->kind(), kube::NamespaceOf(ns), name);
  kube::SetMergePatch(std::move(update->patch), observed.object.meta().uid(), request);
  context_.Write(ns, std::move(request), [this, ns, name](const runtime::WriteOutcome& outcome) {
    OnGroupWritten(ns, name, IsAnother(outcome), outcome);
  });
}

void NamespaceGroups::TakeLeast(Namespace& space, const std::string& name, GroupState& group, int64_t least) {
  if (std::exchange(group.least_pods, least) != least) space.to_publish.insert(name);
}

void NamespaceGroups::TakeLeaves(GroupState& group, std::set<std::string> leaves) {
  if (leaves == group.plan_leaves) return;
  group.plan_leaves = std::move(leaves);
  for (const auto& [pod, member] : group.members()) group.to_link.insert(pod.uid);
}

bool NamespaceGroups::WaitsFor(const std::string& ns, Namespace& space, const std::string& name, const Pace& pace,
                               const std::string& state) {
  if (!pace.Blocks(context_.ApiNow(), state)) return false;
  space.groups_due.insert(name);
  context_.WakeAt(ns, pace.Until(state));
  return true;
}

void NamespaceGroups::OnGroupWritten(const std::string& ns, const std::string& name, bool is_stale,
                                     const runtime::WriteOutcome& outcome) {
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return;
  const auto written = space->groups.find(name);
  if (written == space->groups.end()) return;
  GroupState& group = written->second;
  group.busy = false;
  space->groups_due.insert(name);
  space->to_publish.insert(name);
  if (outcome.kind == Kind::kDone) {
    Succeed(*space, name, group);
    GroupDecision sent = group.TakeSent();
    if (sent.kind == GroupDecision::Kind::kCreated) sent.uid = std::string(UidOf(outcome.object));
    Note(ns, *space, name, group, std::move(sent));
    if (group.is_compared) TakeLeaves(group, std::move(group.sent_leaves));
    Pace& pace = group.sent_state.empty() ? group.creates : group.updates;
    pace.Note(context_.ApiNow(), std::move(group.sent_state));
    if (const std::string fight = FightOver(name, group); !fight.empty()) {
      RecordOnGroup(ns, *space, name, group, "PodGroupWarning", fight);
    }
    return context_.Wake(ns);
  }
  group.is_compared = false;
  TryLater(ns, *space, name, group);
  if (outcome.kind == Kind::kUnknown) return Refresh(ns, name);
  const GroupDecision sent = group.TakeSent();
  if (is_stale) return Refresh(ns, name);
  if (!runtime::ShouldReportToUser(outcome)) return;
  group.refusal = outcome.error.message();
  Note(ns, *space, name, group, RefusalOf(sent, outcome.error.message()));
  obs::LogWarning("pod group cannot be written",
                  {{"group", kube::ObjectKey(kube::NamespaceOf(ns), name)}, {"why", outcome.error.message()}});
  RecordOnGroup(ns, *space, name, group, "PodGroupError", outcome.error.message());
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

// Settles a conflict or a lost answer by what the API server itself says now.
void NamespaceGroups::Refresh(const std::string& ns, const std::string& name) {
  Namespace& space = *namespaces_.Find(ns);
  space.groups.at(name).busy = true;
  const ObservedGroup* const known = space.objects.FindGroup(name);
  context_.Get(ns, kube::GetOf(emitter_->kind(), kube::NamespaceOf(ns), name),
               [this, ns, name, uid = known == nullptr ? "" : known->object.meta().uid()](
                   const absl::StatusOr<gateway::v1::GetResponse>& answer) {
                 Namespace* const read = namespaces_.Find(ns);
                 if (read == nullptr) return;
                 const auto group = read->groups.find(name);
                 if (group == read->groups.end()) return;
                 group->second.busy = false;
                 read->groups_due.insert(name);
                 read->to_publish.insert(name);
                 const bool is_found = answer.ok() && answer->has_object();
                 const bool is_absent = answer.ok() && answer->has_error() && answer->error().code() == 404;
                 if (is_found && IsOfJob(answer->object())) return NoteHeld(ns, *read, name, group->second);
                 // With what watches tell, so that nothing older follows.
                 if (is_found) context_.MergeAnswer(ns, answer->object(), /*gone=*/false);
                 const ObservedGroup* const now = read->objects.FindGroup(name);
                 if (is_absent && now != nullptr && now->object.meta().uid() == uid) {
                   context_.MergeAnswer(ns, LastOf(*now), /*gone=*/true);
                 }
                 const std::optional<GroupDecision>& sent = group->second.sent;
                 const bool is_gone = read->objects.FindGroup(name) == nullptr;
                 if ((is_absent || is_gone) && sent && sent->kind == GroupDecision::Kind::kDeleted) {
                   Note(ns, *read, name, group->second, group->second.TakeSent());
                 }
                 if (!is_found && !is_absent) return TryLater(ns, *read, name, group->second);
                 context_.Wake(ns);
               });
}

void NamespaceGroups::NoteHeld(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  Note(ns, space, name, group, {.kind = GroupDecision::Kind::kForeign, .message = "the group of a job has that name"});
  RecordOnGroup(ns, space, name, group, "PodGroupError",
                fmt::format("pod group {} is that of a job, and is left alone", name));
}

kube::v1::Object NamespaceGroups::LastOf(const ObservedGroup& group) const {
  kube::v1::Object last;
  const bool is_kai = emitter_->profile() == kube::GroupProfile::kKai;
  *(is_kai ? last.mutable_kai_pod_group()->mutable_meta() : last.mutable_pod_group()->mutable_meta()) =
      group.object.meta();
  return last;
}

void NamespaceGroups::Succeed(Namespace& space, const std::string& name, GroupState& group) {
  if (group.retry.since()) space.to_publish.insert(name);
  group.retry.Succeed();
  group.refusal.clear();
  space.failing.erase(name);
}

void NamespaceGroups::TryLater(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  space.failing.insert(name);
  space.to_publish.insert(name);
  group.retry.Fail(context_.ApiNow(), context_.random());
  context_.Wake(ns);
}

std::optional<std::string> NamespaceGroups::LinkOf(const kube::v1::Pod& pod, std::string_view name,
                                                   const GroupState& group, const GroupState::Member& member) const {
  return LinkPatchOf(pod, emitter_->group_name_key(), name, group.plan_leaves.contains(member.leaf) ? member.leaf : "");
}

void NamespaceGroups::LinkPods(const std::string& ns, Namespace& space, const std::string& name, GroupState& group) {
  for (const std::string& uid : std::exchange(group.to_link, {})) {
    const auto known = space.objects.pods().find(uid);
    if (known == space.objects.pods().end() || !IsActive(known->second)) continue;
    if (group.linking.contains(uid)) {
      group.to_link.insert(uid);
      continue;
    }
    Pod& state = space.pods.at(uid);
    if (state.link_retry.Blocks(context_.ApiNow())) {
      group.to_link.insert(uid);
      space.groups_due.insert(name);
      context_.WakeAt(ns, state.link_retry.until());
      continue;
    }
    const kube::v1::Pod& pod = known->second;
    const GroupState::Member* const member = group.Find(pod);
    if (member == nullptr) continue;
    if (!group.is_compared && !member->leaf.empty() && !group.plan_leaves.contains(member->leaf)) {
      group.to_link.insert(uid);  // The group may get that subgroup.
      continue;
    }
    const std::optional<std::string> patch = LinkOf(pod, name, group, *member);
    if (!patch) continue;
    const std::string wanted = fmt::format("{} {}", name, member->leaf);
    if (WaitsFor(ns, space, name, state.links, wanted)) {
      group.to_link.insert(uid);
      continue;
    }
    group.linking.insert(uid);
    auto request = kube::WriteOf(kube::kPods, pod.namespace_(), pod.name());
    kube::SetMergePatch(*patch, uid, request);
    context_.Write(ns, std::move(request), [this, ns, name, uid, wanted](const runtime::WriteOutcome& outcome) {
      OnPodLinked(ns, name, uid, wanted, outcome);
    });
  }
}

void NamespaceGroups::OnPodLinked(const std::string& ns, const std::string& name, const std::string& uid,
                                  const std::string& wanted, const runtime::WriteOutcome& outcome) {
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return;
  const auto linked = space->groups.find(name);
  if (linked == space->groups.end()) return;
  linked->second.linking.erase(uid);
  space->groups_due.insert(name);
  space->to_publish.insert(name);
  const auto known = space->pods.find(uid);
  const auto pod = space->objects.pods().find(uid);
  if (known == space->pods.end() || pod == space->objects.pods().end()) return context_.Wake(ns);
  if (outcome.kind == Kind::kDone) {
    known->second.link_retry.Succeed();
    known->second.refusal.clear();
    known->second.links.Note(context_.ApiNow(), wanted);
    if (!known->second.links.IsFought(context_.ApiNow())) return;
    return RecordOnPod(ns, *space, pod->second, "PodGroupWarning", FightOverLink(name));
  }
  // Where another pod has the name, or none, the end of this one is told before long.
  if (known->second.group == name) linked->second.to_link.insert(uid);
  known->second.link_retry.Fail(context_.ApiNow(), context_.random());
  context_.Wake(ns);
  if (IsAnother(outcome) || !runtime::ShouldReportToUser(outcome) || !IsActive(pod->second)) return;
  obs::LogWarning(
      "pod cannot be put into its group",
      {{"pod", kube::ObjectKey(kube::NamespaceOf(ns), pod->second.name())}, {"why", outcome.error.message()}});
  known->second.refusal = outcome.error.message();
  RecordOnPod(ns, *space, pod->second, "PodGroupError", outcome.error.message());
}

}  // namespace basalt::pgsvc
