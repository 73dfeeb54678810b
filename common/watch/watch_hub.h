#pragma once

// Sends the newest states of a service's objects to the subscribers that watch them at this replica. A slow subscriber
// gets fewer states, but never older ones, and uses limited memory. Thread-safe.
//
// A subscriber gets the changes of each slot in the order of revisions: after an event with a position, it knows all
// changes up to this position. So a watch can go on from any event, here or at the next owner of the slot.
//
// The order limits the memory of a subscriber, too. While a slot is live for a subscriber, each change waits from its
// publication on. While the slot is behind, its owner is called for a page of the changes after the last event, again
// and again as the subscriber takes events. A change that exceeds the limit puts its slot behind. So at most a page
// waits, and all subscribers share the message of a state.
//
// A subscriber that begins a slot with nothing, at first or after a reset, gets no deletions from before that time, on
// any page: its snapshot does not have these objects. A subscriber that goes on from a position gets all deletions
// since then, also of objects whose state it never got.
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
  // Null if the object is gone by now. The state is not sent then; the change of the object's end follows.
  using Message = std::shared_ptr<const google::protobuf::Message>;

  static constexpr size_t kPage = 128;          // Limits the events that wait for one subscriber.
  static constexpr size_t kMaxWatches = 1'000;  // The default limit of subscriptions.

  // The states and deletions of a slot after a position.
  struct Snapshot {
    struct Item {
      WatchPosition position;
      std::string key;
      bool deleted = false;
      std::function<Message()> make;  // Fill calls it if no subscriber has the message. Must not call back.
    };
    std::vector<Item> items;   // The oldest item is first.
    bool unpublished = false;  // Whether the slot has objects that their first pass will publish.
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
      bool snapshot = false;  // Whether kSynced waits for the item.
      std::shared_ptr<const Published> published;
    };
    struct Slot {
      enum class State {
        kBehind,       // The owner of the slot has to be called for a page.
        kUnpublished,  // All published changes wait. The owner has to be called again once another object is published.
        kLive
      };
      State state = State::kBehind;
      WatchPosition sent;    // The position of the last event that was taken.
      WatchPosition added;   // The position of the last event that waits or was taken. Is used until the slot is live.
      WatchPosition newest;  // The position of the last change, wanted or not. Is used once the slot is live.
      int64_t base = 0;      // The slot's revision when the subscriber began with nothing. 0 if it began at a position.
      size_t waiting = 0;
      // Returns whether the slot has a newer position than the last event.
      bool lags() const { return state == State::kLive && newest.revision != 0 && sent != newest; }
      bool Needs(const Snapshot::Item& item) const { return !item.deleted || item.position.revision > base; }
    };
    bool HasRoomFor(const std::string& key) const { return items_.size() < kPage || by_key_.contains(key); }

    const std::string ns_;
    const std::string name_;
    std::function<void()> notify_;  // Is called when there is an event to Take, and not again until Take finds none.
    bool notified_ = false;
    std::map<uint32_t, Slot> slots_;  // The slots whose changes are sent.
    std::deque<uint32_t> behind_;     // The slots that are behind, in the order in which their owners are called.
    std::set<uint32_t> lagging_;      // The slots that lag.
    std::atomic<bool> lags_ = false;  // Whether a slot lags, for readers that do not hold the hub's mutex.
    size_t not_live_ = 0;             // The number of slots that are not live.
    size_t filling_ = 0;              // The number of workers that make pages at present.
    size_t snapshot_items_ = 0;       // The number of snapshot items that are not taken yet.
    bool sent_synced_ = false;
    bool progress_due_ = false;
    uint64_t next_item_ = 1;
    std::map<uint64_t, Item> items_;  // Has the newest change of each key, in the order of the changes.
    std::unordered_map<std::string, uint64_t> by_key_;
    std::vector<uint32_t> resets_;
    std::vector<uint32_t> moved_;
  };
  using SubscriptionPtr = std::shared_ptr<Subscription>;

  explicit WatchHub(size_t max_watches = kMaxWatches) : max_watches_(max_watches) {}

  // Publishes a change of an object. `make` is called only if a subscriber wants the change, and must not call back.
  // The slot's owner calls this.
  void Publish(uint32_t slot, WatchPosition position, const std::string& key, const std::function<Message()>& make)
      BASALT_EXCLUDES(mutex_);
  void PublishDeleted(uint32_t slot, WatchPosition position, const std::string& key,
                      const std::function<Message()>& make) BASALT_EXCLUDES(mutex_);
  // Drops an object that has gone before it was published.
  void DropUnpublished(uint32_t slot, const std::string& key) BASALT_EXCLUDES(mutex_);
  // Ends the slot for all subscribers, since this replica does not have the slot any more.
  void Close(uint32_t slot) BASALT_EXCLUDES(mutex_);

  // `slots` are the slots to send, each with the position that the subscriber has. A position without a revision means
  // that the subscriber begins with nothing. RESOURCE_EXHAUSTED if the limit of subscriptions is reached.
  absl::StatusOr<SubscriptionPtr> Subscribe(std::string ns, std::string name,
                                            const std::map<uint32_t, WatchPosition>& slots,
                                            std::function<void()> notify) BASALT_EXCLUDES(mutex_);
  // Returns the slots that are behind, by worker (slot modulo `workers`). Empty while more than half a page waits or a
  // worker makes a page. Each worker with slots calls Since and Fill, or Refuse, for each slot, then FillDone. The
  // caller calls StartFill after Subscribe and after each Take.
  std::vector<std::vector<uint32_t>> StartFill(const SubscriptionPtr& subscription, size_t workers)
      BASALT_EXCLUDES(mutex_);
  // Returns the position after which the slot has to be filled. Nullopt if the slot needs no page now. Runs on the loop
  // that publishes for the slot, as Fill does.
  std::optional<WatchPosition> Since(const SubscriptionPtr& subscription, uint32_t slot) const BASALT_EXCLUDES(mutex_);
  // Adds items up to the limit of a page. Once all items are added, the slot is live and changes follow. kSynced waits
  // for all slots. `newest` is the slot's position. `reset` is true if the subscriber's position is not known here;
  // then the snapshot has all objects.
  void Fill(const SubscriptionPtr& subscription, uint32_t slot, WatchPosition newest, bool reset,
            const Snapshot& snapshot) BASALT_EXCLUDES(mutex_);
  // Ends the slot for the subscriber, since this replica does not have the slot, or not yet.
  void Refuse(const SubscriptionPtr& subscription, uint32_t slot) BASALT_EXCLUDES(mutex_);
  void FillDone(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  // Requests a kProgress with the newest positions, if there were changes that the subscriber does not want. Without
  // such changes the call costs next to nothing, and takes no lock.
  void WantProgress(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  // Returns the next event. Nullopt if no event waits; `notify` will be called when one does.
  std::optional<WatchEvent> Take(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  void Unsubscribe(const SubscriptionPtr& subscription) BASALT_EXCLUDES(mutex_);
  size_t watches() const BASALT_EXCLUDES(mutex_);
  // Returns the number of events that wait, over all subscriptions.
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
  // Updates `lagging_`. Is called after each change of the slot's positions or state.
  static void FollowLag(Subscription& subscription, uint32_t slot, const Subscription::Slot& state);
  static void AddPositions(Subscription& subscription, WatchEvent& event);
  void Distribute(const Published& change, const std::function<Message()>& make) BASALT_EXCLUDES(mutex_);
  std::shared_ptr<const Published> Share(Published change, const std::function<Message()>& make)
      BASALT_REQUIRES(mutex_);

  const size_t max_watches_;
  mutable Mutex mutex_;
  std::set<SubscriptionPtr> subscriptions_ BASALT_GUARDED_BY(mutex_);
  // The newest change of each key, while a subscriber has it.
  std::unordered_map<std::string, std::weak_ptr<const Published>> shared_ BASALT_GUARDED_BY(mutex_);
  // The size of `shared_` at which its expired entries are dropped.
  size_t sweep_at_ BASALT_GUARDED_BY(mutex_) = kPage;
};

}  // namespace basalt::watch
