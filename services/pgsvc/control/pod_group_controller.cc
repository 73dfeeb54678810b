#include "services/pgsvc/control/pod_group_controller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/event.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/group_requests.h"
#include "services/pgsvc/control/pod_event.h"
#include "services/pgsvc/core/empty_group.h"
#include "services/pgsvc/core/form/kai_emitter.h"
#include "services/pgsvc/core/form/volcano_emitter.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {
namespace {

// A pod that names a group stays in it (pod-grouper 11), and there were no groups by earlier rules.
RuleOptions RulesOfVolcano(RuleOptions rules) {
  rules.keeps_named_groups = true;
  rules.finds_legacy_groups = false;
  return rules;
}

}  // namespace

PodGroupController::PodGroupController(runtime::Context& context, GroupingOptions options,
                                       const history::Limits& limits, obs::Metrics* metrics, RuleOptions rules)
    : context_(context),
      options_(options),
      recorder_(context, [this](const std::string& key, const std::string& uid) { return EventsOf(key, uid); }),
      records_(context, limits, metrics),
      publisher_(context.random()),
      metrics_(metrics),
      interests_(context),
      output_{records_, publisher_},
      kai_groups_(context, interests_, output_, queues_, rules, std::make_unique<KaiEmitter>(rules)),
      rich_groups_(context, interests_, output_, queues_, RulesOfVolcano(rules), std::make_unique<VolcanoEmitter>()) {}

PodGroupController::~PodGroupController() {
  if (history_timer_ != kNoTimer) context_.loop().Cancel(history_timer_);
}

absl::StatusOr<std::vector<runtime::KnownObject>> PodGroupController::OpenSlot(uint32_t slot) {
  groups_.Open(slot);
  kai_groups_.OpenSlot(slot);
  rich_groups_.OpenSlot(slot);
  if (history_timer_ == kNoTimer) AgeHistoryLater();
  return LoadShown(slot);
}

void PodGroupController::CloseSlot(uint32_t slot) {
  for (const std::string& key : groups_.KeysOf(slot)) {
    Group& group = *groups_.Find(key);
    while (!group.waiters.empty()) {
      Refuse(group, MakeStatus(absl::StatusCode::kUnavailable, "the slot has moved to another replica"));
    }
    failing_.erase(key);
    queue_dependents_.Set(key, {});
  }
  groups_.Close(slot);
  kai_groups_.CloseSlot(slot);
  rich_groups_.CloseSlot(slot);
  records_.CloseSlot(slot);
  publisher_.Close(slot);
}

NamespaceGroups* PodGroupController::NamespaceGroupsOf(std::string_view routing_key) {
  switch (kube::ProfileOf(routing_key)) {
    case kube::GroupProfile::kCompat:
      return nullptr;
    case kube::GroupProfile::kRich:
      return &rich_groups_;
    case kube::GroupProfile::kKai:
      return &kai_groups_;
  }
  return nullptr;
}

void PodGroupController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  if (NamespaceGroups* const groups = NamespaceGroupsOf(routing_key); groups != nullptr) {
    return groups->OnState(routing_key, std::move(object));
  }
  if (object.has_pod_group()) {
    Group& group = groups_.FindOrMake(routing_key);
    group.owner.OnGroup(group.observed.get(), object.pod_group());
    group.observed = std::make_unique<kube::v1::PodGroup>(std::move(*object.mutable_pod_group()));
    group.lost.reset();
    group.gone = false;
    group.is_awaited = false;
  } else if (object.has_pod()) {
    Group& group = groups_.FindOrMake(routing_key);
    group.owner.OnPod(routing_key, group.pods, object.pod());
    group.have_pods_moved = false;
    group.pods.Set(kube::SplitKey(routing_key).name, std::move(*object.mutable_pod()));
  } else if (object.has_workload() && options_.follow_workloads) {
    groups_.FindOrMake(routing_key).owner.OnWorkload(std::move(*object.mutable_workload()));
  }
}

