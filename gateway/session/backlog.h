#pragma once

// What has changed and has not been sent, for one stream: dirty keys, a set whose newest states are read when they are
// sent, and tombstones that are due. Each has a position in one count, so that "all up to here has been sent" can be
// said of a moment while changes never cease. Confined to one loop.
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "gateway/route/cache.h"
#include "gateway/session/tombstones.h"

namespace basalt::gateway {

class Backlog {
 public:
  // ---- dirty keys ----
  // Marks and queues it, unless it is marked already.
  void Add(ObjectId id);
  // Marks it for a queue of the caller's own. False: it is marked already.
  bool Mark(ObjectId id);
  // False: it was not marked. What is queued under it is skipped.
  bool Unmark(ObjectId id);
  bool IsMarked(ObjectId id) const { return id < marked_.size() && marked_[id]; }
  // The first one in the queue that is marked still; kNoObject = none.
  ObjectId First();
  void PopFirst() { queue_.pop_front(); }

  // ---- tombstones ----
  // Unless it is due already.
  void Add(const TombstoneKey& key);
  bool HasTombstones() const { return !due_.empty(); }
  const TombstoneKey& FirstTombstone() const { return due_.begin()->second; }
  void PopTombstone();
  void DropTombstones(uint32_t slot);

  // ---- order ----
  // Of what was added last.
  uint64_t position() const { return position_; }
  // Of the first that waits; the largest number there is where nothing waits.
  uint64_t Front();
  int64_t size() const { return count_ + static_cast<int64_t>(due_.size()); }
  size_t queued() const { return queue_.size(); }  // With what is skipped: bounded by what waits.

 private:
  static constexpr size_t kSlack = 64;

  void Compact();

  uint64_t position_ = 0;
  std::vector<bool> marked_;
  int64_t count_ = 0;
  std::deque<std::pair<uint64_t, ObjectId>> queue_;  // May name ids that are not marked any more.
  std::map<uint64_t, TombstoneKey> due_;
  std::map<TombstoneKey, uint64_t> due_positions_;
};

}  // namespace basalt::gateway
