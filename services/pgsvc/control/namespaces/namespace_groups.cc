#include "services/pgsvc/control/namespaces/namespace_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// How long a namespace that has come here waits for owners that are not reported.
constexpr absl::Duration kCompletesWithin = absl::Seconds(10);

// Returns watch and name of the interest that the fact is about; an empty watch if it is about none.
std::pair<std::string_view, std::string_view> InterestOf(std::string_view fact) {
  if (!fact.starts_with(kube::kWatchObjectsPrefix)) return {};
  const size_t space = fact.rfind(' ');
  return {fact.substr(0, space), fact.substr(space + 1)};
}

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

NamespaceGroups::NamespaceGroups(runtime::Context& context, ObjectInterests& interests, GroupPublisher& publisher,
                                 const QueueIndex& queues, RuleOptions rules, std::unique_ptr<GroupEmitter> emitter)
    : context_(context),
      interests_(interests),
      publisher_(publisher),
      queues_(queues),
      rules_(std::move(rules)),
      emitter_(std::move(emitter)),
      writes_(context, emitter_->kind(), *this),
      karta_warnings_(context),
      recorder_(context, [this](const std::string& ns, const std::string& uid) { return EventsOf(ns, uid); }) {}

NamespaceGroups::Namespace& NamespaceGroups::NamespaceOf(std::string_view ns) {
  return namespaces_.FindOrMake(ns, [this] { return std::make_unique<Namespace>(*emitter_); });
}

void NamespaceGroups::CloseSlot(uint32_t slot) {
  for (const std::string& ns : namespaces_.KeysOf(slot)) {
    Namespace& space = *namespaces_.Find(ns);
    for (const Dependents* const dependents : {&space.dependents, &space.queue_dependents}) {
      for (const std::string& fact : dependents->All()) {
        const auto [watch, name] = InterestOf(fact);
        if (!watch.empty()) interests_.Drop(watch, kube::NamespaceOf(ns), name);
      }
    }
  }
  namespaces_.Close(slot);
}

// ---- facts ----

void NamespaceGroups::OnState(std::string_view key, kube::v1::Object&& object) {
  Namespace& space = NamespaceOf(key);
  if (object.has_pod()) {
    const std::string uid = object.pod().uid();
    NoteUnnamed(space, uid, NameOfGroup(object.pod()));
    const NamespaceObjects::PodChange change = space.objects.SetPod(std::move(*object.mutable_pod()));
    if (change.is_news || (change.is_relinked && !IsLinked(space, uid))) {
      space.pods_due.insert(uid);
    }
    // The phase of the pod counts at once, even if rules cannot group the pod any more.
    if (const auto known = space.pods.find(uid); known != space.pods.end() && !known->second.group.empty()) {
      NoteActivity(space, space.objects.pods().at(uid), known->second.group);
    }
    NoteChanged(space, change.facts);
    return;
  }
  auto group = std::make_unique<ObservedGroup>();
  if (object.has_pod_group()) {
    group->object = std::move(*object.mutable_pod_group());
  } else if (object.has_kai_pod_group()) {
    *group->object.mutable_meta() = std::move(*object.mutable_kai_pod_group()->mutable_meta());
    group->spec_json = std::move(*object.mutable_kai_pod_group()->mutable_spec_json());
  } else {
    return;
  }
  const std::string name = group->object.meta().name();
  const ObservedGroup* const before = space.objects.FindGroup(name);
  const bool is_same = before != nullptr && before->object.meta().uid() == group->object.meta().uid();
  const NamespaceObjects::GroupChange change = space.objects.SetGroup(std::move(group));
  NoteChanged(space, change.facts);
  NoteGroup(space, name, change.is_news);
  GroupState& state = space.groups.at(name);
  state.is_gone = false;
  state.is_awaited = false;
  state.lost.reset();
  if (!is_same) state.ForgetGroup();
}

bool NamespaceGroups::IsLinked(const Namespace& space, const std::string& uid) const {
  const auto known = space.pods.find(uid);
  const auto group = known == space.pods.end() ? space.groups.end() : space.groups.find(known->second.group);
  if (group == space.groups.end()) return false;
  const kube::v1::Pod& pod = space.objects.pods().at(uid);
  const GroupState::Member* const member = group->second.Find(pod);
  return member != nullptr && !LinkOf(pod, group->first, group->second, *member);
}

void NamespaceGroups::NoteActivity(Namespace& space, const kube::v1::Pod& pod, const std::string& group) {
  const auto state = space.groups.find(group);
  const GroupState::Member* const known = state == space.groups.end() ? nullptr : state->second.Find(pod);
  if (known == nullptr) return;
  const bool was_active = known->is_active;
  if (was_active == IsActive(pod) && known->phase == pod.phase()) return;
  state->second.SetState(pod, IsActive(pod));
  space.to_publish.insert(group);
  if (was_active != IsActive(pod)) space.groups_due.insert(group);
}

