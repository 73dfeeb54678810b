#include "gateway/session/tombstones.h"

#include <algorithm>
#include <utility>

#include "gateway/route/object_ref.h"

namespace basalt::gateway {

TombstoneKey Tombstones::Add(const Departure& departure) {
  TombstoneKey key{departure.slot, departure.watch, departure.uid};
  Entry entry{.routing_key = departure.routing_key,
              .reason = departure.reason,
              .last = departure.last,
              .seen_version = departure.seen_version};
  if (const auto it = entries_.find(key); it != entries_.end()) {
    if (it->second.reason == v1::Tombstone::REASON_DELETED) entry.reason = v1::Tombstone::REASON_DELETED;
    Erase(it);
  }
  Keep(key, std::move(entry));
  return key;
}

void Tombstones::Keep(const TombstoneKey& key, Entry entry) {
  entry.bytes = entry.last->ByteSizeLong();
  if (over_bound_ == OverBound::kForget && (entry.state_dropped || bytes_ + entry.bytes > bound_bytes_)) return;
  if (!entry.state_dropped && bytes_ + entry.bytes > bound_bytes_) {
    entry.last = std::make_shared<const kube::v1::Object>(IdentityOf(*entry.last));
    entry.bytes = entry.last->ByteSizeLong();
    entry.state_dropped = true;
  }
  bytes_ += entry.bytes;
  entries_[key] = std::move(entry);
}

Tombstones::Entries::iterator Tombstones::Erase(Entries::iterator it) {
  bytes_ -= it->second.bytes;
  return entries_.erase(it);
}

void Tombstones::MoveSlot(uint32_t slot, Tombstones& to) {
  for (auto it = entries_.lower_bound({slot, 0, ""}); it != entries_.end() && it->first.slot == slot;) {
    Entry entry = it->second;
    entry.sent_sequence = 0;
    to.Keep(it->first, std::move(entry));
    it = Erase(it);
  }
}

void Tombstones::Clear() {
  entries_.clear();
  bytes_ = 0;
}

std::vector<TombstoneKey> Tombstones::OfSlot(uint32_t slot) const {
  std::vector<std::pair<int64_t, TombstoneKey>> seen;
  for (auto it = entries_.lower_bound({slot, 0, ""}); it != entries_.end() && it->first.slot == slot; ++it) {
    seen.emplace_back(it->second.seen_version, it->first);
  }
  std::sort(seen.begin(), seen.end());
  std::vector<TombstoneKey> keys;
  keys.reserve(seen.size());
  for (auto& [version, key] : seen) keys.push_back(std::move(key));
  return keys;
}

bool Tombstones::HasOfSlot(uint32_t slot) const {
  const auto it = entries_.lower_bound({slot, 0, ""});
  return it != entries_.end() && it->first.slot == slot;
}

bool Tombstones::Fill(const TombstoneKey& key, const Cache& cache, v1::ServiceKind service, v1::Tombstone& out) const {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return false;
  const Entry& entry = it->second;
  out.set_slot(key.slot);
  out.set_watch(cache.watches()[key.watch].id);
  out.set_routing_key(entry.routing_key);
  out.set_reason(entry.reason);
  *out.mutable_last() = *entry.last;
  ReduceFor(service, *out.mutable_last());
  out.set_state_dropped(entry.state_dropped);
  out.set_observed_version(entry.seen_version);
  return true;
}

size_t Tombstones::BytesOf(const TombstoneKey& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? 0 : it->second.bytes;
}

void Tombstones::SetSent(const TombstoneKey& key, int64_t sequence) {
  if (const auto it = entries_.find(key); it != entries_.end()) it->second.sent_sequence = sequence;
}

void Tombstones::Acknowledge(const TombstoneKey& key, int64_t sequence) {
  if (const auto it = entries_.find(key); it != entries_.end() && it->second.sent_sequence == sequence) Erase(it);
}

void Tombstones::ForgetSent() {
  for (auto& [key, entry] : entries_) entry.sent_sequence = 0;
}

}  // namespace basalt::gateway
