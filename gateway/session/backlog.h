#pragma once

// The changes that one stream has not sent yet: dirty keys, a set whose newest states are read when they are sent, and
// tombstones that are due. Each has a position in one common count, so that the stream knows when everything up to a
// moment has been sent, even while changes never cease. Confined to one loop.
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
  // Marks and queues the key, unless it is marked already.
  void Add(ObjectId id);
  // Marks the key for a queue of the caller's own. Returns false if the key is marked already.
  bool Mark(ObjectId id);
  // Returns false if the key was not marked. Its entry in the queue is skipped.
  bool Unmark(ObjectId id);
  bool IsMarked(ObjectId id) const { return id < marked_.size() && marked_[id]; }
  // Returns the first key in the queue that is still marked; kNoObject if there is none.
  ObjectId First();
  void PopFirst() { queue_.pop_front(); }

  // ---- tombstones ----
  // Queues the tombstone, unless it is due already.
  void Add(const TombstoneKey& key);
  bool HasTombstones() const { return !due_.empty(); }
  const TombstoneKey& FirstTombstone() const { return due_.begin()->second; }
  void PopTombstone();
  void DropTombstones(uint32_t slot);

  // ---- order ----
  // Returns the position of the last addition.
  uint64_t position() const { return position_; }
  // Returns the position of the first one that waits; the largest number there is if nothing waits.
  uint64_t Front();
  int64_t size() const { return count_ + static_cast<int64_t>(due_.size()); }
  // Counts skipped entries, too. Bounded by the number of waiting keys.
  size_t queued() const { return queue_.size(); }

 private:
  static constexpr size_t kSlack = 64;

  void Compact();

  uint64_t position_ = 0;
  std::vector<bool> marked_;
  int64_t count_ = 0;
  std::deque<std::pair<uint64_t, ObjectId>> queue_;  // May contain ids that are not marked any more.
  std::map<uint64_t, TombstoneKey> due_;
  std::map<TombstoneKey, uint64_t> due_positions_;
};

}  // namespace basalt::gateway