void PodGroupController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  if (NamespaceGroups* const groups = NamespaceGroupsOf(routing_key); groups != nullptr) {
    return groups->OnGone(routing_key, gone);
  }
  Group* group = groups_.Find(routing_key);
  if (group == nullptr) return;
  const bool is_observed = group->observed != nullptr && group->observed->meta().uid() == gone.uid;
  if (is_observed || (group->is_awaited && group->shown_uid == gone.uid)) {
    group->lost = std::exchange(group->observed, nullptr);
    group->gone = true;
    group->is_awaited = false;
  }
  group->owner.OnGone(group->pods, gone.uid);
  const bool was_pod = group->pods.Find(gone.uid) != nullptr;
  group->pods.Erase(kube::SplitKey(routing_key).name, gone.uid);
  group->have_pods_moved |= was_pod && gone.reason == runtime::Gone::Reason::kLeft;
  if (group->pods.empty()) group->group_maker.clear();
  group->pod_events.erase(gone.uid);
}

void PodGroupController::OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (object.has_queue()) return OnQueue(object.queue(), gone);
  kai_groups_.OnShared(watch, object, gone);
  rich_groups_.OnShared(watch, object, gone);
}

// What ends is told in a batch of its own: the store has to have what it follows.
void PodGroupController::Decide(std::string_view key, kv::WriteBatch& batch) {
  if (NamespaceGroups* const groups = NamespaceGroupsOf(key); groups != nullptr) return groups->Decide(key, batch);
  Group* group = groups_.Find(key);
  if (group == nullptr) return;
  const std::string owned(key);
  if (group->record.has_notes()) {
    records_.Record(SlotOf(key), owned, group->record, batch);
  } else if (group->gone && IsUnwanted(*group)) {
    group->gone = false;
    records_.End(SlotOf(key), owned, group->record, batch);
  }
  PublishState(owned, *group, batch);
}

void PodGroupController::Act(std::string_view key) {
  publisher_.Tell();
  if (NamespaceGroups* const groups = NamespaceGroupsOf(key); groups != nullptr) return groups->Act(key);
  Group* group = groups_.Find(key);
  if (group == nullptr) return;
  const std::string owned(key);
  ServeWaiters(owned, *group);
  ServePods(owned, *group);
  RestoreOwners(owned, *group);
  ServeOwner(owned, *group);
  DeleteEmpty(owned, *group);
  ReportMissing(owned, *group);
  CheckQueue(owned, *group);
  DropIfEmpty(owned);
}

bool PodGroupController::IsUnwanted(const Group& group) {
  return group.observed == nullptr && !group.is_awaited && group.pods.empty() && group.waiters.empty() && !group.busy &&
         !group.pods.is_binding();
}

void PodGroupController::DropIfEmpty(const std::string& key) {
  const Group* group = groups_.Find(key);
  if (group == nullptr || !IsUnwanted(*group)) return;
  if (group->gone || group->record.has_notes() || group->shown.revision != 0) return context_.Wake(key);
  failing_.erase(key);
  if (!group->owner.is_shown()) groups_.Erase(key);
}

void PodGroupController::Note(const std::string& key, Group& group, GroupDecision decision) {
  group.record.Note(std::move(decision));
  context_.Wake(key);
}

void PodGroupController::NoteIfCarriedOut(const std::string& key, Group& group) {
  if (!group.sent) return;
  GroupDecision sent = TakeSent(group);
  const auto* ensure = group.waiters.empty() ? nullptr : std::get_if<Ensure>(&group.waiters.front());
  const bool is_for_owner = sent.kind == GroupDecision::Kind::kUpdated && ensure == nullptr;
  const bool is_carried_out =
      is_for_owner ? group.observed != nullptr && group.owner.IsFollowed(*group.observed, group.pods, options_)
                   : IsCarriedOut(sent, group.observed.get(), ensure == nullptr ? nullptr : &ensure->request);
  if (!is_carried_out) return;
  if (sent.kind == GroupDecision::Kind::kCreated) sent.uid = group.observed->meta().uid();
  Note(key, group, std::move(sent));
}

void PodGroupController::AgeHistoryLater() {
  const absl::Duration interval = history::Retention::TurnInterval(groups_.slots().size());
  history_timer_ = context_.loop().RunAfter(interval, [this] {
    history_timer_ = kNoTimer;
    if (groups_.slots().empty()) return;
    records_.Age(groups_.slots(), [this](uint32_t slot, std::set<std::string>& keys) {
      for (const NamespaceGroups* groups : {&kai_groups_, &rich_groups_}) groups->AddShownKeys(slot, keys);
    });
    AgeHistoryLater();
  });
}

