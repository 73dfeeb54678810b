#include "common/watch/watch_hub.h"

#include <algorithm>
#include <utility>

namespace basalt::watch {

void WatchHub::Notify(Subscription& subscription) {
  if (subscription.notified_) return;
  subscription.notified_ = true;
  subscription.notify_();
}

void WatchHub::Drop(Subscription& s, std::map<uint64_t, Subscription::Item>::iterator item) {
  if (item->second.snapshot) --s.snapshot_items_;
  --s.slots_[item->second.published->slot].waiting;
  s.by_key_.erase(item->second.published->key);
  s.items_.erase(item);
}

// Behind everything that waits: what was waiting of the object is not needed any more.
void WatchHub::Add(Subscription& s, std::shared_ptr<const Published> published, bool snapshot) {
  if (const auto known = s.by_key_.find(published->key); known != s.by_key_.end()) {
    const auto item = s.items_.find(known->second);
    snapshot |= item->second.snapshot;
    Drop(s, item);
  }
  if (snapshot) ++s.snapshot_items_;
  ++s.slots_[published->slot].waiting;
  const uint64_t id = s.next_item_++;
  s.by_key_.emplace(published->key, id);
  s.items_.emplace(id, Subscription::Item{snapshot, std::move(published)});
}

void WatchHub::Tell(const Published& change, const std::function<Message()>& make) {
  MutexLock lock(mutex_);
  std::shared_ptr<Published> published;
  for (const auto& subscription : subscriptions_) {
    const auto told = subscription->slots_.find(change.slot);
    if (told == subscription->slots_.end()) continue;
    told->second.newest = change.position;
    if (!subscription->Wants(change.key)) continue;
    if (published == nullptr) {
      published = std::make_shared<Published>(change);
      published->message = make();
    }
    const bool in_snapshot = subscription->unpublished_.erase(change.key) > 0;
    Add(*subscription, published, in_snapshot);
    Notify(*subscription);
  }
}

void WatchHub::Publish(uint32_t slot, WatchPosition position, const std::string& key,
                       const std::function<Message()>& make) {
  Tell({slot, position, key, /*deleted=*/false, nullptr}, make);
}

void WatchHub::PublishDeleted(uint32_t slot, WatchPosition position, const std::string& key,
                              const std::function<Message()>& make) {
  Tell({slot, position, key, /*deleted=*/true, nullptr}, make);
}

void WatchHub::DropUnpublished(uint32_t slot, const std::string& key) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    if (subscription->slots_.contains(slot) && subscription->unpublished_.erase(key) > 0) Notify(*subscription);
  }
}

void WatchHub::Close(uint32_t slot) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    Subscription& s = *subscription;
    if (!s.slots_.contains(slot)) continue;
    for (auto item = s.items_.begin(); item != s.items_.end();) {
      const auto next = std::next(item);
      if (item->second.published->slot == slot) Drop(s, item);
      item = next;
    }
    std::erase_if(s.unpublished_, [slot](const auto& unpublished) { return unpublished.second == slot; });
    s.slots_.erase(slot);
    s.moved_.push_back(slot);
    Notify(s);
  }
}

std::shared_ptr<WatchHub::Subscription> WatchHub::Subscribe(std::string ns, std::string name, size_t parts,
                                                            std::function<void()> notify) {
  auto subscription = std::make_shared<Subscription>(std::move(ns), std::move(name));
  subscription->parts_ = parts;
  subscription->notify_ = std::move(notify);
  MutexLock lock(mutex_);
  subscriptions_.insert(subscription);
  return subscription;
}

void WatchHub::Begin(const std::shared_ptr<Subscription>& subscription, uint32_t slot, WatchPosition since,
                     WatchPosition newest, bool reset, Snapshot snapshot) {
  MutexLock lock(mutex_);
  if (!subscriptions_.contains(subscription)) return;
  Subscription& s = *subscription;
  s.slots_[slot] = {.told = since, .newest = newest};
  if (reset) s.resets_.push_back(slot);
  if (reset || !snapshot.published.empty()) Notify(s);
  for (Published& published : snapshot.published) Add(s, std::make_shared<Published>(std::move(published)), true);
  for (std::string& key : snapshot.unpublished) s.unpublished_.emplace(std::move(key), slot);
}

void WatchHub::Refuse(const std::shared_ptr<Subscription>& subscription, uint32_t slot) {
  MutexLock lock(mutex_);
  subscription->moved_.push_back(slot);
  Notify(*subscription);
}

void WatchHub::PartDone(const std::shared_ptr<Subscription>& subscription) {
  MutexLock lock(mutex_);
  --subscription->parts_;
  Notify(*subscription);
}

void WatchHub::WantProgress(const std::shared_ptr<Subscription>& subscription) {
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  if (!s.told_synced_ || std::all_of(s.slots_.begin(), s.slots_.end(), [](const auto& slot) {
        return slot.second.waiting > 0 || slot.second.told_newest();
      })) {
    return;
  }
  s.progress_due_ = true;
  Notify(s);
}

// Where nothing waits, everything up to the newest change is known, or not wanted.
void WatchHub::AddPositions(Subscription& s, WatchEvent& event) {
  for (auto& [slot, state] : s.slots_) {
    if (state.waiting > 0 || state.newest.revision == 0) continue;
    if (s.told_synced_ && state.told_newest()) continue;
    state.told = state.newest;
    event.positions.emplace_back(slot, state.told);
  }
}

std::optional<WatchEvent> WatchHub::Take(const std::shared_ptr<Subscription>& subscription) {
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  WatchEvent event{};
  if (!s.moved_.empty()) {
    event.type = WatchEvent::Type::kMoved;
    event.slots = std::exchange(s.moved_, {});
    return event;
  }
  if (!s.resets_.empty()) {
    event.type = WatchEvent::Type::kReset;
    event.slots = std::exchange(s.resets_, {});
    return event;
  }
  if (s.parts_ == 0 && s.snapshot_items_ == 0 && s.unpublished_.empty() && !s.told_synced_) {
    event.type = WatchEvent::Type::kSynced;
    AddPositions(s, event);
    s.told_synced_ = true;
    return event;
  }
  if (!s.items_.empty()) {
    const auto item = s.items_.begin();
    event.published = item->second.published;
    event.type = event.published->deleted ? WatchEvent::Type::kDeleted : WatchEvent::Type::kState;
    s.slots_[event.published->slot].told = event.published->position;
    Drop(s, item);
    return event;
  }
  if (std::exchange(s.progress_due_, false)) {
    event.type = WatchEvent::Type::kProgress;
    AddPositions(s, event);
    return event;
  }
  s.notified_ = false;
  return std::nullopt;
}

void WatchHub::Unsubscribe(const std::shared_ptr<Subscription>& subscription) {
  MutexLock lock(mutex_);
  subscriptions_.erase(subscription);
}

size_t WatchHub::watches() const {
  MutexLock lock(mutex_);
  return subscriptions_.size();
}

}  // namespace basalt::watch
