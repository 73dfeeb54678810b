// What people are shown of pod groups: the answer to a question, and what clients that watch are told, which is
// recorded with the slot.
#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/timestamp.h"
#include "common/runtime/slots/damage.h"
#include "common/watch/state_hash.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {

namespace {

// One that is due at once has none.
int64_t DueMs(const Retry& retry) {
  return retry.until() > absl::InfinitePast() ? absl::ToUnixMillis(retry.until()) : 0;
}

// Of all that Show says.
uint64_t StateOf(const kube::v1::PodGroup* observed, size_t pods, const Retry& retry) {
  watch::StateHash state;
  if (observed != nullptr) {
    state.Add(observed->meta().uid()).Add(static_cast<uint64_t>(observed->meta().resource_version()));
  }
  state.Add(uint64_t{pods});
  if (const std::optional<absl::Time> since = retry.since()) {
    state.Add(static_cast<uint64_t>(absl::ToUnixMillis(*since))).Add(static_cast<uint64_t>(DueMs(retry)));
  }
  return state.value();
}

}  // namespace

bool PodGroupController::IsThere(std::string_view key, const Group& group) {
  if (group.observed != nullptr) return true;
  const auto lacks = [name = kube::SplitKey(key).name](const auto& pod) { return LacksGroup(pod.second, name); };
  return !group.is_awaited && std::any_of(group.pods.begin(), group.pods.end(), lacks);
}

std::optional<podgroup::v1::PodGroup> PodGroupController::Show(std::string_view key) const {
  const Group* group = groups_.Find(key);
  if (group == nullptr || !IsThere(key, *group)) return std::nullopt;
  podgroup::v1::PodGroup message;
  if (group->observed != nullptr) {
    *message.mutable_object() = *group->observed;
  } else {
    const auto [ns, name] = kube::SplitKey(key);
    message.mutable_object()->mutable_meta()->set_namespace_(std::string(ns));
    message.mutable_object()->mutable_meta()->set_name(std::string(name));
  }
  message.set_pods(static_cast<int32_t>(group->pods.size()));
  if (const std::optional<absl::Time> since = group->retry.since()) {
    message.set_allocated_failing_since_time(kube::ToTimestamp(absl::ToUnixMillis(*since)).release());
    message.set_allocated_retry_time(kube::ToTimestamp(DueMs(group->retry)).release());
  }
  return message;
}

void PodGroupController::ForEachShown(uint32_t slot, const runtime::VisitObject& visit) {
  for (const std::string& key : groups_.KeysOf(slot)) {
    Group& group = *groups_.Find(key);
    const bool is_seen = IsThere(key, group);
    if (is_seen || group.is_awaited) visit(key, group.shown, is_seen);
  }
}

void PodGroupController::PublishState(const std::string& key, Group& group, kv::WriteBatch& batch) {
  const uint32_t slot = SlotOf(key);
  if (IsThere(key, group)) {
    runtime::Publisher::Identity identity;
    if (group.observed != nullptr) {
      identity = {group.observed->meta().uid(), group.observed->meta().resource_version()};
    }
    group.shown_uid = identity.uid;
    const uint64_t state = StateOf(group.observed.get(), group.pods.size(), group.retry);
    publisher_.PublishIfChanged(slot, key, state, identity, group.shown, batch);
  } else if (!group.is_awaited) {
    publisher_.PublishEnd(slot, key, std::exchange(group.shown_uid, ""), group.shown, batch);
  }
}

absl::StatusOr<std::vector<runtime::KnownObject>> PodGroupController::LoadShown(uint32_t slot) {
  std::vector<runtime::KnownObject> known;
  kv::Damage damage;
  const auto load = [&](const std::string& key, const storage::v1::ShownObject& record) {
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