// Settles a conflict or a lost answer by what the API server itself says now.
void PodGroupController::Refresh(const std::string& key) {
  Group* group = groups_.Find(key);
  group->busy = true;
  const auto [ns, name] = kube::SplitKey(key);
  context_.Get(key, kube::GetOf(kube::kPodGroups, ns, name),
               [this, key, uid = KnownUidOf(*group)](absl::StatusOr<gateway::v1::GetResponse> answer) {
                 Group* waiting = groups_.Find(key);
                 if (waiting == nullptr) return;
                 waiting->busy = false;
                 const bool found = answer.ok() && answer->has_object() && answer->object().has_pod_group();
                 const bool absent = answer.ok() && answer->has_error() && answer->error().code() == 404;
                 // With what watches tell, so that nothing older follows.
                 if (found) context_.MergeAnswer(key, answer->object(), /*gone=*/false);
                 // Not of one that was made since the read.
                 if (absent && KnownUidOf(*waiting) == uid) MergeAbsence(key, *waiting);
                 if (found || absent) NoteIfCarriedOut(key, *waiting);
                 AnswerFirstCall(key, *waiting, found || absent);
                 ServeWaiters(key, *waiting);
                 context_.Wake(key);
               });
}

std::string PodGroupController::KnownUidOf(const Group& group) {
  if (group.observed != nullptr) return group.observed->meta().uid();
  return group.is_awaited ? group.shown_uid : "";
}

void PodGroupController::MergeAbsence(const std::string& key, const Group& group) {
  kube::v1::Object last;
  kube::v1::ObjectMeta& meta = *last.mutable_pod_group()->mutable_meta();
  if (group.observed != nullptr) {
    meta = group.observed->meta();
  } else if (group.is_awaited) {
    const auto [ns, name] = kube::SplitKey(key);
    meta.set_namespace_(std::string(ns));
    meta.set_name(std::string(name));
    meta.set_uid(group.shown_uid);
  } else {
    return;
  }
  context_.MergeAnswer(key, last, /*gone=*/true);
}

void PodGroupController::ReportMissing(const std::string& key, Group& group) {
  if (group.observed != nullptr || group.is_awaited) return group.missing.Forget();
  const std::string_view name = kube::SplitKey(key).name;
  const std::string maker = MakerFor(group);
  const auto waits = [&](const kube::v1::Pod& pod) {
    return maker.empty() ? WaitsForGroup(pod, name) : NeedsGroup(pod) && pod.node_name().empty();
  };
  const std::string why = maker.empty() ? WhyItWaits(kube::kGroupNameKey, name) : WhyItIsLeftTo(maker);
  for (const kube::v1::Pod* const pod : group.missing.PodsToWarn(group.pods.all(), waits, context_.ApiNow())) {
    RecordOnPod(key, group, *pod, "PodGroupMissing", why);
  }
  if (group.missing.due() != absl::InfiniteFuture()) context_.WakeAt(key, group.missing.due());
}

void PodGroupController::TryLater(const std::string& key, Group& group) {
  group.retry.Fail(context_.ApiNow(), context_.random());
  failing_.insert(key);
  context_.Wake(key);  // That it fails is told.
}

void PodGroupController::Succeed(const std::string& key, Group& group) {
  group.retry.Succeed();
  group.refusal.clear();
  failing_.erase(key);
}

runtime::ObjectEvents* PodGroupController::EventsOf(const std::string& key, const std::string& pod_uid) const {
  Group* const group = groups_.Find(key);
  if (group == nullptr) return nullptr;
  const auto it = group->pod_events.find(pod_uid);
  return it == group->pod_events.end() ? nullptr : &it->second;
}

bool PodGroupController::RecordOnPod(const std::string& key, Group& group, const kube::v1::Pod& pod,
                                     std::string_view reason, std::string_view message) {
  return recorder_.Record(key, group.pod_events[pod.uid()], WarningOn(pod, reason, message));
}

void PodGroupController::ReportOnPod(const std::string& key, Group& group, const kube::v1::Pod& pod,
                                     std::string_view message) {
  if (!RecordOnPod(key, group, pod, "PodGroupError", message)) return;
  obs::LogWarning("pod group cannot be made", {{"group", key}, {"pod", pod.name()}, {"why", std::string(message)}});
}

}  // namespace basalt::pgsvc
