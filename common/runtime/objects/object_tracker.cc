#include "common/runtime/objects/object_tracker.h"

#include <algorithm>
#include <utility>

namespace basalt::runtime {
namespace {

std::string FullName(std::string_view ns, std::string_view name) {
  std::string full(ns);
  full += '/';
  full += name;
  return full;
}

bool IsServed(const gateway::v1::Mark& mark) {
  return mark.state() != gateway::v1::Mark::STATE_ABSENT && mark.state() != gateway::v1::Mark::STATE_FORBIDDEN;
}

}  // namespace

ObjectTracker::WatchId ObjectTracker::Intern(std::string_view watch) {
  if (last_watch_ < watches_.size() && watches_[last_watch_] == watch) return last_watch_;
  const auto found = watch_ids_.find(watch);
  if (found != watch_ids_.end()) return last_watch_ = found->second;
  const WatchId id = static_cast<WatchId>(watches_.size());
  watches_.emplace_back(watch);
  watch_ids_.emplace(watch, id);
  return id;
}

std::string ObjectTracker::WatchKey(WatchId watch, std::string_view text) {
  std::string key;
  key.reserve(2 + text.size());
  key.push_back(static_cast<char>(watch >> 8));
  key.push_back(static_cast<char>(watch & 0xff));
  key += text;
  return key;
}

ObjectTracker::Objects::value_type* ObjectTracker::Find(Slot& slot, WatchId watch, std::string_view uid) {
  const auto found = slot.objects.find(ObjectView{watch, uid});
  return found == slot.objects.end() ? nullptr : &*found;
}

ObjectTracker::Objects::value_type* ObjectTracker::FindAnywhere(Slot& slot, std::string_view uid) {
  Objects::value_type* ended = nullptr;
  for (size_t watch = 0; watch < watches_.size(); ++watch) {
    Objects::value_type* entry = Find(slot, static_cast<WatchId>(watch), uid);
    if (entry == nullptr) continue;
    if (TraitsOf(entry->second).named) return entry;
    ended = entry;
  }
  return ended;
}

const ObjectTracker::Traits& ObjectTracker::TraitsOf(const Tracked& tracked) {
  static constexpr Traits kTraits[] = {
      // named, awaits_mark, over, unmentioned
      {true, false, false, Presence::kUncertain},  // kPresent
      {true, true, false, Presence::kUncertain},   // kUncertain
      {false, true, false, Presence::kLeft},       // kLeft
      {false, false, true, Presence::kDeleted},    // kEnded: no tombstone will come, a mark is enough.
      {false, true, true, Presence::kDeleted},     // kDeleted
  };
  return kTraits[static_cast<size_t>(tracked.presence)];
}

void ObjectTracker::ReleaseRoute(Slot& slot, Tracked& tracked) {
  if (tracked.route == nullptr) return;
  const auto it = slot.routes.find(*tracked.route);
  if (--it->second == 0) slot.routes.erase(it);
  tracked.route = nullptr;
}

void ObjectTracker::SetRoute(Slot& slot, Tracked& tracked, std::string_view route) {
  if (tracked.route != nullptr && *tracked.route == route) return;
  auto it = slot.routes.find(route);
  if (it == slot.routes.end()) it = slot.routes.emplace(route, 0).first;
  ++it->second;
  ReleaseRoute(slot, tracked);
  tracked.route = &it->first;
}

ObjectTracker::Objects::value_type* ObjectTracker::Insert(Slot& slot, WatchId watch, std::string_view uid,
                                                          std::string_view ns, std::string_view name,
                                                          std::string_view route) {
  auto& entry = *slot.objects.emplace(ObjectKey{watch, std::string(uid)}, Tracked()).first;
  entry.second.name = WatchKey(watch, FullName(ns, name));
  SetRoute(slot, entry.second, route);
  TakeName(slot, entry);
  ++objects_;
  return &entry;
}

void ObjectTracker::Set(uint32_t slot_id, Slot& slot, Objects::value_type& entry, Presence presence,
                        int64_t resource_version) {
  Tracked& tracked = entry.second;
  const Traits before = TraitsOf(tracked);
  if (before.awaits_mark) waiting_[entry.first.watch].erase({tracked.resource_version, slot_id, entry.first});
  tracked.presence = presence;
  tracked.resource_version = resource_version;
  const Traits after = TraitsOf(tracked);
  if (before.named && !after.named) {
    const auto it = slot.by_name.find(tracked.name);
    if (it != slot.by_name.end() && it->second == &entry) slot.by_name.erase(it);
    --objects_;
  } else if (!before.named && after.named) {
    TakeName(slot, entry);
    ++objects_;
  }
  if (after.awaits_mark) waiting_[entry.first.watch].emplace(resource_version, slot_id, entry.first);
}

void ObjectTracker::TakeName(Slot& slot, Objects::value_type& entry) {
  slot.by_name.erase(entry.second.name);  // The key is a view into the entry that had it.
  slot.by_name.emplace(entry.second.name, &entry);
}

void ObjectTracker::Forget(uint32_t slot_id, Slot& slot, Objects::value_type& entry) {
  Set(slot_id, slot, entry, Presence::kEnded, entry.second.resource_version);
  ReleaseRoute(slot, entry.second);
  slot.objects.erase(slot.objects.find(entry.first));
}

void ObjectTracker::EndEntry(uint32_t slot_id, Slot& slot, Objects::value_type& entry, Gone::Reason reason,
                             int64_t resource_version, const kube::v1::Object* last, bool by_watch) {
  const Tracked& tracked = entry.second;
  const std::string route = *tracked.route;
  const std::string_view full = Text(tracked.name);
  const size_t slash = full.find('/');
  const Gone gone{.reason = reason,
                  .watch = watches_[entry.first.watch],
                  .uid = entry.first.uid,
                  .ns = std::string(full.substr(0, slash)),
                  .name = std::string(full.substr(slash + 1)),
                  .resource_version = std::max(resource_version, tracked.resource_version),
                  .last = last};
  if (reason == Gone::Reason::kLeft) {
    // A later state than that of leaving brings the object back, also if an answer of ours had a newer one.
    Set(slot_id, slot, entry, Presence::kLeft, resource_version);
  } else {
    Set(slot_id, slot, entry, by_watch ? Presence::kDeleted : Presence::kEnded, gone.resource_version);
  }
  sink_.OnGone(slot_id, route, gone);
}

bool ObjectTracker::Replace(uint32_t slot_id, Slot& slot, WatchId watch, const ObjectIdentity& identity) {
  const auto found = slot.by_name.find(WatchKey(watch, FullName(identity.ns, identity.name)));
  if (found == slot.by_name.end() || found->second->first.uid == identity.uid) return true;
  Objects::value_type& other = *found->second;
  if (other.second.resource_version > identity.resource_version) return false;
  EndEntry(slot_id, slot, other, Gone::Reason::kAbsent, other.second.resource_version, nullptr, false);
  return true;
}

void ObjectTracker::Apply(uint32_t slot_id, Slot& slot, Objects::value_type& entry, std::string_view route,
                          int64_t resource_version, kube::v1::Object&& object) {
  Tracked& tracked = entry.second;
  if (*tracked.route != route) {
    if (TraitsOf(tracked).named) {
      EndEntry(slot_id, slot, entry, Gone::Reason::kLeft, tracked.resource_version, nullptr, true);
    }
    SetRoute(slot, tracked, route);
  }
  Set(slot_id, slot, entry, Presence::kPresent, resource_version);
  tracked.loaded = false;
  sink_.OnState(slot_id, *tracked.route, watches_[entry.first.watch], std::move(object));
}

void ObjectTracker::Open(uint32_t slot_id, const std::vector<KnownObject>& known) {
  if (slot_id >= slots_.size()) slots_.resize(slot_id + 1);
  if (slots_[slot_id] == nullptr) slots_[slot_id] = std::make_unique<Slot>();
  Slot& slot = *slots_[slot_id];
  for (const KnownObject& object : known) {
    const WatchId watch = Intern(object.watch);
    if (Find(slot, watch, object.uid) != nullptr) continue;
    Tracked& tracked = Insert(slot, watch, object.uid, object.ns, object.name, object.routing_key)->second;
    tracked.resource_version = object.resource_version;
    tracked.loaded = true;
  }
}

void ObjectTracker::Close(uint32_t slot_id) {
  Slot* slot = FindSlot(slot_id);
  if (slot == nullptr) return;
  for (const auto& [key, tracked] : slot->objects) {
    waiting_[key.watch].erase({tracked.resource_version, slot_id, key});
    if (TraitsOf(tracked).named) --objects_;
  }
  ClearForbidden(slot_id, *slot);
  slots_[slot_id].reset();
}

void ObjectTracker::ClearForbidden(uint32_t slot_id, Slot& slot) {
  for (const WatchId watch : slot.forbidden) forbidden_.erase({watch, slot_id});
  slot.forbidden.clear();
}

void ObjectTracker::StartStream() {
  for (size_t slot = 0; slot < slots_.size(); ++slot) Begin(static_cast<uint32_t>(slot));
}

void ObjectTracker::Begin(uint32_t slot_id) {
  Slot* open = FindSlot(slot_id);
  if (open == nullptr) return;
  Slot& slot = *open;
  if (!slot.in_snapshot) {
    for (size_t watch = 0; watch < watches_.size(); ++watch) {
      int64_t& before = slot.before[static_cast<WatchId>(watch)];
      before = std::max(before, MarkOf(slot, static_cast<WatchId>(watch)));
    }
  }
  slot.in_snapshot = true;
  ClearForbidden(slot_id, slot);
  for (auto& [key, tracked] : slot.objects) tracked.mentioned = false;
}

void ObjectTracker::State(gateway::v1::ObjectState&& state) {
  Slot* open = FindSlot(state.slot());
  if (open == nullptr) return;
  Slot& slot = *open;
  const ObjectIdentity identity = Identify(state.object());
  const WatchId watch = Intern(state.watch());
  Objects::value_type* entry = Find(slot, watch, identity.uid);
  if (entry == nullptr) {
    if (IsPast(slot, watch, identity.resource_version)) return;
    if (!Replace(state.slot(), slot, watch, identity)) return;
    entry = Insert(slot, watch, identity.uid, identity.ns, identity.name, state.routing_key());
    entry->second.mentioned = true;
    Apply(state.slot(), slot, *entry, state.routing_key(), identity.resource_version,
          std::move(*state.mutable_object()));
    return;
  }
  Tracked& tracked = entry->second;
  if (TraitsOf(tracked).over) return;
  if (tracked.presence == Presence::kLeft) {
    if (identity.resource_version <= tracked.resource_version) return;
    if (!Replace(state.slot(), slot, watch, identity)) return;
  }
  tracked.mentioned = true;
  const bool newer = IsNews(tracked, identity.resource_version);
  if (newer) {
    Apply(state.slot(), slot, *entry, state.routing_key(), identity.resource_version,
          std::move(*state.mutable_object()));
  } else if (tracked.presence == Presence::kUncertain) {
    Set(state.slot(), slot, *entry, Presence::kPresent, tracked.resource_version);
  }
}

void ObjectTracker::Tombstone(const gateway::v1::Tombstone& tombstone) {
  Slot* open = FindSlot(tombstone.slot());
  if (open == nullptr) return;
  Slot& slot = *open;
  const ObjectIdentity identity = Identify(tombstone.last());
  const WatchId watch = Intern(tombstone.watch());
  Objects::value_type* entry = Find(slot, watch, identity.uid);
  const bool deleted = tombstone.reason() != gateway::v1::Tombstone::REASON_LEFT;
  if (entry == nullptr) {
    if (IsPast(slot, watch, identity.resource_version)) return;
    // The object came and went between two batches, or while we were away. If two objects have one name, the one that
    // was observed at the higher version is the newer one, since they cannot have existed together.
    ObjectIdentity seen = identity;
    seen.resource_version = tombstone.observed_version();
    if (!Replace(tombstone.slot(), slot, watch, seen)) {
      // A newer object has the name: the end of the older one must not change the entry of the newer one.
      Gone gone{.reason = deleted ? Gone::Reason::kDeleted : Gone::Reason::kLeft,
                .watch = tombstone.watch(),
                .uid = std::string(identity.uid),
                .ns = std::string(identity.ns),
                .name = std::string(identity.name),
                .resource_version = identity.resource_version,
                .last = tombstone.state_dropped() ? nullptr : &tombstone.last()};
      sink_.OnGone(tombstone.slot(), tombstone.routing_key(), gone);
      return;
    }
    entry = Insert(slot, watch, identity.uid, identity.ns, identity.name, tombstone.routing_key());
    entry->second.resource_version = identity.resource_version;
  } else if (TraitsOf(entry->second).over) {
    // The sink knows of the end already; from now on the entry only waits for a mark.
    Set(tombstone.slot(), slot, *entry, Presence::kDeleted,
        std::max(entry->second.resource_version, identity.resource_version));
    return;
  } else if (entry->second.presence == Presence::kLeft && !deleted) {
    return;
  }
  EndEntry(tombstone.slot(), slot, *entry, deleted ? Gone::Reason::kDeleted : Gone::Reason::kLeft,
           identity.resource_version, tombstone.state_dropped() ? nullptr : &tombstone.last(), true);
}

bool ObjectTracker::IsNews(const Tracked& tracked, int64_t resource_version) {
  return resource_version > tracked.resource_version ||
         (tracked.loaded && resource_version == tracked.resource_version);
}

bool ObjectTracker::IsPast(const Slot& slot, WatchId watch, int64_t resource_version) const {
  if (!slot.in_snapshot) return false;
  const auto before = slot.before.find(watch);
  return before != slot.before.end() && resource_version <= before->second;
}

int64_t ObjectTracker::MarkOf(const Slot& slot, WatchId watch) const {
  if (slot.ended_at == 0) return 0;
  int64_t mark = 0;
  if (const auto at_end = slot.marks.find(watch); at_end != slot.marks.end()) mark = at_end->second;
  // Progress that came during the snapshot proves nothing about this slot yet.
  if (const auto since = progress_.find(watch); since != progress_.end() && since->second.tick > slot.ended_at) {
    mark = std::max(mark, since->second.resource_version);
  }
  return mark;
}

void ObjectTracker::ConcludeAbsent(uint32_t slot_id, Slot& slot, WatchId watch) {
  const int64_t mark = MarkOf(slot, watch);
  std::vector<Objects::value_type*> unmentioned;
  for (Objects::value_type& entry : slot.objects) {
    if (entry.first.watch == watch && !entry.second.mentioned) unmentioned.push_back(&entry);
  }
  std::sort(unmentioned.begin(), unmentioned.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  for (Objects::value_type* entry : unmentioned) {
    const int64_t known = entry->second.resource_version;
    const Traits& traits = TraitsOf(entry->second);
    if (traits.named && mark > 0 && mark >= known) {
      EndEntry(slot_id, slot, *entry, Gone::Reason::kAbsent, known, nullptr, true);
      continue;
    }
    if (traits.named) ++uncertain_absences_;
    Set(slot_id, slot, *entry, traits.unmentioned, known);
  }
}

bool ObjectTracker::End(const gateway::v1::SlotEnd& end) {
  Slot* open = FindSlot(end.slot());
  if (open == nullptr) return false;
  Slot& slot = *open;
  slot.in_snapshot = false;
  slot.ended_at = ++tick_;
  slot.marks.clear();
  ClearForbidden(end.slot(), slot);
  for (const gateway::v1::Mark& mark : end.marks()) {
    const WatchId watch = Intern(mark.watch());
    // A kind that the server does not serve proves nothing: its mark stays 0, and its objects stay uncertain.
    if (mark.state() == gateway::v1::Mark::STATE_FORBIDDEN) {
      slot.forbidden.insert(watch);
      forbidden_.insert({watch, end.slot()});
    }
    if (IsServed(mark)) slot.marks[watch] = mark.resource_version();
  }
  for (size_t watch = 0; watch < watches_.size(); ++watch)
    ConcludeAbsent(end.slot(), slot, static_cast<WatchId>(watch));
  return slot.forbidden.empty();
}

std::vector<uint32_t> ObjectTracker::Progress(const gateway::v1::Progress& progress) {
  ++tick_;
  std::vector<uint32_t> ready;
  for (const gateway::v1::Mark& mark : progress.marks()) {
    if (!IsServed(mark)) continue;
    const WatchId watch = Intern(mark.watch());
    progress_[watch] = {mark.resource_version(), tick_};
    for (auto at = forbidden_.lower_bound({watch, 0}); at != forbidden_.end() && at->first == watch;) {
      const uint32_t slot_id = at->second;
      Slot& slot = *slots_.at(slot_id);
      at = forbidden_.erase(at);
      slot.forbidden.erase(watch);
      if (slot.forbidden.empty() && !slot.in_snapshot) ready.push_back(slot_id);
    }
    // Entries that the mark has passed, unless their slot is in a snapshot, whose end decides about them.
    Waiting& waiting = waiting_[watch];
    std::vector<Waiting::value_type> passed;
    for (auto it = waiting.begin(); it != waiting.end() && std::get<0>(*it) <= mark.resource_version(); ++it) {
      if (!slots_.at(std::get<1>(*it))->in_snapshot) passed.push_back(*it);
    }
    for (const auto& [resource_version, slot_id, key] : passed) {
      Slot& slot = *slots_.at(slot_id);
      Objects::value_type& entry = *slot.objects.find(key);
      if (entry.second.presence == Presence::kUncertain) {
        EndEntry(slot_id, slot, entry, Gone::Reason::kAbsent, resource_version, nullptr, true);
      }
      Forget(slot_id, slot, entry);
    }
  }
  return ready;
}

bool ObjectTracker::OwnState(uint32_t slot_id, std::string_view routing_key, const kube::v1::Object& object) {
  Slot* open = FindSlot(slot_id);
  if (open == nullptr) return true;
  Slot& slot = *open;
  const ObjectIdentity identity = Identify(object);
  if (identity.uid.empty() || object.kind_case() == kube::v1::Object::kGeneric) return true;
  if (Objects::value_type* entry = FindAnywhere(slot, identity.uid); entry != nullptr) {
    Tracked& tracked = entry->second;
    if (TraitsOf(tracked).over) return false;
    // An object that has left its watch is not followed any more, whatever we write to it.
    if (tracked.presence == Presence::kLeft) return true;
    if (!IsNews(tracked, identity.resource_version)) return true;
    const bool uncertain = tracked.presence == Presence::kUncertain;
    const std::string route = *tracked.route;
    Apply(slot_id, slot, *entry, route, identity.resource_version, kube::v1::Object(object));
    // Only the watch can show that the object is certain.
    if (uncertain) Set(slot_id, slot, *entry, Presence::kUncertain, identity.resource_version);
    return true;
  }
  const WatchId watch = Intern(WatchOf(object));
  if (!Replace(slot_id, slot, watch, identity)) return false;
  Objects::value_type* entry = Insert(slot, watch, identity.uid, identity.ns, identity.name, routing_key);
  Apply(slot_id, slot, *entry, routing_key, identity.resource_version, kube::v1::Object(object));
  if (slot.in_snapshot) return true;  // The end of the snapshot decides.
  if (MarkOf(slot, watch) >= identity.resource_version) {
    // The watch has passed the moment of this answer and does not have the object: it has gone again since.
    EndEntry(slot_id, slot, *entry, Gone::Reason::kAbsent, identity.resource_version, &object, true);
    return false;
  }
  Set(slot_id, slot, *entry, Presence::kUncertain, identity.resource_version);
  return true;
}

void ObjectTracker::OwnDeletion(uint32_t slot_id, std::string_view routing_key, const kube::v1::Object& last) {
  Slot* open = FindSlot(slot_id);
  if (open == nullptr) return;
  Slot& slot = *open;
  const ObjectIdentity identity = Identify(last);
  if (identity.uid.empty() || last.kind_case() == kube::v1::Object::kGeneric) return;
  Objects::value_type* entry = FindAnywhere(slot, identity.uid);
  if (entry == nullptr) {
    const WatchId watch = Intern(WatchOf(last));
    if (!Replace(slot_id, slot, watch, identity)) return;
    entry = Insert(slot, watch, identity.uid, identity.ns, identity.name, routing_key);
    entry->second.resource_version = identity.resource_version;
  } else if (TraitsOf(entry->second).over) {
    return;
  }
  EndEntry(slot_id, slot, *entry, Gone::Reason::kDeleted, identity.resource_version, &last, false);
}

std::set<std::string> ObjectTracker::Forbidden() const {
  std::set<std::string> all;
  for (const auto& [watch, slot] : forbidden_) all.insert(watches_[watch]);
  return all;
}

}  // namespace basalt::runtime
