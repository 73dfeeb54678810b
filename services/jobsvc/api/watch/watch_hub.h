#pragma once

// Newest states of jobs for those who watch them at this replica: a subscriber that is slow gets fewer states, never
// older ones, and costs bounded memory. Thread-safe.
//
// Of each slot a subscriber is told in the order of revisions: whoever has taken a message with a position in, knows
// everything up to it. So a watch can go on from any message, here or at the next owner of the slot.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "basalt/job/v1/job_part.pb.h"
#include "common/base/mutex.h"
#include "common/kube/object_key.h"
#include "common/watch/watch_position.h"

namespace basalt::jobsvc {

using watch::WatchPosition;

class WatchHub {
 public:
  // One job in a snapshot.
  struct Shown {
    WatchPosition position;
    std::string key;
    bool gone = false;
    std::shared_ptr<const job::v1::Job> job;
  };

  // What there is of a slot.
  struct Snapshot {
    std::vector<Shown> shown;         // Oldest first.
    std::vector<std::string> unseen;  // Keys of jobs that are there and will be shown by their first pass.
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
      uint32_t slot = 0;
      bool snapshot = false;  // SYNCED waits for it.
      Shown shown;
    };
    struct Slot {
      WatchPosition told;    // Of the last message that was taken.
      WatchPosition newest;  // Of the last change, wanted or not.
      size_t waiting = 0;
      bool told_newest() const { return told == newest; }
    };
    const std::string ns_;
    const std::string name_;
    std::function<void()> notify_;  // There is something to Take; called once until it was taken.
    bool notified_ = false;
    size_t parts_ = 0;                                  // Workers that have not told of their slots yet.
    size_t snapshot_items_ = 0;                         // Of the snapshot, not taken yet.
    std::unordered_map<std::string, uint32_t> unseen_;  // Of the snapshot, not shown yet: their slots, by key.
    bool told_synced_ = false;
    bool progress_due_ = false;
    uint64_t next_item_ = 1;
    std::map<uint64_t, Item> items_;  // In the order of change; the newest of each job only.
    std::unordered_map<std::string, uint64_t> by_key_;
    std::map<uint32_t, Slot> slots_;  // Those that are told of.
    std::vector<uint32_t> resets_;
    std::vector<uint32_t> moved_;
  };

  // A job has changed. `make` is called only if somebody watches; it must not call back. By the slot's owner.
  void Publish(uint32_t slot, WatchPosition position, const std::string& key, const std::function<job::v1::Job()>& make)
      BASALT_EXCLUDES(mutex_);
  void PublishGone(uint32_t slot, WatchPosition position, const std::string& key, const job::v1::Job& last)
      BASALT_EXCLUDES(mutex_);
  // A job that may be in a snapshot as unseen has gone before it was shown.
  void PublishUnseen(uint32_t slot, const std::string& key) BASALT_EXCLUDES(mutex_);
  // The slot is this replica's no more.
  void Close(uint32_t slot) BASALT_EXCLUDES(mutex_);

  // Nothing is told of a slot before its Begin. `parts`: how many times PartDone will be called.
  std::shared_ptr<Subscription> Subscribe(std::string ns, std::string name, size_t parts, std::function<void()> notify)
      BASALT_EXCLUDES(mutex_);
  // On the loop that publishes for the slot: what there is; changes follow. SYNCED waits for all of it. `since`: what
  // the subscriber knows already. `reset`: what it was told before is not known here.
  void Begin(const std::shared_ptr<Subscription>& subscription, uint32_t slot, WatchPosition since,
             WatchPosition newest, bool reset, Snapshot snapshot) BASALT_EXCLUDES(mutex_);
  // The slot is not here, or not yet.
  void Refuse(const std::shared_ptr<Subscription>& subscription, uint32_t slot) BASALT_EXCLUDES(mutex_);
  void PartDone(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  // If something has changed that the subscriber does not want, PROGRESS will say how far it is.
  void WantProgress(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  // False: nothing is waiting; `notify` will be called when there is.
  bool Take(const std::shared_ptr<Subscription>& subscription, job::v1::WatchPartResponse* response)
      BASALT_EXCLUDES(mutex_);
  void Unsubscribe(const std::shared_ptr<Subscription>& subscription) BASALT_EXCLUDES(mutex_);
  size_t watches() const BASALT_EXCLUDES(mutex_);

 private:
  static void Notify(Subscription& subscription);
  static void Add(Subscription& subscription, uint32_t slot, Shown shown, bool snapshot);
  static void Drop(Subscription& subscription, std::map<uint64_t, Subscription::Item>::iterator item);
  static void AddPositions(Subscription& subscription, job::v1::WatchPartResponse* response);

  mutable Mutex mutex_;
  std::set<std::shared_ptr<Subscription>> subscriptions_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::jobsvc
