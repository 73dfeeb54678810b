#include "services/pgsvc/control/compat/compat_writes.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "services/pgsvc/core/empty_group.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {
namespace {

// The pods of a deleted owner are deleted with it, or left behind, within this time. A group that was made before would
// be collected like the last one.
constexpr absl::Duration kOwnerEnds = absl::Seconds(5);
// How long a group may be without pods before it is deleted: a pod may be about to come.
constexpr absl::Duration kEmptyLasts = absl::Seconds(30);

// Returns the fact about the owner of that UID; an empty one if the owner may not be read. Nullopt if the answer does
// not show whether the owner exists (weakness W8).
std::optional<OwnerFact> FactIn(const absl::StatusOr<gateway::v1::GetResponse>& response, std::string_view owner_uid) {
  switch (AnswerOfRead(response)) {
    case Answer::kForbidden:
      return OwnerFact();
    case Answer::kNotFound:
      return OwnerFact{.is_going = true};
    case Answer::kDone:
      break;
    default:
      return std::nullopt;
  }
  const kube::v1::ObjectMeta& meta = response->object().generic().meta();
  if (meta.uid() != owner_uid) return OwnerFact{.is_going = true};
  OwnerFact fact{.is_going = meta.deletion_ms() != 0, .group_maker = MakerOfGroups(meta.owner_references())};
  for (const kube::v1::KeyValue& annotation : meta.annotations()) {
    fact.annotations.emplace(annotation.key(), annotation.value());
  }
  return fact;
}

bool IsGoing(const OwnerFacts& facts, std::string_view owner_uid) {
  const auto owner = facts.find(owner_uid);
  return owner != facts.end() && owner->second.is_going;
}

// Returns a pod whose owner references the group lacks. Null if the group has owners or is being deleted, or if no pod
// shows which owners the group had.
const kube::v1::Pod* PodOfLostOwners(const CompatGroup& group) {
  if (group.observed == nullptr) return nullptr;
  const kube::v1::ObjectMeta& meta = group.observed->meta();
  if (!meta.owner_references().empty() || meta.deletion_ms() != 0) return nullptr;
  const GroupPods::All& pods = group.pods.all();
  const auto own = std::find_if(pods.begin(), pods.end(), [&meta](const auto& pod) {
    return IsActive(pod.second) && GroupName(pod.second) == meta.name();
  });
  return own == pods.end() ? nullptr : &own->second;
}

GroupStep OwnersStep(const CompatGroup& group, const kube::v1::Pod& pod) {
  const std::string& uid = group.observed->meta().uid();
  std::string patch = OwnerReferencesPatch(pod);
  return {.kind = GroupStep::Kind::kPatch,
          .uid = uid,
          .body = patch,
          .decision = {.kind = GroupDecision::Kind::kUpdated,
                       .uid = uid,
                       .asked_by = CreationFor(pod).asked_by,
                       .fields = {"ownerReferences"}},
          .state = patch};
}

}  // namespace

CompatWrites::CompatWrites(runtime::Context& context, CompatWarnings& warnings, const SlotMap<CompatGroup>& groups,
                           const GroupingOptions& options)
    : context_(context),
      warnings_(warnings),
      groups_(groups),
      options_(options),
      writes_(context, kube::kPodGroups, *this),
      calls_(context, writes_) {}

void CompatWrites::RetryFailed() {
  for (const std::string& scope : failing_) {
    groups_.Find(scope)->retry.Postpone(absl::InfinitePast());
    context_.Wake(scope);
  }
}

void CompatWrites::Serve(const GroupRef& ref, CompatGroup& group) {
  calls_.Serve(ref, group);
  if (!group.busy) writes_.CarryOut(ref, group, NextStep(ref, group));
  const bool is_there = group.observed != nullptr && group.observed->meta().deletion_ms() == 0;
  if (is_there && group.Maker().empty()) writes_.LinkPods(ref, group);
  writes_.TouchWaiting(ref.scope, group.scope_links);
}

GroupStep CompatWrites::NextStep(const GroupRef& ref, CompatGroup& group) {
  if (group.observed == nullptr) return StepToCreate(ref, group);
  if (!group.calls.empty()) return {};
  RestoreOwners(ref, group);
  if (group.busy) return {};
  GroupStep step = StepOfOwner(ref, group);
  if (step.kind != GroupStep::Kind::kNothing || group.busy) return step;
  return StepForEmpty(ref, group);
}

