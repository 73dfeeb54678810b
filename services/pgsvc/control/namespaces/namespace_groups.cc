#include "services/pgsvc/control/namespaces/namespace_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "services/pgsvc/control/namespaces/explain.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// How long a namespace that has come here waits for owners that are not reported.
constexpr absl::Duration kCompletesWithin = absl::Seconds(10);

}  // namespace

NamespaceGroups::NamespaceGroups(runtime::Context& context, ObjectInterests& interests, GroupPublisher& publisher,
                                 const QueueIndex& queues, RuleOptions rules, std::unique_ptr<GroupEmitter> emitter)
    : context_(context),
      interests_(interests),
      publisher_(publisher),
      grouper_(std::move(rules), queues, std::move(emitter)),
      warnings_(context, grouper_, namespaces_),
      karta_warnings_(context),
      writes_(context, grouper_, warnings_, namespaces_) {}

NamespaceState& NamespaceGroups::NamespaceOf(std::string_view key) {
  return namespaces_.FindOrMake(
      key, [&] { return std::make_unique<NamespaceState>(context_, interests_, key, grouper_.emitter()); });
}

void NamespaceGroups::CloseSlot(uint32_t slot) {
  for (const std::string& key : namespaces_.KeysOf(slot)) namespaces_.Find(key)->DropInterests();
  namespaces_.Close(slot);
}

// ---- facts ----

void NamespaceGroups::OnState(std::string_view key, kube::v1::Object&& object) {
  NamespaceState& space = NamespaceOf(key);
  if (object.has_pod()) return OnPod(space, std::move(*object.mutable_pod()));
  auto group = std::make_unique<ObservedGroup>();
  if (object.has_pod_group()) {
    group->object = std::move(*object.mutable_pod_group());
  } else if (object.has_kai_pod_group()) {
    *group->object.mutable_meta() = std::move(*object.mutable_kai_pod_group()->mutable_meta());
    group->spec_json = std::move(*object.mutable_kai_pod_group()->mutable_spec_json());
  } else {
    return;
  }
  OnGroup(space, std::move(group));
}

void NamespaceGroups::OnPod(NamespaceState& space, kube::v1::Pod&& pod) {
  const std::string uid = pod.uid();
  NoteUnnamed(space, uid, space.NameOfGroup(pod));
  const NamespaceObjects::PodChange change = space.objects.SetPod(std::move(pod));
  if (change.is_news || (change.is_relinked && !grouper_.IsLinked(space, uid))) space.pods_due.insert(uid);
  // The phase of the pod counts at once, even if rules cannot group the pod any more.
  if (const auto known = space.pods.find(uid); known != space.pods.end() && !known->second.group.empty()) {
    space.NoteActivity(space.objects.pods().at(uid), known->second.group);
  }
  space.NoteChanged(change.facts);
}

void NamespaceGroups::OnGroup(NamespaceState& space, std::unique_ptr<ObservedGroup> group) {
  const std::string name = group->object.meta().name();
  const ObservedGroup* const before = space.objects.FindGroup(name);
  const bool is_same = before != nullptr && before->object.meta().uid() == group->object.meta().uid();
  const NamespaceObjects::GroupChange change = space.objects.SetGroup(std::move(group));
  space.NoteChanged(change.facts);
  space.NoteGroup(name, change.is_news);
  GroupState& state = space.groups.at(name);
  state.is_gone = false;
  state.is_awaited = false;
  state.lost.reset();
  if (!is_same) state.ForgetGroup();
}

void NamespaceGroups::NoteUnnamed(NamespaceState& space, const std::string& uid, std::string_view now) {
  const auto pod = space.objects.pods().find(uid);
  if (pod == space.objects.pods().end()) return;
  const std::string named(space.NameOfGroup(pod->second));
  const ObservedGroup* const group = named == now ? nullptr : space.objects.FindGroup(named);
  if (group == nullptr || !grouper_.GoesWithItsPods(*group)) return;
  space.groups.try_emplace(named);
  space.groups_due.insert(named);
}

