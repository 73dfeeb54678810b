#pragma once

// The objects on one replica's stream: which states, tombstones and marks are sent next.
//
// Once every watch that the service uses is resolved, the broadcast objects come, and then one slot after the other:
// begin, tombstones not yet acknowledged, states, end with marks. Live changes are dirty keys, a set: the newest state
// is read from the cache when a batch is filled, so a slow replica costs one bit for each object. While a snapshot
// runs, it and the live changes share each batch.
//
// Order (correctness 1). Dirty keys and tombstones have a position in one count. A mark is taken together with the
// count and is sent when nothing at or before that position is left: everything that the mark covers went before it,
// even when changes never cease. No Progress goes out between a slot's begin and its end.
//
// Window. A replica cannot record changes of a slot that has not ended, so a slot once begun is brought to its end even
// over a full window, while no other slot begins. Nor can a replica record changes that a forbidden watch holds back:
// until the replica learns that the watch is served, the window does not count.
//
// Confined to one loop.
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/exec/loop.h"
#include "gateway/route/cache.h"
#include "gateway/session/backlog.h"
#include "gateway/session/batch.h"
#include "gateway/session/progress.h"
#include "gateway/session/sender.h"
#include "gateway/session/sent_marks.h"
#include "gateway/session/tombstones.h"

namespace basalt::gateway {

class SlotStream {
 public:
  // All references must outlive this object. `tombstones` are those of the replica. `on_waiting` is called when
  // something waits to be sent.
  SlotStream(Loop& loop, const Cache& cache, const v1::Member& self, Tombstones& tombstones,
             absl::Duration progress_interval, std::function<void()> on_waiting);

  // ---- what the replica owns ----
  void Open(uint32_t slot, int64_t epoch, int64_t records_epoch);
  void Close(uint32_t slot);
  // The assignment goes out with the next batch.
  void NoteAssignment(const v1::Assignment& assignment);

  // ---- what changed ----
  void OnState(ObjectId id);
  void OnDeparture(ObjectId id, const TombstoneKey& key);
  void OnHeldBack(ObjectId id) { backlog_.Unmark(id); }
  void OnWatch(WatchIndex watch);

  // ---- what is sent ----
  BatchSource::Waiting waiting() const;
  void Fill(Batch& batch, int64_t sequence, bool window_is_full);
  void OnAck(int64_t sequence);
  // Returns the slots whose begin has been acknowledged since the last call and that are still open.
  std::vector<uint32_t> TakeBegun() { return std::exchange(acknowledged_begins_, {}); }
  int64_t dirty_keys() const { return backlog_.size(); }

 private:
  // How much of a slot has been put into batches.
  enum class Stage {
    kClosed,
    kQueued,  // No part of the slot.
    kBegun,   // The slot's begin; or its end, if a watch of it is forbidden.
    kEnded,   // The slot's end, with no watch forbidden: the replica acts on the slot's changes.
  };
  struct Slot {
    int64_t epoch = 0;
    int64_t records_epoch = 0;
    Stage stage = Stage::kClosed;
  };
  struct PendingEnd {
    uint32_t slot;
    uint64_t barrier;
    std::vector<v1::Mark> marks;
  };
  // The part of an unacknowledged batch that its acknowledgement concerns.
  struct Carried {
    int64_t sequence;
    std::vector<TombstoneKey> tombstones;
    std::vector<std::pair<uint32_t, int64_t>> begun;  // Slots with their epochs.
  };

  bool InCourse() const { return snapshot_slot_.has_value() || !ends_.empty(); }
  bool IsBegun(uint32_t slot) const {
    return slot == kBroadcastSlot ? started_ : slot < slots_.size() && slots_[slot].stage >= Stage::kBegun;
  }
  void Start();
  void ForgetCarried(uint32_t slot);
  void AddTombstones(Batch& batch);
  void AddLive(Batch& batch, size_t limit);
  void AddSnapshot(Batch& batch, bool window_is_full);
  void BeginSlot(Batch& batch);
  void AddEnds(Batch& batch);
  void AddProgress(Batch& batch);
  void AddState(Batch& batch, ObjectId id);

  const Cache& cache_;
  const v1::Member& self_;
  Tombstones& tombstones_;
  const std::function<void()> on_waiting_;

  bool started_ = false;  // Watches are resolved: states flow.
  std::vector<Slot> slots_;
  // Slots that are closed here, while the replica does not know yet that they were another's. The assignment that took
  // such a slot may have been replaced, before it was sent, by one that gives the slot back. A slot leaves the set when
  // it begins anew, or when an assignment is sent that gives it to another replica.
  std::set<uint32_t> still_open_there_;
  std::deque<uint32_t> to_open_;
  std::optional<uint32_t> snapshot_slot_;
  std::deque<ObjectId> snapshot_;
  std::deque<PendingEnd> ends_;
  std::deque<Carried> carried_;
  std::vector<uint32_t> acknowledged_begins_;

  Backlog backlog_;
  SentMarks marks_;
  Progress progress_;
};

}  // namespace basalt::gateway
