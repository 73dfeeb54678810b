#include "services/jobsvc/api/watch/watch_hub.h"

#include <algorithm>
#include <utility>

#include "common/watch/watch_token.h"

namespace basalt::jobsvc {

using job::v1::WatchPartResponse;

void WatchHub::Notify(Subscription& subscription) {
  if (subscription.notified_) return;
  subscription.notified_ = true;
  subscription.notify_();
}

void WatchHub::Drop(Subscription& s, std::map<uint64_t, Subscription::Item>::iterator item) {
  if (item->second.snapshot) --s.snapshot_items_;
  --s.slots_[item->second.slot].waiting;
  s.by_key_.erase(item->second.shown.key);
  s.items_.erase(item);
}

// Behind everything that waits: what was waiting of the job is not needed any more.
void WatchHub::Add(Subscription& s, uint32_t slot, Shown shown, bool snapshot) {
  if (const auto known = s.by_key_.find(shown.key); known != s.by_key_.end()) {
    const auto item = s.items_.find(known->second);
    snapshot |= item->second.snapshot;
    Drop(s, item);
  }
  if (snapshot) ++s.snapshot_items_;
  ++s.slots_[slot].waiting;
  const uint64_t id = s.next_item_++;
  s.by_key_.emplace(shown.key, id);
  s.items_.emplace(id, Subscription::Item{slot, snapshot, std::move(shown)});
}

void WatchHub::Publish(uint32_t slot, WatchPosition position, const std::string& key,
                       const std::function<job::v1::Job()>& make) {
  MutexLock lock(mutex_);
  std::shared_ptr<const job::v1::Job> job;
  for (const auto& subscription : subscriptions_) {
    const auto told = subscription->slots_.find(slot);
    if (told == subscription->slots_.end()) continue;
    told->second.newest = position;
    if (!subscription->Wants(key)) continue;
    if (job == nullptr) job = std::make_shared<job::v1::Job>(make());
    const bool in_snapshot = subscription->unseen_.erase(key) > 0;
    Add(*subscription, slot, {position, key, false, job}, in_snapshot);
    Notify(*subscription);
  }
}

void WatchHub::PublishGone(uint32_t slot, WatchPosition position, const std::string& key, const job::v1::Job& last) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    const auto told = subscription->slots_.find(slot);
    if (told == subscription->slots_.end()) continue;
    told->second.newest = position;
    if (!subscription->Wants(key)) continue;
    Add(*subscription, slot, {position, key, true, std::make_shared<job::v1::Job>(last)}, false);
    Notify(*subscription);
  }
}

void WatchHub::PublishUnseen(uint32_t slot, const std::string& key) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    if (subscription->slots_.contains(slot) && subscription->unseen_.erase(key) > 0) Notify(*subscription);
  }
}

void WatchHub::Close(uint32_t slot) {
  MutexLock lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    Subscription& s = *subscription;
    if (!s.slots_.contains(slot)) continue;
    for (auto item = s.items_.begin(); item != s.items_.end();) {
      const auto next = std::next(item);
      if (item->second.slot == slot) Drop(s, item);
      item = next;
    }
    std::erase_if(s.unseen_, [slot](const auto& unseen) { return unseen.second == slot; });
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
  for (Shown& shown : snapshot.shown) Add(s, slot, std::move(shown), true);
  for (std::string& key : snapshot.unseen) s.unseen_.emplace(std::move(key), slot);
  if (reset || !snapshot.shown.empty()) Notify(s);
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
void WatchHub::AddPositions(Subscription& s, WatchPartResponse* response) {
  for (auto& [slot, state] : s.slots_) {
    if (state.waiting > 0 || state.newest.revision == 0) continue;
    if (s.told_synced_ && state.told_newest()) continue;
    state.told = state.newest;
    *response->add_positions() = watch::ToMessage(slot, state.told);
  }
}

bool WatchHub::Take(const std::shared_ptr<Subscription>& subscription, WatchPartResponse* response) {
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  if (!s.moved_.empty()) {
    response->set_type(WatchPartResponse::TYPE_MOVED);
    for (const uint32_t slot : std::exchange(s.moved_, {})) response->add_slots(slot);
    return true;
  }
  if (!s.resets_.empty()) {
    response->set_type(WatchPartResponse::TYPE_RESET);
    for (const uint32_t slot : std::exchange(s.resets_, {})) response->add_slots(slot);
    return true;
  }
  if (s.parts_ == 0 && s.snapshot_items_ == 0 && s.unseen_.empty() && !s.told_synced_) {
    response->set_type(WatchPartResponse::TYPE_SYNCED);
    AddPositions(s, response);
    s.told_synced_ = true;
    return true;
  }
  if (!s.items_.empty()) {
    const auto item = s.items_.begin();
    const uint32_t slot = item->second.slot;
    const Shown& shown = item->second.shown;
    response->set_type(shown.gone ? WatchPartResponse::TYPE_DELETED : WatchPartResponse::TYPE_STATE);
    *response->mutable_job() = *shown.job;
    *response->mutable_position() = watch::ToMessage(slot, shown.position);
    s.slots_[slot].told = shown.position;
    Drop(s, item);
    return true;
  }
  if (std::exchange(s.progress_due_, false)) {
    response->set_type(WatchPartResponse::TYPE_PROGRESS);
    AddPositions(s, response);
    return true;
  }
  s.notified_ = false;
  return false;
}

void WatchHub::Unsubscribe(const std::shared_ptr<Subscription>& subscription) {
  MutexLock lock(mutex_);
  subscriptions_.erase(subscription);
}

size_t WatchHub::watches() const {
  MutexLock lock(mutex_);
  return subscriptions_.size();
}

}  // namespace basalt::jobsvc
