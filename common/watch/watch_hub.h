#pragma once

// Newest states of a service's objects for those who watch them at this replica: a subscriber that is slow gets fewer
// states, never older ones, and costs bounded memory. Thread-safe.
//
// Of each slot a subscriber gets the changes in the order of revisions: whoever has taken an event with a position in,
// knows everything up to it. So a watch can go on from any event, here or at the next owner of the slot.
//
// That bounds the memory of a subscriber, too. A slot is live for it, and a change waits as soon as it is published; or
// it is behind, and its owner is asked for a page of what came after the last event, again and again as there is room.
// A change that finds no room puts its slot behind. So no more than a page waits, and all who watch one state hold the
// same message.
//
// Who begins a slot with nothing, at first or after a reset, is not told of what had been deleted by then, on whichever
// page it would be: its snapshot had none of these objects. Who goes on from a position is told of all deletions since,
// also of objects that it was never told of.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/kube/object_key.h"
#include "common/watch/watch_event.h"
#include "common/watch/watch_position.h"

namespace basalt::watch {

class WatchHub {
 public:
  // Null: the object is gone by now, and nothing is told of that state; the change of its end follows.
  using Message = std::shared_ptr<const google::protobuf::Message>;

  static constexpr size_t kPage = 128;          // Events that wait for one subscriber, at most.
  static constexpr size_t kMaxWatches = 1'000;  // Unless it is said.

  // The states and deletions of a slot after a position.
  struct Snapshot {
    struct Item {
      WatchPosition position;
      std::string key;
      bool deleted = false;
      std::function<Message()> make;  // Called within Fill if nobody else has the message; must not call back.
    };
    std::vector<Item> items;   // Oldest first.
    bool unpublished = false;  // Objects are there that will be published by their first pass.
  };

  class Subscription {
   public:
    Subscription(std::string ns, std::string name) : ns_(std::move(ns)), name_(std::move(name)) {}
    bool Wants(std::string_view key) const {
      const auto [ns, name] = kube::SplitKey(key);
      return (ns_.empty() || ns == ns_) && (name_.empty() || name == name_);
    }

   private:
    friend class WatchHub;
    struct Item {
      bool snapshot = false;  // kSynced waits for it.
      std::shared_ptr<const Published> published;
    };
    struct Slot {
      enum class State {
        kBehind,       // Its owner is to be asked.
        kUnpublished,  // What is published waits; its owner is to be asked again once another object is.
        kLive
      };
      State state = State::kBehind;
      WatchPosition sent;    // Of the last event that was taken.
      WatchPosition added;   // Of the last event that waits or was taken, until it is live.
      WatchPosition newest;  // Of the last change, wanted or not, once it is live.
      int64_t base = 0;      // The revision of the slot when it was begun with nothing; 0: it went on from a position.
      size_t waiting = 0;
      // Whether there is a newer position than the last event's.
      bool lags() const { return state == State::kLive && newest.revision != 0 && sent != newest; }
      bool Needs(const Snapshot::Item& item) const { return !item.deleted || item.position.revision > base; }
    };
    bool HasRoomFor(const std::string& key) const { return items_.size() < kPage || by_key_.contains(key); }

    const std::string ns_;
    const std::string name_;
    std::function<void()> notify_;  // There is something to Take; called once until it was taken.
    bool notified_ = false;
    std::map<uint32_t, Slot> slots_;  // Those whose changes are sent.
    std::deque<uint32_t> behind_;     // Of these, in the order in which their owners are asked.
    std::set<uint32_t> lagging_;      // Of these.
    std::atomic<bool> lags_ = false;  // Whether there are any, for who does not hold the hub's mutex.
    size_t not_live_ = 0;             // Of these.
    size_t filling_ = 0;              // Owners that are being asked.
    size_t snapshot_items_ = 0;       // Not taken yet.
    bool sent_synced_ = false;
    bool progress_due_ = false;
    uint64_t next_item_ = 1;
    std::map<uint64_t, Item> items_;  // In the order of change; the newest of each key only.
    std::unordered_map<std::string, uint64_t> by_key_;
    std::vector<uint32_t> resets_;
    std::vector<uint32_t> moved_;
  };
  using SubscriptionPtr = std::shared_ptr<Subscription>;

  explicit WatchHub(size_t max_watches = kMaxWatches) : max_watches_(max_watches) {}

