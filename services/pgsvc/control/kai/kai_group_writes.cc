// What is sent for a group of KAI's and for its pods, and what becomes of it.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "common/kube/kinds.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/kai/kai_groups.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/kai/group_patch.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

using Kind = runtime::WriteOutcome::Kind;

// So many members are asked how the group is to be, where the first ones cannot say it.
constexpr int kMostAsked = 16;

// What is there is not what was known.
bool IsAnother(const runtime::WriteOutcome& outcome) {
  if (outcome.kind != Kind::kRefused) return false;
  // The API server refuses another UID as "Conflict", whatever the code.
  return outcome.error.code() == 404 || outcome.error.code() == 409 || outcome.error.reason() == "Conflict";
}

}  // namespace

void KaiGroups::ServeGroup(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group) {
  if (group.busy || !group.has_active()) return;
  if (group.retry.Blocks(context_.ApiNow())) {
    space.groups_due.insert(name);
    return context_.WakeAt(ns, group.retry.until());
  }
  const kube::v1::KaiPodGroup* const observed = space.objects.FindGroup(name);
  if (observed == nullptr) return CreateGroup(ns, space, name, group);
  if (observed->meta().deletion_ms() != 0) return;  // The watch will show the end of the group.
  if (!group.is_compared) UpdateGroup(ns, space, name, group);
  if (group.is_compared && !group.busy) LinkPods(ns, space, name, group);
}

std::optional<Grouping> KaiGroups::PlanOf(Namespace& space, const KaiGroupState& group) const {
  int asked = 0;
  for (const auto& [pod, member] : group.members()) {
    if (++asked > kMostAsked) break;
    Found found = FindGrouping(space, space.objects.pods().at(pod.uid));
    if (found.is_waiting || !found.grouping.ok()) continue;
    if (found.grouping->verdict != PodGrouping::Verdict::kGrouped) continue;
    GroupPlan plan;
    plan.Add(pod.name, std::move(found.grouping->grouping));
    for (const auto& [leaf, count] : group.leaves()) plan.AddLeaf(leaf);
    return plan.Group(rules_.form);
  }
  return std::nullopt;
}

void KaiGroups::CreateGroup(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group) {
  if (WaitsFor(ns, space, name, group.creates, "")) return;
  const std::optional<Grouping> plan = PlanOf(space, group);
  if (!plan || plan->name != name) return;
  group.busy = true;
  group.sent_state.clear();
  auto request = kube::WriteOf(kube::kKaiPodGroups, ns, name);
  request.mutable_create()->set_body(ToText(NewKaiGroup(*plan, form_)));
  context_.Write(ns, std::move(request), [this, ns, name](const runtime::WriteOutcome& outcome) {
    OnGroupWritten(ns, name, runtime::IsNameTaken(outcome), outcome);
  });
}

void KaiGroups::UpdateGroup(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group) {
  const std::optional<Grouping> plan = PlanOf(space, group);
  if (!plan || plan->name != name) return;
  const kube::v1::KaiPodGroup& observed = *space.objects.FindGroup(name);
  if (!IsKaiGroupOf(observed, *plan)) {
    return RecordOnGroup(ns, space, group, "PodGroupError",
                         fmt::format("pod group {} was made by somebody else for other pods, and is left alone", name));
  }
  for (const std::string& warning : plan->warnings) RecordOnGroup(ns, space, group, "PodGroupWarning", warning);
  for (const std::string& loss : LossesOf(*plan, form_)) RecordOnGroup(ns, space, group, "PodGroupWarning", loss);
  std::set<std::string> leaves;
  for (const SubGroup& sub_group : plan->sub_groups) {
    if (!sub_group.minimum.of_sub_groups) leaves.insert(sub_group.name);
  }
  std::optional<GroupUpdate> update = KaiUpdateOf(observed, *plan, rules_, form_);
  std::string wanted = update ? ToText(NewKaiGroup(*plan, form_)) : "";
  // Pods are linked all the same, to what the group has by now.
  if (update && WaitsFor(ns, space, name, group.updates, wanted)) return LinkPods(ns, space, name, group);
  group.is_compared = true;
  if (!update) {
    group.retry.Succeed();
    return TakeLeaves(group, std::move(leaves));
  }
  group.busy = true;
  group.sent_leaves = std::move(leaves);
  group.sent_state = std::move(wanted);
  auto request = kube::WriteOf(kube::kKaiPodGroups, ns, name);
  kube::SetMergePatch(std::move(update->patch), observed.meta().uid(), request);
  context_.Write(ns, std::move(request), [this, ns, name](const runtime::WriteOutcome& outcome) {
    OnGroupWritten(ns, name, IsAnother(outcome), outcome);
  });
}

void KaiGroups::TakeLeaves(KaiGroupState& group, std::set<std::string> leaves) {
  if (leaves == group.plan_leaves) return;
  group.plan_leaves = std::move(leaves);
  for (const auto& [pod, member] : group.members()) group.to_link.insert(pod.uid);
}

bool KaiGroups::WaitsFor(const std::string& ns, Namespace& space, const std::string& name, const Pace& pace,
                         const std::string& state) {
  if (!pace.Blocks(context_.ApiNow(), state)) return false;
  space.groups_due.insert(name);
  context_.WakeAt(ns, pace.Until(state));
  return true;
}

