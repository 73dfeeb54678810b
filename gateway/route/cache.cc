#include "gateway/route/cache.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using kube::v1::Object;

size_t HashOf(WatchIndex watch, std::string_view text) {
  return std::hash<std::string_view>()(text) ^ ((watch + size_t{1}) * 0x9e3779b97f4a7c15ULL);
}

// Reuses the memory of `to` if the text fits without much waste. Otherwise reserves a little more, which costs nothing:
// the allocator's size classes are multiples of 64 here.
void Assign(std::string& to, std::string_view text) {
  if (text.size() > to.capacity() || to.capacity() > 2 * text.size() + 64) {
    std::string fresh;
    fresh.reserve(text.size() | 63);
    to = std::move(fresh);
  }
  to.assign(text);
}

int IndexOf(v1::ServiceKind service) { return static_cast<int>(service) - 1; }

bool IsPodWatch(std::string_view watch) { return watch.starts_with("pods/"); }

bool IsFailed(const kube::v1::Pod& pod) { return pod.phase() == kube::v1::POD_PHASE_FAILED; }

// Whether the pod failed, by its times, before the mark: its deletion request, or its disruption as Kubernetes marked
// it.
bool FailedFirst(const kube::v1::Pod& pod, int64_t mark_ms) {
  return IsFailed(pod) && pod.finished_ms() != 0 && pod.finished_ms() < mark_ms;
}

// Makes the times show whether the failure came first, and returns the time of the mark. Where the order is wrong, the
// failure moves to the time of the mark. Clocks of nodes may be off, and the API server's clock is right: the mark
// moves within its second only.
int64_t InOrder(bool failed_first, int64_t mark_ms, kube::v1::Pod& pod) {
  if (FailedFirst(pod, mark_ms) == failed_first) return mark_ms;
  if (!failed_first) {
    pod.set_finished_ms(mark_ms);
    return mark_ms;
  }
  if (mark_ms == 0) mark_ms = std::max({pod.finished_ms(), pod.creation_ms(), int64_t{1}});
  pod.set_finished_ms(mark_ms);
  return mark_ms + 999;
}

// `before` is the known state; null if there is none. Without a known failure, the disruption counts as the cause of
// the failure: the clock of a slow node could suggest otherwise.
bool FailedBeforeDisruption(const kube::v1::Pod* before) {
  if (before == nullptr || !IsFailed(*before)) return false;
  return before->disruption_reason().empty() || FailedFirst(*before, before->disruption_ms());
}

// If no state in between was observed, the pod's times decide.
bool FailedBeforeDeletion(const kube::v1::Pod* before, const kube::v1::Pod& pod) {
  if (before == nullptr) return FailedFirst(pod, pod.deletion_ms());
  if (before->deletion_ms() != 0) return FailedFirst(*before, before->deletion_ms());
  return IsFailed(*before) || FailedFirst(pod, pod.deletion_ms());
}

}  // namespace

template <bool kByUid>
size_t Cache::Hash<kByUid>::operator()(const Wanted& wanted) const {
  return HashOf(wanted.watch, wanted.text);
}
template <bool kByUid>
size_t Cache::Hash<kByUid>::operator()(ObjectId id) const {
  const Entry& entry = (*entries)[id];
  return HashOf(entry.watch, kByUid ? entry.uid() : entry.key());
}
template <bool kByUid>
bool Cache::Equal<kByUid>::operator()(ObjectId id, const Wanted& wanted) const {
  const Entry& entry = (*entries)[id];
  return entry.watch == wanted.watch && (kByUid ? entry.uid() : entry.key()) == wanted.text;
}

Cache::Cache(const std::vector<std::string>& watches, CacheListener& listener, RouteOptions routes)
    : listener_(listener),
      routes_(std::move(routes)),
      by_uid_(0, Hash<true>{&entries_}, Equal<true>{&entries_}),
      by_name_(0, Hash<false>{&entries_}, Equal<false>{&entries_}) {
  for (const std::string& id : watches) watches_.push_back({.id = id});
  for (auto& slots : members_) slots.resize(kSlotCount);
}

