#include "common/watch/watch_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"

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

// Adds the change behind all events that wait, and drops the waiting event of the same object.
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

void WatchHub::FollowLag(Subscription& s, uint32_t slot, const Subscription::Slot& state) {
  if (state.lags()) {
    s.lagging_.insert(slot);
  } else {
    s.lagging_.erase(slot);
  }
  s.lags_.store(!s.lagging_.empty(), std::memory_order_relaxed);
}

void WatchHub::DropAll(Subscription& s, uint32_t slot) {
  for (auto item = s.items_.begin(); item != s.items_.end();) {
    const auto next = std::next(item);
    if (item->second.published->slot == slot) Drop(s, item);
    item = next;
  }
}

// Drops the waiting events of the slot, which come again with its page.
void WatchHub::FallBehind(Subscription& s, uint32_t slot, Subscription::Slot& state) {
  DropAll(s, slot);
  state.state = SlotState::kBehind;
  state.added = state.sent;
  FollowLag(s, slot, state);
  ++s.not_live_;
  s.behind_.push_back(slot);
}

void WatchHub::AskAgain(Subscription& s, uint32_t slot, Subscription::Slot& state) {
  state.state = SlotState::kBehind;
  s.behind_.push_back(slot);
  Notify(s);
}

void WatchHub::Move(Subscription& s, uint32_t slot) {
  const auto it = s.slots_.find(slot);
  if (it == s.slots_.end()) return;
  DropAll(s, slot);
  if (it->second.state != SlotState::kLive) --s.not_live_;
  std::erase(s.behind_, slot);
  FollowLag(s, slot, {});
  s.slots_.erase(it);
  s.moved_.push_back(slot);
  Notify(s);
}

std::shared_ptr<const Published> WatchHub::Share(Published change, const std::function<Message()>& make) {
  if (shared_.size() >= sweep_at_) {
    std::erase_if(shared_, [](const auto& known) { return known.second.expired(); });
    sweep_at_ = 2 * shared_.size() + kPage;
  }
  std::weak_ptr<const Published>& known = shared_[change.key];
  std::shared_ptr<const Published> published = known.lock();
  if (published == nullptr || published->position != change.position) {
    change.message = make();
    if (change.message == nullptr) return nullptr;
    published = std::make_shared<const Published>(std::move(change));
    known = published;
  }
  return published;
}

void WatchHub::Distribute(const Published& change, const std::function<Message()>& make) {
  MutexLock lock(mutex_);
  std::shared_ptr<const Published> published;
  for (const auto& subscription : subscriptions_) {
    Subscription& s = *subscription;
    const auto it = s.slots_.find(change.slot);
    if (it == s.slots_.end()) continue;
    Subscription::Slot& slot = it->second;
    if (slot.state == SlotState::kLive) slot.newest = change.position;
    FollowLag(s, change.slot, slot);
    if (!s.Wants(change.key)) continue;
    if (slot.state == SlotState::kUnpublished) AskAgain(s, change.slot, slot);
    if (slot.state != SlotState::kLive) continue;
    if (!s.HasRoomFor(change.key)) {
      FallBehind(s, change.slot, slot);
      continue;
    }
    if (published == nullptr) published = Share(change, make);
    if (published == nullptr) continue;
    Add(s, published, /*snapshot=*/false);
    Notify(s);
  }
}

void WatchHub::Publish(uint32_t slot, WatchPosition position, const std::string& key,
                       const std::function<Message()>& make) {
  Distribute({slot, position, key, /*deleted=*/false, nullptr}, make);
}

void WatchHub::PublishDeleted(uint32_t slot, WatchPosition position, const std::string& key,
                              const std::function<Message()>& make) {
  Distribute({slot, position, key, /*deleted=*/true, nullptr}, make);
}

void WatchHub::DropUnpublished(uint32_t slot, const std::string& key) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    const auto it = subscription->slots_.find(slot);
    if (it == subscription->slots_.end() || !subscription->Wants(key)) continue;
    if (it->second.state == SlotState::kUnpublished) AskAgain(*subscription, slot, it->second);
  }
}

void WatchHub::Close(uint32_t slot) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) Move(*subscription, slot);
}

absl::StatusOr<WatchHub::SubscriptionPtr> WatchHub::Subscribe(std::string ns, std::string name,
                                                              const std::map<uint32_t, WatchPosition>& slots,
                                                              std::function<void()> notify) {
  auto subscription = std::make_shared<Subscription>(std::move(ns), std::move(name));
  for (const auto& [slot, known] : slots) {
    subscription->slots_[slot] = {.sent = known, .added = known};
    subscription->behind_.push_back(slot);
  }
  subscription->not_live_ = slots.size();
  subscription->notify_ = std::move(notify);
  MutexLock lock(mutex_);
  if (subscriptions_.size() >= max_watches_) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        fmt::format("{} watches are open, and a replica has no more (--max_watches): end some of them, or "
                    "raise it",
                    subscriptions_.size()));
  }
  subscriptions_.insert(subscription);
  return subscription;
}

void WatchHub::WantProgress(const SubscriptionPtr& subscription) {
  if (!subscription->lags_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  const auto has_progress = [&s](uint32_t slot) { return s.slots_.at(slot).waiting == 0; };
  if (!s.sent_synced_ || std::none_of(s.lagging_.begin(), s.lagging_.end(), has_progress)) return;
  s.progress_due_ = true;
  Notify(s);
}

// If no event of a slot waits, the subscriber knows all changes up to the newest one, or does not want them.
void WatchHub::AddPositions(Subscription& s, WatchEvent& event) {
  std::vector<uint32_t> slots(s.lagging_.begin(), s.lagging_.end());
  if (!s.sent_synced_) {
    slots.clear();
    for (const auto& [slot, state] : s.slots_) slots.push_back(slot);
  }
  for (const uint32_t slot : slots) {
    Subscription::Slot& state = s.slots_.at(slot);
    if (state.state != SlotState::kLive || state.waiting > 0 || state.newest.revision == 0) continue;
    state.sent = state.newest;
    event.positions.emplace_back(slot, state.sent);
    FollowLag(s, slot, state);
  }
}

std::optional<WatchEvent> WatchHub::Take(const SubscriptionPtr& subscription) {
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
  if (!s.sent_synced_ && s.not_live_ == 0 && s.snapshot_items_ == 0) {
    event.type = WatchEvent::Type::kSynced;
    AddPositions(s, event);
    s.sent_synced_ = true;
    return event;
  }
  if (!s.items_.empty()) {
    const auto item = s.items_.begin();
    event.published = item->second.published;
    event.type = event.published->deleted ? WatchEvent::Type::kDeleted : WatchEvent::Type::kState;
    Subscription::Slot& slot = s.slots_[event.published->slot];
    slot.sent = event.published->position;
    FollowLag(s, event.published->slot, slot);
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

void WatchHub::Unsubscribe(const SubscriptionPtr& subscription) {
  MutexLock lock(mutex_);
  subscriptions_.erase(subscription);
}

size_t WatchHub::watches() const {
  MutexLock lock(mutex_);
  return subscriptions_.size();
}

size_t WatchHub::waiting() const {
  MutexLock lock(mutex_);
  size_t waiting = 0;
  for (const auto& subscription : subscriptions_) waiting += subscription->items_.size();
  return waiting;
}

}  // namespace basalt::watch