GroupStep CompatWrites::StepToCreate(const GroupRef& ref, CompatGroup& group) {
  group.empty_since.reset();
  const kube::v1::Pod* const pod = group.pods.FirstLacking(ref.name);
  if (pod == nullptr || !group.Maker().empty()) return {};
  const absl::Time now = context_.ApiNow();
  // The pod may soon be deleted with its owner.
  const bool is_owner_going = !pod->owner_uid().empty() && pod->owner_uid() == group.going_owner;
  const absl::Time due =
      std::max({group.retry.Blocks(now) ? group.retry.until() : now, is_owner_going ? group.going_until : now,
                group.creates.Blocks(now, "") ? group.creates.Until("") : now});
  if (due > now) {
    context_.WakeAt(ref.scope, due);
  } else {
    CreateFor(ref, group, *pod, {});
  }
  return {};
}

// The owners are read again for each create, since a user may have corrected them after a refusal.
void CompatWrites::CreateFor(const GroupRef& ref, CompatGroup& group, const kube::v1::Pod& pod, OwnerFacts facts) {
  for (const OwnerResource& owner : AnnotatedOwners(pod)) {
    if (facts.contains(owner.uid)) continue;
    if (const kube::v1::Workload* const shown = group.owner.Find(owner.uid); shown != nullptr) {
      facts[owner.uid] = FactOf(*shown);
      continue;
    }
    // The pod's controller is read in any case: whether it is going, and who makes its groups, always counts.
    if (!options_.inherit_owner_annotations && owner.uid != pod.owner_uid()) continue;
    return ReadOwner(ref, group, owner,
                     [this, ref, uid = pod.uid(), owner_uid = owner.uid, known = std::move(facts)](
                         CompatGroup& read, std::optional<OwnerFact> fact) {
                       if (!fact) return TryLater(ref, read);
                       const kube::v1::Pod* const still = read.pods.Find(uid);
                       if (read.observed != nullptr || still == nullptr || !LacksGroup(*still, ref.name)) return;
                       OwnerFacts next = known;
                       next[owner_uid] = *std::move(fact);
                       CreateFor(ref, read, *still, std::move(next));
                     });
  }
  if (const auto owner = facts.find(pod.owner_uid()); owner != facts.end()) {
    group.group_maker = owner->second.group_maker;
    if (!group.group_maker.empty()) return context_.Wake(ref.scope);
  }
  if (IsGoing(facts, pod.owner_uid()) && group.going_owner != pod.owner_uid()) {
    group.going_owner = pod.owner_uid();
    group.going_until = context_.ApiNow() + kOwnerEnds;
    return context_.WakeAt(ref.scope, group.going_until);
  }
  absl::StatusOr<std::string> body = BodyFor(ref.name, group, pod, facts);
  if (!body.ok()) {
    const std::string why(ToStd(body.status().message()));
    warnings_.ReportOnPod(ref.scope, group, pod, why);
    writes_.Note(ref, group, RefusalOf(CreationFor(pod), why));
    return TryLater(ref, group);
  }
  writes_.CarryOut(ref, group,
                   {.kind = GroupStep::Kind::kCreate, .body = *std::move(body), .decision = CreationFor(pod)});
}

absl::StatusOr<std::string> CompatWrites::BodyFor(std::string_view name, const CompatGroup& group,
                                                  const kube::v1::Pod& pod, const OwnerFacts& facts) const {
  const Annotations annotations = MergedAnnotations(pod, facts);
  if (name == GroupName(pod) && !IsGoing(facts, pod.owner_uid())) return GroupBody(pod, annotations, options_);
  if (group.lost != nullptr) return OwnerlessGroupBody(pod.namespace_(), name, AsItIs(*group.lost));
  const absl::StatusOr<WantedGroup> wanted = WantedGroupOf(pod, annotations, options_);
  if (!wanted.ok()) return wanted.status();
  return OwnerlessGroupBody(pod.namespace_(), name, *wanted);
}

void CompatWrites::ReadOwner(const GroupRef& ref, CompatGroup& group, const OwnerResource& owner, OnOwner then) {
  writes_.Read(ref, group, kube::GetOf(owner.kind, kube::SplitKey(ref.scope).ns, owner.name),
               [uid = owner.uid, then = std::move(then)](GroupEntry& entry,
                                                         const absl::StatusOr<gateway::v1::GetResponse>& response) {
                 then(static_cast<CompatGroup&>(entry), FactIn(response, uid));
               });
}