ObjectId Cache::Find(WatchIndex watch, std::string_view uid) const {
  const auto it = by_uid_.find(Wanted{watch, uid});
  return it == by_uid_.end() ? kNoObject : *it;
}

ObjectId Cache::FindName(WatchIndex watch, std::string_view key) const {
  const auto it = by_name_.find(Wanted{watch, key});
  return it == by_name_.end() ? kNoObject : *it;
}

int Cache::FindWatch(std::string_view id) const {
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (watches_[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

uint32_t Cache::SlotOfId(ObjectId id, v1::ServiceKind service) const {
  return entries_[id].placements[IndexOf(service)].slot;
}

std::string_view Cache::RoutingKeyOf(ObjectId id, v1::ServiceKind service) const {
  const Entry& entry = entries_[id];
  return entry.At(entry.placements[IndexOf(service)].routing_key);
}

Object Cache::Read(ObjectId id) const {
  Object object;
  const std::string_view payload = entries_[id].payload();
  // Upsert wrote the payload.
  static_cast<void>(object.ParseFromArray(payload.data(), static_cast<int>(payload.size())));
  return object;
}

const std::vector<ObjectId>& Cache::Members(v1::ServiceKind service, uint32_t slot) const {
  return slot == kBroadcastSlot ? broadcast_ : members_[IndexOf(service)][slot];
}

std::string Cache::UidOf(std::string_view watch_prefix, std::string_view ns, std::string_view name) const {
  const std::string key = kube::ObjectKey(ns, name);
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (!watches_[i].id.starts_with(watch_prefix)) continue;
    const ObjectId id = FindName(static_cast<WatchIndex>(i), key);
    if (id != kNoObject) return std::string(entries_[id].uid());
  }
  return {};
}

std::optional<Object> Cache::WithOrderOfMarks(ObjectId id, const Object& object) const {
  const kube::v1::Pod& pod = object.pod();
  const bool is_disrupted = !pod.disruption_reason().empty();
  if (!IsFailed(pod) || (pod.deletion_ms() == 0 && !is_disrupted)) return std::nullopt;
  if (id == kNoObject && !is_disrupted) return std::nullopt;
  const Object known = id == kNoObject ? Object() : Read(id);
  const kube::v1::Pod* const before = id == kNoObject ? nullptr : &known.pod();
  Object corrected = object;
  kube::v1::Pod& ordered = *corrected.mutable_pod();
  if (is_disrupted) {
    ordered.set_disruption_ms(InOrder(FailedBeforeDisruption(before), pod.disruption_ms(), ordered));
  }
  if (pod.deletion_ms() != 0) {
    ordered.set_deletion_ms(InOrder(FailedBeforeDeletion(before, ordered), pod.deletion_ms(), ordered));
  }
  const bool is_same = ordered.finished_ms() == pod.finished_ms() && ordered.deletion_ms() == pod.deletion_ms() &&
                       ordered.disruption_ms() == pod.disruption_ms();
  return is_same ? std::nullopt : std::optional<Object>(std::move(corrected));
}

void Cache::Apply(WatchIndex watch, const Object& object) {
  const ObjectRef ref = RefOf(object);
  Upsert(watch, object, ref);
  Advance(watch, ref.resource_version);
}

bool Cache::Upsert(WatchIndex watch, const Object& received, const ObjectRef& ref) {
  ObjectId id = Find(watch, ref.uid);
  if (id != kNoObject && entries_[id].resource_version >= ref.resource_version) return false;
  const std::string key = kube::ObjectKey(ref.ns, ref.name);
  if (id != kNoObject && entries_[id].key() != key) {
    DepartReplaced(id, ref.resource_version);
    id = kNoObject;
  }
  const std::optional<Object> ordered = WithOrderOfMarks(id, received);
  const Object& object = ordered ? *ordered : received;
  const std::vector<Route> routes = Routes(object, routes_);
  const bool inserted = id == kNoObject;
  if (inserted || entries_[id].held_back) TakeName(watch, key, id, ref.resource_version);
  if (!inserted) {
    Leave(id, watch, routes, ref.resource_version);
  } else {
    if (free_.empty()) {
      id = static_cast<ObjectId>(entries_.size());
      entries_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
  }

  Entry& entry = entries_[id];
  fresh_.assign(ref.uid).append(key);
  for (const Route& route : routes) {
    Text& text = entry.placements[IndexOf(route.service)].routing_key;
    const bool begins = std::string_view(key).starts_with(route.key);
    text.begin = static_cast<uint32_t>(begins ? ref.uid.size() : fresh_.size());
    text.size = static_cast<uint32_t>(route.key.size());
    if (!begins) fresh_.append(route.key);
  }
  entry.payload_begin = static_cast<uint32_t>(fresh_.size());
  fresh_.resize(fresh_.size() + object.ByteSizeLong());
  static_cast<void>(
      object.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(fresh_.data() + entry.payload_begin)));
  Assign(entry.data, fresh_);
  entry.resource_version = ref.resource_version;
  if (inserted) {
    entry.used = true;
    entry.watch = watch;
    entry.uid_size = static_cast<uint16_t>(ref.uid.size());
    entry.key_size = static_cast<uint16_t>(key.size());
    entry.broadcast = IsBroadcast(object);
    if (entry.broadcast) {
      entry.broadcast_position = static_cast<uint32_t>(broadcast_.size());
      broadcast_.push_back(id);
    }
    by_uid_.insert(id);
    by_name_.insert(id);
    ++watches_[watch].objects;
  }
  Place(id, routes);
  listener_.OnState(id);
  return true;
}

void Cache::TakeName(WatchIndex watch, std::string_view key, ObjectId id, int64_t resource_version) {
  for (ObjectId other = FindName(watch, key); other != kNoObject && other != id; other = FindName(watch, key)) {
    Entry& entry = entries_[other];
    if (entry.resource_version > resource_version) {
      entry.held_back = true;
      by_name_.erase(other);
      held_back_[{watch, std::string(key)}] = other;
      listener_.OnHeldBack(other);
    } else {
      DepartReplaced(other, resource_version);
    }
  }
}

void Cache::Leave(ObjectId id, WatchIndex watch, const std::vector<Route>& routes, int64_t resource_version) {
  std::shared_ptr<Object> last;
  for (int service = 0; service < kServiceKinds; ++service) {
    const Entry& entry = entries_[id];
    const Placement& placement = entry.placements[service];
    if (placement.slot == kNoSlot) continue;
    const std::string_view old_key = entry.At(placement.routing_key);
    const bool stays = std::any_of(routes.begin(), routes.end(), [&](const Route& route) {
      return IndexOf(route.service) == service && route.key == old_key;
    });
    if (stays) continue;
    if (!last) {
      last = std::make_shared<Object>(Read(id));
      SetResourceVersion(*last, resource_version);
    }
    const Departure departure{watch,
                              static_cast<v1::ServiceKind>(service + 1),
                              placement.slot,
                              std::string(old_key),
                              std::string(entry.uid()),
                              v1::Tombstone::REASON_LEFT,
                              last,
                              resource_version};
    Unplace(id, service);
    listener_.OnDeparture(id, departure);
  }
}

void Cache::Place(ObjectId id, const std::vector<Route>& routes) {
  for (const Route& route : routes) {
    Placement& placement = entries_[id].placements[IndexOf(route.service)];
    if (placement.slot != kNoSlot) continue;
    placement.slot = SlotOf(route.key);
    std::vector<ObjectId>& members = members_[IndexOf(route.service)][placement.slot];
    placement.position = static_cast<uint32_t>(members.size());
    members.push_back(id);
  }
}

void Cache::Unplace(ObjectId id, int service) {
  Placement& placement = entries_[id].placements[service];
  if (placement.slot == kNoSlot) return;
  std::vector<ObjectId>& members = members_[service][placement.slot];
  const ObjectId moved = members.back();
  members[placement.position] = moved;
  entries_[moved].placements[service].position = placement.position;
  members.pop_back();
  placement = Placement{};
}

void Cache::Erase(ObjectId id) {
  for (int service = 0; service < kServiceKinds; ++service) Unplace(id, service);
  Entry& entry = entries_[id];
  if (entry.broadcast) {
    const ObjectId moved = broadcast_.back();
    broadcast_[entry.broadcast_position] = moved;
    entries_[moved].broadcast_position = entry.broadcast_position;
    broadcast_.pop_back();
  }
  by_uid_.erase(id);
  by_name_.erase(id);
  if (entry.held_back) held_back_.erase({entry.watch, std::string(entry.key())});
  --watches_[entry.watch].objects;
  entry = Entry{};
  free_.push_back(id);
}

void Cache::Depart(ObjectId id, WatchIndex watch, const Object& last, v1::Tombstone::Reason reason,
                   int64_t seen_version) {
  const auto shared = std::make_shared<const Object>(last);
  const std::string uid(RefOf(last).uid);
  for (const Route& route : Routes(last, routes_)) {
    listener_.OnDeparture(id, {watch, route.service, SlotOf(route.key), route.key, uid, reason, shared, seen_version});
  }
  if (IsBroadcast(last)) {
    listener_.OnDeparture(id,
                          {watch, v1::SERVICE_KIND_UNSPECIFIED, kBroadcastSlot, "", uid, reason, shared, seen_version});
  }
  if (id == kNoObject) return;
  if (held_back_.empty() || entries_[id].held_back) return Erase(id);
  const std::string key(entries_[id].key());
  Erase(id);
  const auto next = held_back_.find({watch, key});
  if (next == held_back_.end()) return;
  const ObjectId held_back = next->second;
  held_back_.erase(next);
  entries_[held_back].held_back = false;
  by_name_.insert(held_back);
  listener_.OnState(held_back);
}

void Cache::DepartReplaced(ObjectId id, int64_t resource_version) {
  Object last = Read(id);
  SetResourceVersion(last, resource_version);
  const Entry& entry = entries_[id];
  Depart(id, entry.watch, last, v1::Tombstone::REASON_DELETED, entry.resource_version);
}

void Cache::Remove(WatchIndex watch, const Object& received) {
  const ObjectRef ref = RefOf(received);
  const ObjectId id = Find(watch, ref.uid);
  const std::optional<Object> ordered = WithOrderOfMarks(id, received);
  const Object& last = ordered ? *ordered : received;
  const bool news = id != kNoObject ? ref.resource_version >= entries_[id].resource_version
                                    : ref.resource_version > watches_[watch].resource_version;
  if (news) {
    // If the route changed together with the deletion, the departure goes to the replica that had the object, with the
    // key that this replica knows.
    if (id != kNoObject) {
      const Object before = Read(id);
      if (Routes(before, routes_) != Routes(last, routes_)) {
        Object departed = before;
        SetResourceVersion(departed, ref.resource_version);
        Depart(id, watch, departed, ReasonOf(watch, last), ref.resource_version);
      } else {
        Depart(id, watch, last, ReasonOf(watch, last), ref.resource_version);
      }
    } else {
      Depart(kNoObject, watch, last, ReasonOf(watch, last), ref.resource_version);
    }
  }
  Advance(watch, ref.resource_version);
}

v1::Tombstone::Reason Cache::ReasonOf(WatchIndex watch, const Object& last) const {
  if (!MatchesWatch(watches_[watch].id, last)) return v1::Tombstone::REASON_LEFT;
  if (!IsPodWatch(watches_[watch].id)) return v1::Tombstone::REASON_DELETED;
  // If another pod watch shows the pod, its labels have changed. (The API server sends the state from before the
  // change.)
  const ObjectRef ref = RefOf(last);
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (i == watch || !IsPodWatch(watches_[i].id)) continue;
    const ObjectId other = Find(static_cast<WatchIndex>(i), ref.uid);
    if (other != kNoObject && entries_[other].resource_version >= ref.resource_version) {
      return v1::Tombstone::REASON_LEFT;
    }
  }
  return v1::Tombstone::REASON_DELETED;
}

void Cache::Advance(WatchIndex watch, int64_t resource_version) {
  WatchInfo& info = watches_[watch];
  if (resource_version <= info.resource_version) return;
  info.resource_version = resource_version;
  listener_.OnWatch(watch);
}

void Cache::Bookmark(WatchIndex watch, int64_t resource_version) { Advance(watch, resource_version); }

void Cache::Replace(WatchIndex watch, const std::vector<Object>& objects, int64_t resource_version) {
  std::vector<bool> seen(entries_.size(), false);
  for (const Object& object : objects) {
    const ObjectId id = Find(watch, RefOf(object).uid);
    if (id != kNoObject) seen[id] = true;
  }
  std::vector<ObjectId> absent;
  for (ObjectId id = 0; id < seen.size(); ++id) {
    const Entry& entry = entries_[id];
    // A write after the list's moment may have made an object that the list lacks: it is not gone.
    if (!entry.used || entry.watch != watch || seen[id] || entry.resource_version > resource_version) continue;
    absent.push_back(id);
  }
  // If two objects have one name, the older one departs first.
  std::stable_partition(absent.begin(), absent.end(), [this](ObjectId id) { return !entries_[id].held_back; });
  for (const ObjectId id : absent) {
    Object last = Read(id);
    SetResourceVersion(last, resource_version);
    Depart(id, watch, last, ReasonOf(watch, last), entries_[id].resource_version);
  }
  for (const Object& object : objects) Upsert(watch, object, RefOf(object));
  WatchInfo& info = watches_[watch];
  info.state = v1::Mark::STATE_READY;
  info.resource_version = std::max(info.resource_version, resource_version);
  listener_.OnWatch(watch);
}

void Cache::SetState(WatchIndex watch, v1::Mark::State state) {
  if (watches_[watch].state == state) return;
  watches_[watch].state = state;
  listener_.OnWatch(watch);
}

int Cache::WatchForWritten(const Object& object) const {
  switch (object.kind_case()) {
    case Object::kJob:
      return FindWatch(kube::kWatchJobs);
    case Object::kPodGroup:
      return FindWatch(kube::kWatchPodGroups);
    case Object::kQueue:
      return FindWatch(kube::kWatchQueues);
    case Object::kCommand:
      return FindWatch(kube::kWatchCommands);
    case Object::kPriorityClass:
      return FindWatch(kube::kWatchPriorityClasses);
    case Object::kKaiPodGroup:
      return FindWatch(kube::kWatchKaiPodGroups);
    case Object::kPod:
      break;
    default:
      return -1;
  }
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (IsPodWatch(watches_[i].id) && Find(static_cast<WatchIndex>(i), object.pod().uid()) != kNoObject) {
      return static_cast<int>(i);
    }
  }
  if (!object.pod().job_name().empty()) return FindWatch(kube::kWatchJobPods);
  return FindWatch(std::string(kube::kWatchSchedulerPodsPrefix) + object.pod().scheduler_name());
}

void Cache::MergeWritten(const Object& object) {
  const int found = WatchForWritten(object);
  if (found < 0) return;
  const auto watch = static_cast<WatchIndex>(found);
  const ObjectRef ref = RefOf(object);
  if (watches_[watch].state != v1::Mark::STATE_READY || ref.resource_version <= watches_[watch].resource_version) {
    return;
  }
  const ObjectId same_name = FindName(watch, kube::ObjectKey(ref.ns, ref.name));
  if (same_name != kNoObject && entries_[same_name].uid() != ref.uid) return;
  Upsert(watch, object, ref);
}

}  // namespace basalt::gateway