void NamespaceGroups::NoteGroup(Namespace& space, const std::string& name, bool is_news) {
  GroupState& group = space.groups[name];
  space.to_publish.insert(name);
  if (!is_news) return;
  group.is_compared = false;
  space.groups_due.insert(name);
}

std::string_view NamespaceGroups::NameOfGroup(const kube::v1::Pod& pod) const {
  return FindKey(pod.grouping().annotations(), emitter_->group_name_key()).value_or("");
}

void NamespaceGroups::NoteUnnamed(Namespace& space, const std::string& uid, std::string_view now) {
  const auto pod = space.objects.pods().find(uid);
  if (pod == space.objects.pods().end()) return;
  const std::string named(NameOfGroup(pod->second));
  const ObservedGroup* const group = named == now ? nullptr : space.objects.FindGroup(named);
  if (group == nullptr || !GoesWithItsPods(*group)) return;
  space.groups.try_emplace(named);
  space.groups_due.insert(named);
}

void NamespaceGroups::OnGone(std::string_view key, const runtime::Gone& gone) {
  Namespace* const space = namespaces_.Find(key);
  if (space == nullptr) return;
  const std::string owned(key);
  if (space->objects.pods().contains(gone.uid)) {
    NoteUnnamed(*space, gone.uid, "");
    Leave(*space, gone.uid);
    Depend(owned, *space, gone.uid, {});
    if (const auto pod = space->pods.find(gone.uid); pod != space->pods.end()) {
      for (const std::string& problem : pod->second.problems) ForgetProblem(*space, problem, gone.uid);
      space->pods.erase(pod);
    }
    space->pods_due.erase(gone.uid);
    space->waiting.erase(gone.uid);
    const std::string name = space->objects.pods().at(gone.uid).name();
    if (!space->dependents.Of(PodFact(name)).empty()) space->objects.RememberGonePod(name);
    NoteChanged(*space, space->objects.ErasePod(gone.uid));
    return;
  }
  const ObservedGroup* const group = space->objects.FindGroup(gone.name);
  const auto state = space->groups.find(gone.name);
  if (state == space->groups.end()) return;
  const bool is_observed = group != nullptr && group->object.meta().uid() == gone.uid;
  if (!is_observed && !(state->second.is_awaited && state->second.published_uid == gone.uid)) return;
  state->second.is_awaited = false;
  state->second.is_gone = true;
  if (is_observed && (state->second.is_ours || emitter_->IsByRules(*group))) {
    state->second.lost = emitter_->OwnerlessObjectOf(*group);
  }
  state->second.ForgetGroup();
  // If the answer is still under way, it notes the deletion itself.
  if (!state->second.busy && state->second.sent && state->second.sent->kind == GroupDecision::Kind::kDeleted) {
    writes_.Note({owned, gone.name}, state->second, state->second.TakeSent());
  }
  if (is_observed) NoteChanged(*space, space->objects.EraseGroup(gone.name));
  NoteGroup(*space, gone.name, /*is_news=*/true);
}

void NamespaceGroups::OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (object.has_priority_class()) {
    const std::string& name = object.priority_class().meta().name();
    const bool was_there = priority_classes_.contains(name);
    if (gone) {
      priority_classes_.erase(name);
    } else {
      priority_classes_[name] = object.priority_class().value();
    }
    if (was_there == gone) NoteChangedEverywhere({ClassFact(name)});
    return;
  }
  if (!object.has_generic()) return;
  if (watch == emitter_->definition_watch()) {
    const absl::StatusOr<json::value> definition = ParseJson(object.generic().json());
    if (emitter_->TakeDefinition(gone || !definition.ok() ? nullptr : &*definition)) TakeForm();
    return;
  }
  if (watch == kube::kWatchKartas) {
    const absl::StatusOr<json::value> karta = ParseJson(object.generic().json());
    const std::string& name = object.generic().meta().name();
    if (gone) karta_warnings_.Forget(name);
    const bool is_there = !gone && karta.ok() && object.generic().meta().deletion_ms() == 0;
    const std::vector<std::string> kinds = is_there ? kartas_.Set(ObjectView(*karta)) : kartas_.Erase(name);
    std::set<std::string> facts;
    for (const std::string& kind : kinds) facts.insert(KartaFact(kind));
    return NoteChangedEverywhere(facts);
  }
  if (!watch.starts_with(kube::kWatchObjectsPrefix)) return;
  const std::string ns = kube::NamespaceKey(object.generic().meta().namespace_(), emitter_->profile());
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return;
  const std::string fact = ObjectFact(watch, object.generic().meta().name());
  if (space->dependents.Of(fact).empty() && space->queue_dependents.Of(fact).empty()) return;
  NoteChanged(*space, {space->objects.SetObject(watch, object.generic(), gone)});
  context_.Wake(ns);
}