// Kubernetes itself removes the owner references when an owner is deleted and leaves its pods behind, and maybe does so
// on the group before it does on a pod. Watches report these changes in any order, so that only a read of the owner
// shows whether somebody else has removed the references.
void CompatWrites::RestoreOwners(const GroupRef& ref, CompatGroup& group) {
  const kube::v1::Pod* const pod = PodOfLostOwners(group);
  if (pod == nullptr) return;
  const kube::v1::Workload* const shown = group.owner.Find(pod->owner_uid());
  if (shown != nullptr && FactOf(*shown).is_going) return;
  const std::string patch = OwnerReferencesPatch(*pod);
  if (WaitsFor(ref, group.owner_references, patch)) return;
  group.owner_references.Note(context_.ApiNow(), patch);
  const std::vector<OwnerResource> owners = AnnotatedOwners(*pod);
  const auto controller = std::find_if(owners.begin(), owners.end(),
                                       [pod](const OwnerResource& owner) { return owner.uid == pod->owner_uid(); });
  if (controller == owners.end()) return writes_.CarryOut(ref, group, OwnersStep(group, *pod));
  ReadOwner(ref, group, *controller, [this, ref, uid = pod->uid()](CompatGroup& read, std::optional<OwnerFact> fact) {
    const kube::v1::Pod* const still = PodOfLostOwners(read);
    if (!fact || fact->is_going || still == nullptr || still->uid() != uid) return;
    writes_.CarryOut(ref, read, OwnersStep(read, *still));
  });
}

GroupStep CompatWrites::StepOfOwner(const GroupRef& ref, CompatGroup& group) {
  if (!group.owner.IsDue(*group.observed)) return {};
  if (group.retry.Blocks(context_.ApiNow())) {
    context_.WakeAt(ref.scope, group.retry.until());
    return {};
  }
  if (options_.inherit_owner_annotations) {
    if (const std::optional<OwnerResource> other = group.owner.NextToRead(group.pods)) {
      ReadOwner(ref, group, *other, [this, ref, uid = other->uid](CompatGroup& read, std::optional<OwnerFact> fact) {
        if (!fact) return TryLater(ref, read);
        read.owner.OnRead(uid, *std::move(fact));
      });
      return {};
    }
  }
  FollowedOwner::Step step = group.owner.NextStep(*group.observed, group.pods, options_);
  if (!step.warning.empty()) warnings_.RecordOnPod(ref.scope, group, *step.pod, "PodGroupWarning", step.warning);
  switch (step.kind) {
    case FollowedOwner::Step::Kind::kNothing:
      return {};
    case FollowedOwner::Step::Kind::kDelete:
      return StepToDelete(ref, group, std::move(step.decision));
    case FollowedOwner::Step::Kind::kUpdate:
      break;
  }
  if (WaitsFor(ref, group.updates, step.patch)) {
    group.owner.CompareAgain();
    return {};
  }
  std::string state = step.patch;
  return {.kind = GroupStep::Kind::kPatch,
          .uid = group.observed->meta().uid(),
          .body = std::move(step.patch),
          .decision = std::move(step.decision),
          .state = std::move(state)};
}

GroupStep CompatWrites::StepForEmpty(const GroupRef& ref, CompatGroup& group) {
  const bool is_for_nothing = group.pods.empty() && IsForNothing({.group = *group.observed,
                                                                  .owner = group.owner.workload(),
                                                                  .are_workloads_shown = options_.follow_workloads,
                                                                  .have_pods_moved = group.have_pods_moved});
  if (!is_for_nothing) {
    group.empty_since.reset();
    return {};
  }
  const absl::Time now = context_.ApiNow();
  if (!group.empty_since) group.empty_since = now;
  const absl::Time due = std::max(*group.empty_since + kEmptyLasts, group.retry.until());
  if (now < due) {
    context_.WakeAt(ref.scope, due);
    return {};
  }
  return StepToDelete(ref, group,
                      {.kind = GroupDecision::Kind::kDeleted,
                       .uid = group.observed->meta().uid(),
                       .asked_by = "pgsvc",
                       .message = "no pod is in the group, and none names it"});
}

GroupStep CompatWrites::StepToDelete(const GroupRef& ref, CompatGroup& group, GroupDecision decision) {
  constexpr char kDeleted[] = "deleted";
  if (WaitsFor(ref, group.updates, kDeleted)) return {};
  return {.kind = GroupStep::Kind::kDelete,
          .uid = group.observed->meta().uid(),
          .decision = std::move(decision),
          .state = kDeleted};
}