void NamespaceGroups::OnGone(std::string_view key, const runtime::Gone& gone) {
  NamespaceState* const space = namespaces_.Find(key);
  if (space == nullptr) return;
  if (space->objects.pods().contains(gone.uid)) return OnPodGone(*space, gone.uid);
  const ObservedGroup* const group = space->objects.FindGroup(gone.name);
  const auto state = space->groups.find(gone.name);
  if (state == space->groups.end()) return;
  const bool is_observed = group != nullptr && group->object.meta().uid() == gone.uid;
  if (!is_observed && !(state->second.is_awaited && state->second.published_uid == gone.uid)) return;
  state->second.is_awaited = false;
  state->second.is_gone = true;
  if (is_observed && (state->second.is_ours || grouper_.emitter().IsByRules(*group))) {
    state->second.lost = grouper_.emitter().OwnerlessObjectOf(*group);
  }
  state->second.ForgetGroup();
  writes_.NoteDeletion(*space, gone.name, state->second);
  if (is_observed) space->NoteChanged(space->objects.EraseGroup(gone.name));
  space->NoteGroup(gone.name, /*is_news=*/true);
}

void NamespaceGroups::OnPodGone(NamespaceState& space, const std::string& uid) {
  NoteUnnamed(space, uid, "");
  space.Leave(uid);
  space.SetFactsOfPod(uid, {});
  if (const auto pod = space.pods.find(uid); pod != space.pods.end()) {
    NamespaceWarnings::Forget(space, pod->second, uid);
    space.pods.erase(pod);
  }
  space.pods_due.erase(uid);
  space.waiting.erase(uid);
  const std::string name = space.objects.pods().at(uid).name();
  if (space.DependsOn(PodFact(name))) space.objects.RememberGonePod(name);
  space.NoteChanged(space.objects.ErasePod(uid));
}

void NamespaceGroups::OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (object.has_priority_class()) {
    return NoteChangedEverywhere(grouper_.TakePriorityClass(object.priority_class(), gone));
  }
  if (!object.has_generic()) return;
  const kube::v1::ObjectMeta& meta = object.generic().meta();
  if (watch == grouper_.emitter().definition_watch()) {
    const absl::StatusOr<json::value> definition = ParseJson(object.generic().json());
    if (grouper_.TakeDefinition(gone || !definition.ok() ? nullptr : &*definition)) LookAtAllAgain();
    return;
  }
  if (watch == kube::kWatchKartas) {
    const absl::StatusOr<json::value> karta = ParseJson(object.generic().json());
    if (gone) karta_warnings_.Forget(meta.name());
    const bool is_there = !gone && karta.ok() && meta.deletion_ms() == 0;
    return NoteChangedEverywhere(grouper_.TakeKarta(meta.name(), is_there ? &*karta : nullptr));
  }
  if (!watch.starts_with(kube::kWatchObjectsPrefix)) return;
  NamespaceState* const space = namespaces_.Find(kube::NamespaceKey(meta.namespace_(), grouper_.emitter().profile()));
  if (space == nullptr || !space->DependsOn(ObjectFact(watch, meta.name()))) return;
  space->NoteChanged({space->objects.SetObject(watch, object.generic(), gone)});
  space->Wake();
}

void NamespaceGroups::OnQueues(const std::set<std::string>& names) {
  std::set<std::string> facts;
  for (const std::string& name : names) facts.insert(QueueFact(name));
  NoteChangedEverywhere(facts);
}

void NamespaceGroups::RetryFailed() {
  for (const auto& [key, space] : namespaces_) {
    for (const std::string& name : std::exchange(space->failing, {})) {
      const auto group = space->groups.find(name);
      if (group == space->groups.end()) continue;
      group->second.retry.Postpone(absl::InfinitePast());
      space->groups_due.insert(name);
      space->Wake();
    }
  }
}

void NamespaceGroups::NoteChangedEverywhere(const std::set<std::string>& facts) {
  for (const auto& [key, space] : namespaces_) {
    const auto concerns = [&space = *space](const std::string& fact) { return space.DependsOn(fact); };
    if (std::none_of(facts.begin(), facts.end(), concerns)) continue;
    space->NoteChanged(facts);
    space->Wake();
  }
}

void NamespaceGroups::LookAtAllAgain() {
  for (const auto& [key, space] : namespaces_) {
    for (const auto& [uid, pod] : space->objects.pods()) space->pods_due.insert(uid);
    for (auto& [name, group] : space->groups) {
      group.is_compared = false;
      space->groups_due.insert(name);
    }
    space->Wake();
  }
}

// ---- a pass ----

void NamespaceGroups::Act(std::string_view key) {
  NamespaceState* const space = namespaces_.Find(key);
  if (space == nullptr) return;
  Pass(*space);
  space->objects.DropMade();
  space->found.clear();
  if (space->is_complete && !space->to_publish.empty()) space->Wake();
  if (space->objects.empty() && space->groups.empty()) namespaces_.Erase(key);
}

