#pragma once

// Newest states of a service's objects for those who watch them at this replica: a subscriber that is slow gets fewer
// states, never older ones, and costs bounded memory. Thread-safe.
//
// Of each slot a subscriber is told in the order of revisions: whoever has taken an event with a position in, knows
// everything up to it. So a watch can go on from any event, here or at the next owner of the slot.
#include <cstdint>
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

#include "common/base/mutex.h"
#include "common/kube/object_key.h"
#include "common/watch/watch_event.h"
#include "common/watch/watch_position.h"

namespace basalt::watch {

class WatchHub {
 public:
  using Message = std::shared_ptr<const google::protobuf::Message>;

  // What there is of a slot.
  struct Snapshot {
    std::vector<Published> published;      // Oldest first.
    std::vector<std::string> unpublished;  // Keys of objects that are there and will be published by their first pass.
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
      WatchPosition told;    // Of the last event that was taken.
      WatchPosition newest;  // Of the last change, wanted or not.
      size_t waiting = 0;
      bool told_newest() const { return told == newest; }
    };
    const std::string ns_;
    const std::string name_;
    std::function<void()> notify_;  // There is something to Take; called once until it was taken.
    bool notified_ = false;
    size_t parts_ = 0;                                       // Workers that have not told of their slots yet.
    size_t snapshot_items_ = 0;                              // Of the snapshot, not taken yet.
    std::unordered_map<std::string, uint32_t> unpublished_;  // Of the snapshot: their slots, by key.
    bool told_synced_ = false;
    bool progress_due_ = false;
    uint64_t next_item_ = 1;
    std::map<uint64_t, Item> items_;  // In the order of change; the newest of each key only.
    std::unordered_map<std::string, uint64_t> by_key_;
    std::map<uint32_t, Slot> slots_;  // Those that are told of.
    std::vector<uint32_t> resets_;
    std::vector<uint32_t> moved_;
  };

  // An object has changed. `make` is called only if somebody watches; it must not call back. By the slot's owner.
  void Publish(uint32_t slot, WatchPosition position, const std::string& key, const std::function<Message()>& make)
      BASALT_EXCLUDES(mutex_);
  void PublishDeleted(uint32_t slot, WatchPosition position, const std::string& key,
                      const std::function<Message()>& make) BASALT_EXCLUDES(mutex_);
  // An object that may be in a snapshot as unpublished has gone before it was published.
  void DropUnpublished(uint32_t slot, const std::string& key) BASALT_EXCLUDES(mutex_);
  // The slot is this replica's no more.
  void Close(uint32_t slot) BASALT_EXCLUDES(mutex_);

  // Nothing is told of a slot before its Begin. `parts`: how many times PartDone will be called.
  std::shared_ptr<Subscription> Subscribe(std::string ns, std::string name, size_t parts, std::function<void()> notify)
      BASALT_EXCLUDES(mutex_);
  // On the loop that publishes for the slot: what there is; changes follow. kSynced waits for all of it. `since`: what
  // the subscriber knows already. `reset`: what it was told before is not known here.
  void Begin(const std::shared_ptr<Subscription>& subscription, uint32_t slot, WatchPosition since,
             WatchPosition newest, bool reset, Snapshot snapshot) BASALT_EXCLUDES(mutex_);
  // The slot is not here, or not yet.
  void Refuse(const std::shared_ptr<Subscription>& subscription, uint32_t slot) BASALT_EXCLUDES(mutex_);
  void PartDone(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  // If something has changed that the subscriber does not want, kProgress will say how far it is.
  void WantProgress(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  // Nothing is waiting: `notify` will be called when there is.
  std::optional<WatchEvent> Take(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  void Unsubscribe(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  size_t watches() const BASALT_EXCLUDES(mutex_);

 private:
  static void Notify(Subscription& subscription);
  static void Add(Subscription& subscription, std::shared_ptr<const Published> published, bool snapshot);
  static void Drop(Subscription& subscription, std::map<uint64_t, Subscription::Item>::iterator item);
  static void AddPositions(Subscription& subscription, WatchEvent& event);
  void Tell(const Published& change, const std::function<Message()>& make) BASALT_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::set<std::shared_ptr<Subscription>> subscriptions_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::watch