void KaiGroups::OnGroupWritten(const std::string& ns, const std::string& name, bool is_stale,
                               const runtime::WriteOutcome& outcome) {
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return;
  const auto written = space->groups.find(name);
  if (written == space->groups.end()) return;
  KaiGroupState& group = written->second;
  group.busy = false;
  space->groups_due.insert(name);
  if (outcome.kind == Kind::kDone) {
    group.retry.Succeed();
    if (group.is_compared) TakeLeaves(group, std::move(group.sent_leaves));
    Pace& pace = group.sent_state.empty() ? group.creates : group.updates;
    pace.Note(context_.ApiNow(), std::move(group.sent_state));
    if (pace.IsFought()) {
      RecordOnGroup(ns, *space, group, "PodGroupWarning",
                    fmt::format("somebody else keeps {} pod group {}, which is put right less and less often",
                                &pace == &group.creates ? "deleting" : "changing", name));
    }
    return context_.Wake(ns);
  }
  group.is_compared = false;
  TryLater(ns, group);
  if (outcome.kind == Kind::kUnknown || is_stale) return Refresh(ns, name);
  if (!runtime::ShouldReportToUser(outcome)) return;
  obs::LogWarning("pod group cannot be written", {{"group", ns + "/" + name}, {"why", outcome.error.message()}});
  RecordOnGroup(ns, *space, group, "PodGroupError", outcome.error.message());
}

// Settles a conflict or a lost answer by what the API server itself says now.
void KaiGroups::Refresh(const std::string& ns, const std::string& name) {
  Namespace& space = *namespaces_.Find(ns);
  space.groups.at(name).busy = true;
  const kube::v1::KaiPodGroup* const known = space.objects.FindGroup(name);
  context_.Get(ns, kube::GetOf(kube::kKaiPodGroups, ns, name),
               [this, ns, name, uid = known == nullptr ? "" : known->meta().uid()](
                   const absl::StatusOr<gateway::v1::GetResponse>& answer) {
                 Namespace* const read = namespaces_.Find(ns);
                 if (read == nullptr) return;
                 const auto group = read->groups.find(name);
                 if (group == read->groups.end()) return;
                 group->second.busy = false;
                 read->groups_due.insert(name);
                 const bool is_found = answer.ok() && answer->has_object();
                 const bool is_absent = answer.ok() && answer->has_error() && answer->error().code() == 404;
                 // With what watches tell, so that nothing older follows.
                 if (is_found) context_.MergeAnswer(ns, answer->object(), /*gone=*/false);
                 const kube::v1::KaiPodGroup* const now = read->objects.FindGroup(name);
                 if (is_absent && now != nullptr && now->meta().uid() == uid) {
                   kube::v1::Object last;
                   *last.mutable_kai_pod_group()->mutable_meta() = now->meta();
                   context_.MergeAnswer(ns, last, /*gone=*/true);
                 }
                 if (!is_found && !is_absent) return TryLater(ns, group->second);
                 context_.Wake(ns);
               });
}

void KaiGroups::TryLater(const std::string& ns, KaiGroupState& group) {
  group.retry.Fail(context_.ApiNow(), context_.random());
  context_.Wake(ns);
}

std::optional<std::string> KaiGroups::LinkPatchOf(const kube::v1::Pod& pod, std::string_view name,
                                                  const KaiGroupState& group, const KaiGroupState::Member& member) {
  return KaiPodPatch(pod, name, group.plan_leaves.contains(member.leaf) ? member.leaf : "");
}

void KaiGroups::LinkPods(const std::string& ns, Namespace& space, const std::string& name, KaiGroupState& group) {
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
    const KaiGroupState::Member* const member = group.Find(pod);
    if (member == nullptr) continue;
    if (!group.is_compared && !member->leaf.empty() && !group.plan_leaves.contains(member->leaf)) {
      group.to_link.insert(uid);  // The group may get that subgroup.
      continue;
    }
    const std::optional<std::string> patch = LinkPatchOf(pod, name, group, *member);
    if (!patch) continue;
    const std::string wanted = fmt::format("{} {}", name, member->leaf);
    if (WaitsFor(ns, space, name, state.links, wanted)) {
      group.to_link.insert(uid);
      continue;
    }
    group.linking.insert(uid);
    auto request = kube::WriteOf(kube::kPods, ns, pod.name());
    kube::SetMergePatch(*patch, uid, request);
    context_.Write(ns, std::move(request), [this, ns, name, uid, wanted](const runtime::WriteOutcome& outcome) {
      OnPodLinked(ns, name, uid, wanted, outcome);
    });
  }
}

void KaiGroups::OnPodLinked(const std::string& ns, const std::string& name, const std::string& uid,
                            const std::string& wanted, const runtime::WriteOutcome& outcome) {
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return;
  const auto linked = space->groups.find(name);
  if (linked == space->groups.end()) return;
  linked->second.linking.erase(uid);
  space->groups_due.insert(name);
  const auto known = space->pods.find(uid);
  const auto pod = space->objects.pods().find(uid);
  if (known == space->pods.end() || pod == space->objects.pods().end()) return context_.Wake(ns);
  if (outcome.kind == Kind::kDone) {
    known->second.link_retry.Succeed();
    known->second.links.Note(context_.ApiNow(), wanted);
    if (!known->second.links.IsFought()) return;
    return RecordOnPod(
        ns, *space, pod->second, "PodGroupWarning",
        fmt::format("somebody else keeps changing which pod group the pod names: it belongs to {}", name));
  }
  // Where another pod has the name, or none, the end of this one is told before long.
  if (known->second.group == name) linked->second.to_link.insert(uid);
  known->second.link_retry.Fail(context_.ApiNow(), context_.random());
  context_.Wake(ns);
  if (IsAnother(outcome) || !runtime::ShouldReportToUser(outcome) || !IsActive(pod->second)) return;
  obs::LogWarning("pod cannot be put into its group",
                  {{"pod", ns + "/" + pod->second.name()}, {"why", outcome.error.message()}});
  RecordOnPod(ns, *space, pod->second, "PodGroupError", outcome.error.message());
}

}  // namespace basalt::pgsvc