void NamespaceGroups::Pass(NamespaceState& space) {
  grouper_.BeginPass();
  for (size_t i = 0; i < PodGrouper::kPodsPerPass && grouper_.HasSteps() && !space.pods_due.empty(); ++i) {
    const std::string uid = *space.pods_due.begin();
    space.pods_due.erase(space.pods_due.begin());
    GroupPod(space, uid);
  }
  // Groups are served once all known pods were looked at.
  if (!space.pods_due.empty()) return space.Wake();
  warnings_.WarnOfMissing(space);
  if (!IsComplete(space)) return;
  space.later.TakeDue(context_.ApiNow(), space.groups_due);
  std::set<std::string> due = std::exchange(space.groups_due, {});
  while (!due.empty() && grouper_.HasSteps()) {
    const std::string name = std::move(due.extract(due.begin()).value());
    const auto group = space.groups.find(name);
    if (group == space.groups.end()) continue;
    writes_.Serve(space, name, group->second);
    space.DropIfIdle(name);
  }
  writes_.EndPass(space);
  if (space.later.next() != absl::InfiniteFuture()) space.WakeAt(space.later.next());
  if (due.empty()) return;
  space.groups_due.merge(due);
  space.Wake();
}

bool NamespaceGroups::IsComplete(NamespaceState& space) {
  if (space.is_complete) return true;
  const absl::Time now = context_.loop().Now();
  if (!space.waits_since) space.waits_since = now;
  const absl::Time latest = *space.waits_since + kCompletesWithin;
  space.is_complete = space.waiting.empty() || now >= latest;
  if (!space.is_complete) space.WakeAt(context_.ApiNow() + (latest - now));
  return space.is_complete;
}

void NamespaceGroups::GroupPod(NamespaceState& space, const std::string& uid) {
  const auto known = space.objects.pods().find(uid);
  if (known == space.objects.pods().end()) return;
  const kube::v1::Pod& pod = known->second;
  PodGrouper::Found found = grouper_.FindNow(space, pod);
  space.SetFactsOfPod(uid, std::move(found.facts));
  space.waiting.erase(uid);
  if (found.is_waiting) {
    space.waiting.insert(uid);
    return warnings_.NoteMissing(space, pod, "PodGroupError",
                                 fmt::format("{} is not known: the API server has not told of such objects yet",
                                             found.waits_for.front().substr(kube::kWatchObjectsPrefix.size())));
  }
  PodState& state = space.pods[uid];
  state.missing.clear();
  for (const std::string& owner : found.unreadable) {
    warnings_.RecordOnPod(space, pod, "PodGroupWarning",
                          fmt::format("an owner cannot be read, and pods are grouped by what is below: {}", owner));
  }
  if (!found.grouping.ok()) {
    // The pod stays in the group that it is in.
    if (absl::IsNotFound(found.grouping.status())) {
      space.waiting.insert(uid);  // A watch may be behind.
      return warnings_.NoteMissing(space, pod, "PodGroupError", std::string(ToStd(found.grouping.status().message())));
    }
    if (IsActive(pod)) warnings_.RecordOnPod(space, pod, "PodGroupError", ToStd(found.grouping.status().message()));
    return;
  }
  karta_warnings_.Record(space.key, found.grouping->karta.unusable, found.grouping->karta.problem);
  for (const std::string& warning : found.grouping->grouping.warnings) {
    warnings_.RecordOnPod(space, pod, "PodGroupWarning", warning);
  }
  if (found.grouping->verdict != PodGrouping::Verdict::kGrouped) {
    space.Leave(uid);
    const std::string_view named = space.NameOfGroup(pod);
    // A pod that has its node waits for no group. Still it has a lost group by the rules made again (MakeAgain).
    const bool lacks_group = pod.node_name().empty() || IsNameByRules(named);
    if (!named.empty() && lacks_group && space.objects.FindGroup(named) == nullptr) {
      return warnings_.NoteMissing(space, pod, NamespaceWarnings::kGroupMissing,
                                   WhyItWaits(grouper_.emitter().group_name_key(), named));
    }
    state.missing_since = absl::InfiniteFuture();
    return;
  }
  state.missing_since = absl::InfiniteFuture();
  Grouping& grouping = found.grouping->grouping;
  space.Join(pod, grouping.name, grouping.pod_sub_group);
  space.found[uid] = std::move(grouping);
}

}  // namespace basalt::pgsvc
