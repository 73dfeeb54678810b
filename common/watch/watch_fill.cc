// Brings a subscriber the changes of slots that are behind: in pages, from the owners of the slots.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/watch/watch_hub.h"

namespace basalt::watch {

std::vector<std::vector<uint32_t>> WatchHub::StartFill(const SubscriptionPtr& subscription, size_t workers) {
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  // The subscriber can take the rest, half a page at most, while the owners make the next page.
  if (s.behind_.empty() || s.filling_ > 0 || s.items_.size() > kPage / 2) return {};
  std::vector<std::vector<uint32_t>> slots(workers);
  for (const uint32_t slot : s.behind_) {
    std::vector<uint32_t>& mine = slots[slot % workers];
    if (mine.empty()) ++s.filling_;
    mine.push_back(slot);
  }
  return slots;
}

std::optional<WatchPosition> WatchHub::Since(const SubscriptionPtr& subscription, uint32_t slot) const {
  MutexLock lock(mutex_);
  const Subscription& s = *subscription;
  const auto it = s.slots_.find(slot);
  if (!subscriptions_.contains(subscription) || it == s.slots_.end()) return std::nullopt;
  if (it->second.state != SlotState::kBehind || s.items_.size() >= kPage) return std::nullopt;
  return it->second.added;
}

void WatchHub::Fill(const SubscriptionPtr& subscription, uint32_t slot, WatchPosition newest, bool reset,
                    const Snapshot& snapshot) {
  MutexLock lock(mutex_);
  Subscription& s = *subscription;
  const auto it = s.slots_.find(slot);
  if (!subscriptions_.contains(subscription) || it == s.slots_.end()) return;
  Subscription::Slot& state = it->second;
  if (state.state != SlotState::kBehind) return;
  if (reset) {
    DropAll(s, slot);
    s.resets_.push_back(slot);
    s.sent_synced_ = false;
    state.sent = {};
    state.added = {};
  }
  if (state.added.revision == 0) state.base = newest.revision;
  for (const Snapshot::Item& item : snapshot.items) {
    if (state.Needs(item)) {
      if (!s.HasRoomFor(item.key)) return;
      std::shared_ptr<const Published> published =
          Share({slot, item.position, item.key, item.deleted, nullptr}, item.make);
      if (published != nullptr) Add(s, std::move(published), /*snapshot=*/true);
    }
    state.added = item.position;
  }
  std::erase(s.behind_, slot);
  if (snapshot.unpublished) {
    state.state = SlotState::kUnpublished;
    return;
  }
  state.state = SlotState::kLive;
  state.newest = newest;
  FollowLag(s, slot, state);
  --s.not_live_;
}

void WatchHub::Refuse(const SubscriptionPtr& subscription, uint32_t slot) {
  MutexLock lock(mutex_);
  if (subscriptions_.contains(subscription)) Move(*subscription, slot);
}

void WatchHub::FillDone(const SubscriptionPtr& subscription) {
  MutexLock lock(mutex_);
  --subscription->filling_;
  if (subscriptions_.contains(subscription)) Notify(*subscription);
}

}  // namespace basalt::watch