bool CompatWrites::WaitsFor(const GroupRef& ref, const Pace& pace, const std::string& state) {
  if (!pace.Blocks(context_.ApiNow(), state)) return false;
  context_.WakeAt(ref.scope, pace.Until(state));
  return true;
}

void CompatWrites::TryLater(const GroupRef& ref, CompatGroup& group) {
  group.retry.Fail(context_.ApiNow(), context_.random());
  failing_.insert(ref.scope);
  context_.Wake(ref.scope);
}

const kube::v1::ObjectMeta* CompatWrites::FindMeta(const GroupRef& ref) const {
  const CompatGroup* const group = groups_.Find(ref.scope);
  return group == nullptr || group->observed == nullptr ? nullptr : &group->observed->meta();
}

void CompatWrites::OnAnswer(const GroupRef& ref, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) {
  auto& group = static_cast<CompatGroup&>(entry);
  if (step.is_for_caller) return calls_.OnAnswer(ref, group, answer);
  if (answer.meaning == Meaning::kSucceeded) {
    failing_.erase(ref.scope);
    return;
  }
  const bool is_look = answer.meaning == Meaning::kLook;
  if (step.kind == GroupStep::Kind::kCreate) {
    const kube::v1::Pod* const pod = group.pods.FirstLacking(ref.name);
    if (answer.is_reported && pod != nullptr)
      warnings_.ReportOnPod(ref.scope, group, *pod, answer.outcome.error.message());
    if (is_look) return;  // The read that follows may find the group.
  } else {
    group.owner.CompareAgain();
    if (is_look) group.retry.Fail(context_.ApiNow(), context_.random());
  }
  failing_.insert(ref.scope);
}

void CompatWrites::OnRead(const GroupRef& ref, GroupEntry& entry, Answer answer, const kube::v1::Object*) {
  auto& group = static_cast<CompatGroup&>(entry);
  const bool is_known = answer == Answer::kDone || answer == Answer::kNotFound;
  if (is_known) NoteIfCarriedOut(ref, group);
  calls_.OnRead(ref, group, is_known);
}

void CompatWrites::NoteIfCarriedOut(const GroupRef& ref, CompatGroup& group) {
  if (!group.sent) return;
  GroupDecision sent = group.TakeSent();
  const auto* const ensure = group.calls.empty() ? nullptr : std::get_if<EnsureCall>(&group.calls.front());
  const bool is_for_owner = sent.kind == GroupDecision::Kind::kUpdated && ensure == nullptr;
  const bool is_carried_out =
      is_for_owner ? group.observed != nullptr && group.owner.IsFollowed(*group.observed, group.pods, options_)
                   : IsCarriedOut(sent, group.observed.get(), ensure == nullptr ? nullptr : &ensure->request);
  if (!is_carried_out) return;
  if (sent.kind == GroupDecision::Kind::kCreated) sent.uid = group.observed->meta().uid();
  writes_.Note(ref, group, std::move(sent));
}

ScopeLinks* CompatWrites::FindScopeLinks(const std::string& scope) {
  CompatGroup* const group = groups_.Find(scope);
  return group == nullptr ? nullptr : &group->scope_links;
}

LinkStep CompatWrites::NextLink(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid) {
  auto& group = static_cast<CompatGroup&>(entry);
  const kube::v1::Pod* const pod = group.pods.Find(pod_uid);
  if (pod == nullptr || !NeedsGroup(*pod)) return {};
  return {.kind = LinkStep::Kind::kNow,
          .pod = pod,
          .link = &group.pod_links[pod_uid],
          .patch = BindingPatch(ref.name),
          .state = ref.name};
}

PodLink* CompatWrites::FindLink(const GroupRef& ref, const std::string& pod_uid) {
  CompatGroup* const group = groups_.Find(ref.scope);
  return group->pods.Find(pod_uid) == nullptr ? nullptr : &group->pod_links[pod_uid];
}

void CompatWrites::OnLinked(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid, const PodLink& link,
                            Meaning meaning) {
  auto& group = static_cast<CompatGroup&>(entry);
  if (meaning != Meaning::kRefused || link.refusal.empty()) return;
  const kube::v1::Pod& pod = *group.pods.Find(pod_uid);
  if (IsActive(pod)) warnings_.ReportOnPod(ref.scope, group, pod, link.refusal);
}

}  // namespace basalt::pgsvc
