// What people are shown of pod groups: the answer to a question, and what clients that watch are told, which is
// recorded with the slot.
#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/runtime/slots/damage.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/control/shown_state.h"

namespace basalt::pgsvc {

bool PodGroupController::IsThere(std::string_view key, const Group& group) {
  if (group.observed != nullptr) return true;
  return !group.is_awaited && MakerFor(group).empty() && group.pods.FirstLacking(kube::SplitKey(key).name) != nullptr;
}

std::optional<podgroup::v1::PodGroup> PodGroupController::Show(std::string_view key) const {
  if (const kube::GroupProfile profile = kube::ProfileOfShown(key); profile != kube::GroupProfile::kCompat) {
    const auto [ns, name] = kube::SplitKey(key);
    const NamespaceGroups& groups = profile == kube::GroupProfile::kKai ? kai_groups_ : rich_groups_;
    return groups.Show(kube::NamespaceKey(ns, profile), name);
  }
  const Group* group = groups_.Find(key);
  if (group == nullptr || !IsThere(key, *group)) return std::nullopt;
  podgroup::v1::PodGroup message;
  message.set_profile(podgroup::v1::PROFILE_COMPAT);
  if (group->observed != nullptr) {
    *message.mutable_object() = *group->observed;
  } else {
    const auto [ns, name] = kube::SplitKey(key);
    message.mutable_object()->mutable_meta()->set_namespace_(std::string(ns));
    message.mutable_object()->mutable_meta()->set_name(std::string(name));
  }
  message.set_pods(static_cast<int32_t>(group->pods.size()));
  ShowRetry(group->retry, message);
  return message;
}

void PodGroupController::ForEachShown(uint32_t slot, const runtime::VisitObject& visit) {
  for (const std::string& key : groups_.KeysOf(slot)) {
    Group& group = *groups_.Find(key);
    const bool is_seen = IsThere(key, group);
    if (is_seen || group.is_awaited) visit(key, group.shown, is_seen);
  }
  for (const NamespaceGroups* groups : {&kai_groups_, &rich_groups_}) groups->ForEachShown(slot, visit);
}

void PodGroupController::PublishState(const std::string& key, Group& group, kv::WriteBatch& batch) {
  const uint32_t slot = SlotOf(key);
  if (IsThere(key, group)) {
    runtime::Publisher::Identity identity;
    if (group.observed != nullptr) {
      identity = {group.observed->meta().uid(), group.observed->meta().resource_version()};
    }
    group.shown_uid = identity.uid;
    const uint64_t state = ShownStateOf(group.observed.get(), group.pods.size(), group.retry);
    publisher_.PublishIfChanged(slot, key, state, identity, group.shown, batch);
  } else if (!group.is_awaited) {
    publisher_.PublishEnd(slot, key, std::exchange(group.shown_uid, ""), group.shown, batch);
  }
}

absl::StatusOr<std::vector<runtime::KnownObject>> PodGroupController::LoadShown(uint32_t slot) {
  std::vector<runtime::KnownObject> known;
  kv::Damage damage;
  const auto load = [&](const std::string& key, const storage::v1::PublishedObject& record) {
    if (const kube::GroupProfile profile = kube::ProfileOfShown(key); profile != kube::GroupProfile::kCompat) {
      NamespaceGroups& groups = profile == kube::GroupProfile::kKai ? kai_groups_ : rich_groups_;
      return groups.LoadShown(slot, key, record, known);
    }
    if (SlotOf(key) != slot) return;
    Group& group = groups_.FindOrMake(key);
    group.shown = runtime::ShownOf(record);
    group.shown_uid = record.uid();
    if (record.uid().empty()) return context_.Wake(key);  // Whether pods want it is seen.
    group.is_awaited = true;
    const auto [ns, name] = kube::SplitKey(key);
    known.push_back({std::string(kube::kWatchPodGroups), key, record.uid(), std::string(ns), std::string(name),
                     record.resource_version()});
  };
  BASALT_RETURN_IF_ERROR(publisher_.OpenOrBeginAnew(context_.store(), slot, context_.SlotEpoch(slot), load, damage));
  runtime::ReportDamage(damage, metrics_);
  return known;
}

}  // namespace basalt::pgsvc