void NamespaceGroups::RetryFailed() {
  for (const auto& [ns, space] : namespaces_) {
    for (const std::string& name : std::exchange(space->failing, {})) {
      const auto group = space->groups.find(name);
      if (group == space->groups.end()) continue;
      group->second.retry.Postpone(absl::InfinitePast());
      space->groups_due.insert(name);
      context_.Wake(ns);
    }
  }
}

void NamespaceGroups::NoteChangedEverywhere(const std::set<std::string>& facts) {
  for (const auto& [ns, space] : namespaces_) {
    const Dependents& pods = space->dependents;
    const Dependents& groups = space->queue_dependents;
    const bool concerns = std::any_of(facts.begin(), facts.end(), [&](const std::string& fact) {
      return !pods.Of(fact).empty() || !groups.Of(fact).empty();
    });
    if (!concerns) continue;
    NoteChanged(*space, facts);
    context_.Wake(ns);
  }
}

void NamespaceGroups::TakeForm() {
  rules_.form = emitter_->form();
  for (const auto& [ns, space] : namespaces_) {
    for (const auto& [uid, pod] : space->objects.pods()) space->pods_due.insert(uid);
    for (auto& [name, group] : space->groups) {
      group.is_compared = false;
      space->groups_due.insert(name);
    }
    context_.Wake(ns);
  }
}

void NamespaceGroups::NoteChanged(Namespace& space, const std::set<std::string>& facts) {
  for (const std::string& fact : facts) {
    const std::set<std::string>& pods = space.dependents.Of(fact);
    space.pods_due.insert(pods.begin(), pods.end());
    const std::set<std::string>& groups = space.queue_dependents.Of(fact);
    space.groups_due.insert(groups.begin(), groups.end());
  }
}

// ---- a pass ----

void NamespaceGroups::Act(std::string_view key) {
  Namespace* const space = namespaces_.Find(key);
  if (space == nullptr) return;
  const std::string ns(key);
  Pass(ns, *space);
  space->objects.DropMade();
  if (space->is_complete && !space->to_publish.empty()) context_.Wake(ns);
  if (space->objects.empty() && space->groups.empty()) namespaces_.Erase(ns);
}

void NamespaceGroups::Pass(const std::string& ns, Namespace& space) {
  pass_steps_ = 0;
  for (size_t i = 0; i < kPodsPerPass && pass_steps_ < kStepsPerPass && !space.pods_due.empty(); ++i) {
    const std::string uid = *space.pods_due.begin();
    space.pods_due.erase(space.pods_due.begin());
    GroupPod(ns, space, uid);
  }
  // Groups are served once all known pods were looked at.
  if (!space.pods_due.empty()) return context_.Wake(ns);
  WarnOfMissing(ns, space);
  if (!IsComplete(ns, space)) return;
  space.later.TakeDue(context_.ApiNow(), space.groups_due);
  std::set<std::string> due = std::exchange(space.groups_due, {});
  while (!due.empty() && pass_steps_ < kStepsPerPass) {
    const std::string name = std::move(due.extract(due.begin()).value());
    const auto group = space.groups.find(name);
    if (group == space.groups.end()) continue;
    ServeGroup(ns, space, name, group->second);
    DropIfIdle(space, name);
  }
  writes_.TouchWaiting(ns, space.links);
  if (space.later.next() != absl::InfiniteFuture()) context_.WakeAt(ns, space.later.next());
  if (due.empty()) return;
  space.groups_due.merge(due);
  context_.Wake(ns);
}

bool NamespaceGroups::IsComplete(const std::string& ns, Namespace& space) {
  if (space.is_complete) return true;
  const absl::Time now = context_.loop().Now();
  if (!space.waits_since) space.waits_since = now;
  const absl::Time latest = *space.waits_since + kCompletesWithin;
  space.is_complete = space.waiting.empty() || now >= latest;
  if (!space.is_complete) context_.WakeAt(ns, context_.ApiNow() + (latest - now));
  return space.is_complete;
}