  // An object has changed. `make` is called only if somebody watches; it must not call back. By the slot's owner.
  void Publish(uint32_t slot, WatchPosition position, const std::string& key, const std::function<Message()>& make)
      BASALT_EXCLUDES(mutex_);
  void PublishDeleted(uint32_t slot, WatchPosition position, const std::string& key,
                      const std::function<Message()>& make) BASALT_EXCLUDES(mutex_);
  // An object has gone before it was published.
  void DropUnpublished(uint32_t slot, const std::string& key) BASALT_EXCLUDES(mutex_);
  // The slot is this replica's no more.
  void Close(uint32_t slot) BASALT_EXCLUDES(mutex_);

  // `slots`: what is to be sent, and what the subscriber knows of each; a position without a revision: nothing.
  // RESOURCE_EXHAUSTED: there are as many subscriptions as there may be.
  absl::StatusOr<SubscriptionPtr> Subscribe(std::string ns, std::string name,
                                            const std::map<uint32_t, WatchPosition>& slots,
                                            std::function<void()> notify) BASALT_EXCLUDES(mutex_);
  // The slots that are behind, by worker (slot modulo `workers`); none while there is no room or a worker is being
  // asked. Each worker that has some calls Since and Fill, or Refuse, for each of them, then FillDone. To be called
  // after Subscribe and each Take.
  std::vector<std::vector<uint32_t>> StartFill(const SubscriptionPtr& subscription, size_t workers)
      BASALT_EXCLUDES(mutex_);
  // On the loop that publishes for the slot, as Fill: after which position it is to be filled. None: not now.
  std::optional<WatchPosition> Since(const SubscriptionPtr& subscription, uint32_t slot) const BASALT_EXCLUDES(mutex_);
  // Adds as much as there is room for; once that is all, changes follow. kSynced waits for all slots. `newest`: the
  // slot's position. `reset`: the position is not known here, the snapshot is of everything.
  void Fill(const SubscriptionPtr& subscription, uint32_t slot, WatchPosition newest, bool reset,
            const Snapshot& snapshot) BASALT_EXCLUDES(mutex_);
  // The slot is not here, or not yet.
  void Refuse(const SubscriptionPtr& subscription, uint32_t slot) BASALT_EXCLUDES(mutex_);
  void FillDone(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  // If something has changed that the subscriber does not want, kProgress will say how far it is. Where nothing has,
  // the call costs next to nothing, and waits for nobody.
  void WantProgress(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  // Nothing is waiting: `notify` will be called when there is.
  std::optional<WatchEvent> Take(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  void Unsubscribe(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  size_t watches() const BASALT_EXCLUDES(mutex_);
  // Events that wait to be taken, of all subscriptions.
  size_t waiting() const BASALT_EXCLUDES(mutex_);

 private:
  using SlotState = Subscription::Slot::State;

  static void Notify(Subscription& subscription);
  static void Add(Subscription& subscription, std::shared_ptr<const Published> published, bool snapshot);
  static void Drop(Subscription& subscription, std::map<uint64_t, Subscription::Item>::iterator item);
  static void DropAll(Subscription& subscription, uint32_t slot);
  static void FallBehind(Subscription& subscription, uint32_t slot, Subscription::Slot& state);
  static void AskAgain(Subscription& subscription, uint32_t slot, Subscription::Slot& state);
  static void Move(Subscription& subscription, uint32_t slot);
  // After each change of its positions or its state.
  static void FollowLag(Subscription& subscription, uint32_t slot, const Subscription::Slot& state);
  static void AddPositions(Subscription& subscription, WatchEvent& event);
  void Tell(const Published& change, const std::function<Message()>& make) BASALT_EXCLUDES(mutex_);
  std::shared_ptr<const Published> Share(Published change, const std::function<Message()>& make)
      BASALT_REQUIRES(mutex_);

  const size_t max_watches_;
  mutable Mutex mutex_;
  std::set<SubscriptionPtr> subscriptions_ BASALT_GUARDED_BY(mutex_);
  // The newest that was made of each key, for as long as somebody has it.
  std::unordered_map<std::string, std::weak_ptr<const Published>> shared_ BASALT_GUARDED_BY(mutex_);
  size_t sweep_at_ BASALT_GUARDED_BY(mutex_) = kPage;  // How many of them there are when those that ended are dropped.
};

}  // namespace basalt::watch