NamespaceGroups::Found NamespaceGroups::FindGrouping(Namespace& space, const kube::v1::Pod& pod, StepBudget& budget,
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
  const std::string_view named = NameOfGroup(pod);
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
bool NamespaceGroups::StaysInItsGroup(const Namespace& space, const kube::v1::Pod& pod,
                                      const PodGrouping& found) const {
  const ObservedGroup* const named = space.objects.FindGroup(NameOfGroup(pod));
  if (named == nullptr) return false;
  if (found.is_makeshift()) return true;
  const auto& owners = named->object.meta().owner_references();
  return found.follows_kartas && !pod.node_name().empty() &&
         std::any_of(owners.begin(), owners.end(),
                     [&found](const auto& owner) { return owner.uid() == found.grouping.owner.uid; });
}

void NamespaceGroups::GroupPod(const std::string& ns, Namespace& space, const std::string& uid) {
  const auto known = space.objects.pods().find(uid);
  if (known == space.objects.pods().end()) return;
  const kube::v1::Pod& pod = known->second;
  StepBudget budget;
  Found found = FindGrouping(space, pod, budget);
  pass_steps_ += budget.used();
  Depend(ns, space, uid, std::move(found.facts));
  space.waiting.erase(uid);
  if (found.is_waiting) {
    space.waiting.insert(uid);
    return NoteMissing(ns, space, pod, "PodGroupError",
                       fmt::format("{} is not known: the API server has not told of such objects yet",
                                   found.waits_for.front().substr(kube::kWatchObjectsPrefix.size())));
  }
  Pod& state = space.pods[uid];
  state.missing.clear();
  for (const std::string& owner : found.unreadable) {
    RecordOnPod(ns, space, pod, "PodGroupWarning",
                fmt::format("an owner cannot be read, and pods are grouped by what is below: {}", owner));
  }
  if (!found.grouping.ok()) {
    // The pod stays in the group that it is in.
    if (absl::IsNotFound(found.grouping.status())) {
      space.waiting.insert(uid);  // A watch may be behind.
      return NoteMissing(ns, space, pod, "PodGroupError", std::string(ToStd(found.grouping.status().message())));
    }
    if (IsActive(pod)) RecordOnPod(ns, space, pod, "PodGroupError", ToStd(found.grouping.status().message()));
    return;
  }
  karta_warnings_.Record(ns, found.grouping->karta.unusable, found.grouping->karta.problem);
  for (const std::string& warning : found.grouping->grouping.warnings) {
    RecordOnPod(ns, space, pod, "PodGroupWarning", warning);
  }
  if (found.grouping->verdict != PodGrouping::Verdict::kGrouped) {
    Leave(space, uid);
    const std::string_view named = NameOfGroup(pod);
    // A pod that has its node waits for no group. Still it has a lost group by the rules made again (MakeAgain).
    const bool lacks_group = pod.node_name().empty() || IsNameByRules(named);
    if (!named.empty() && lacks_group && space.objects.FindGroup(named) == nullptr) {
      return NoteMissing(ns, space, pod, kGroupMissing, WhyItWaits(emitter_->group_name_key(), named));
    }
    state.missing_since = absl::InfiniteFuture();
    return;
  }
  state.missing_since = absl::InfiniteFuture();
  const Grouping& grouping = found.grouping->grouping;
  Join(space, pod, grouping.name, grouping.pod_sub_group);
}

void NamespaceGroups::Join(Namespace& space, const kube::v1::Pod& pod, const std::string& group,
                           const std::string& leaf) {
  Pod& state = space.pods[pod.uid()];
  if (state.group != group) Leave(space, pod.uid());
  state.group = group;
  GroupState& joined = space.groups[group];
  joined.Put(pod, {.leaf = leaf, .is_active = IsActive(pod), .phase = pod.phase()});
  // The first pod that the rules can group determines the group, and this may be that pod.
  joined.is_compared = false;
  joined.links.due.insert(pod.uid());
  space.groups_due.insert(group);
  space.to_publish.insert(group);
}

void NamespaceGroups::Leave(Namespace& space, const std::string& uid) {
  const auto state = space.pods.find(uid);
  if (state == space.pods.end() || state->second.group.empty()) return;
  const std::string name = std::exchange(state->second.group, "");
  const auto left = space.groups.find(name);
  if (left == space.groups.end()) return;
  const kube::v1::Pod& pod = space.objects.pods().at(uid);
  left->second.Remove(pod);
  left->second.links.due.erase(uid);
  space.groups_due.insert(name);
  space.to_publish.insert(name);
}

void NamespaceGroups::Depend(const std::string& ns, Namespace& space, Dependents& dependents, const std::string& id,
                             Dependents::Facts facts) {
  const Dependents::Change change = dependents.Set(id, std::move(facts));
  for (const std::string& fact : change.first) {
    const auto [watch, name] = InterestOf(fact);
    if (!watch.empty()) interests_.Add(watch, kube::NamespaceOf(ns), name);
  }
  for (const std::string& fact : change.last) {
    if (space.dependents.Of(fact).empty() && space.queue_dependents.Of(fact).empty()) space.objects.Forget(fact);
    const auto [watch, name] = InterestOf(fact);
    if (!watch.empty()) interests_.Drop(watch, kube::NamespaceOf(ns), name);
  }
}

}  // namespace basalt::pgsvc
