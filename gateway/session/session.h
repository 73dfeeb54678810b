#pragma once

// The downward half of one replica's stream: decides what to send next, and how much at once.
//
// The assignment goes first. Once every watch that the service uses is resolved, the broadcast objects follow, and then
// one slot after the other: begin, tombstones not yet acknowledged, states, end with marks. Live changes are dirty
// keys, a set: the newest state is read from the cache when a batch is built, so a slow replica costs one bit for each
// object. While a snapshot runs, it and the live changes share each batch.
//
// Order (correctness 1). Dirty keys and tombstones have a position in one count. A mark is taken together with the
// count and is sent when nothing at or before that position is left: everything that the mark covers went before it,
// even when changes never cease. No Progress goes out between a slot's begin and its end.
//
// Flow. One batch is sent at a time (OnSent), and at most `window` of them are unacknowledged. A replica cannot record
// changes of a slot that has not ended, so a slot once begun is brought to its end even over a full window, while no
// other slot begins. Nor can a replica record changes that a forbidden watch holds back: until the replica learns that
// the watch is served, the window does not count.
//
// Confined to one loop. The owner destroys the session when the stream is over, and calls nothing but the destructor
// after Close.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/slot_set.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"
#include "gateway/route/cache.h"
#include "gateway/session/backlog.h"
#include "gateway/session/batch_encoder.h"
#include "gateway/session/sent_marks.h"
#include "gateway/session/tombstones.h"

namespace basalt::gateway {

struct SessionOptions {
  size_t max_items = 128;
  size_t max_bytes = 256 << 10;  // A larger object goes alone.
  int64_t window = 16;
  // With this many batches unacknowledged, a batch that is not full waits for more items: until the replica
  // acknowledges, or for `gather` at most.
  int64_t eager = 2;
  absl::Duration gather = absl::Milliseconds(5);
  absl::Duration progress_interval = absl::Seconds(1);
};

struct InterestKey {
  std::string watch;
  std::string ns;
  std::string name;
  friend auto operator<=>(const InterestKey&, const InterestKey&) = default;
};

class Session {
 public:
  // All references must outlive this object. `tombstones` are those of the replica, which are kept over streams.
  Session(Loop& loop, const Cache& cache, v1::Member self, Tombstones& tombstones, rpc::AttachSink& sink,
          std::function<int64_t()> api_time_ms, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Sends the token of the session as the first item of the stream. Requires: nothing was sent.
  void SetToken(std::string token);
  // ---- what the replica owns ----
  void SetAssignment(const v1::Assignment& assignment);
  // The slot's records must be fetched first. May be called again with another source.
  void Grant(const v1::SlotGrant& grant);
  // Requires: the slots have begun.
  void Send(v1::OrphanedRecords leftovers);
  void OpenSlot(uint32_t slot, int64_t epoch, int64_t records_epoch = 0);
  // Sends nothing of the slot any more; the slot may be opened again. Tombstones of a snapshot that was not brought to
  // its end do not count as recorded, whatever is acknowledged.
  void CloseSlot(uint32_t slot);

  // ---- what changed ----
  void OnState(ObjectId id);
  // The departure is in `tombstones` already, under `key`.
  void OnDeparture(ObjectId id, const TombstoneKey& key);
  void OnHeldBack(ObjectId id) { backlog_.Unmark(id); }
  void OnWatch(WatchIndex watch);
  // Null if there is no such object.
  void OnInterest(const InterestKey& key, std::shared_ptr<const kube::v1::Object> object);
  void DropInterest(const InterestKey& key);

  // ---- what the transport reports ----
  void OnSent();
  // INVALID_ARGUMENT for a sequence that was never sent.
  absl::Status OnAck(int64_t sequence);
  // Returns the slots whose begin has been acknowledged since the last call and that are still open.
  std::vector<uint32_t> TakeBegun() { return std::exchange(acknowledged_begins_, {}); }
  // Ends the stream. Idempotent.
  void Close(const absl::Status& status);

  const v1::Member& self() const { return self_; }
  bool closed() const { return closed_; }
  int64_t sent_sequence() const { return sequence_; }
  int64_t acknowledged_sequence() const { return acknowledged_; }
  int64_t dirty_keys() const { return backlog_.size(); }
  // Returns how long the oldest unacknowledged batch has waited; zero if there is none.
  absl::Duration Lag() const;

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
  struct Sent {
    int64_t sequence;
    absl::Time when;
    std::vector<TombstoneKey> tombstones;
    std::vector<std::pair<uint32_t, int64_t>> begun;  // Slots with their epochs.
  };
  struct PendingEnd {
    uint32_t slot;
    uint64_t barrier;
    std::vector<v1::Mark> marks;
  };
  struct Batch {
    BatchEncoder items;
    std::vector<TombstoneKey> tombstones;
    std::vector<std::pair<uint32_t, int64_t>> begun;
  };

  bool InCourse() const { return snapshot_slot_.has_value() || !ends_.empty(); }
  bool WindowFull() const { return sequence_ - acknowledged_ >= options_.window && !marks_.HeldBack(); }
  bool SlotBegun(uint32_t slot) const {
    return slot == kBroadcastSlot ? started_ : slot < slots_.size() && slots_[slot].stage >= Stage::kBegun;
  }
  void StartStates();
  void ArmProgress();

  void Schedule();
  bool Gathers();
  void Pump();
  bool HasRoom(const Batch& batch, size_t bytes, size_t limit) const;
  Batch Build();
  void AddGrants(Batch& batch);
  void AddLeftovers(Batch& batch);
  void AddInterests(Batch& batch);
  void AddTombstones(Batch& batch);
  void AddLive(Batch& batch, size_t limit);
  void AddSnapshot(Batch& batch);
  void AddEnds(Batch& batch);
  void AddProgress(Batch& batch);
  void AddState(Batch& batch, ObjectId id);
  // Returns the slots that the assignment gives to this replica.
  SlotSet GivenBy(const v1::Assignment& assignment) const;

  Loop& loop_;
  const Cache& cache_;
  const v1::Member self_;
  Tombstones& tombstones_;
  rpc::AttachSink& sink_;
  const std::function<int64_t()> api_time_ms_;
  const SessionOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  bool closed_ = false;
  bool started_ = false;    // Watches are resolved: states flow.
  bool in_flight_ = false;  // A batch is with the transport.
  bool scheduled_ = false;
  int64_t sequence_ = 0;
  int64_t acknowledged_ = 0;
  std::deque<Sent> sent_;

  std::optional<std::string> token_;  // Not sent yet.
  std::optional<v1::Assignment> assignment_;
  std::map<uint32_t, v1::SlotGrant> grants_;   // Not sent yet.
  std::deque<v1::OrphanedRecords> leftovers_;  // Not sent yet; a few for each slot that begins.
  std::vector<uint32_t> acknowledged_begins_;
  std::vector<Slot> slots_;
  // Slots that are closed here, while the replica does not know yet that they were another's. The assignment that took
  // such a slot may have been replaced, before it was sent, by one that gives the slot back. A slot leaves the set when
  // it begins anew, or when an assignment is sent that gives it to another replica.
  std::set<uint32_t> still_open_there_;
  std::deque<uint32_t> to_open_;
  std::optional<uint32_t> snapshot_slot_;
  std::deque<ObjectId> snapshot_;
  std::deque<PendingEnd> ends_;

  Backlog backlog_;
  std::map<InterestKey, std::shared_ptr<const kube::v1::Object>> interests_;
  size_t last_bytes_ = 0;  // The size of the batch before.

  SentMarks marks_;
  std::optional<std::pair<uint64_t, std::vector<v1::Mark>>> progress_;
  absl::Time last_progress_ = absl::InfinitePast();
  TimerId progress_timer_ = kNoTimer;
  TimerId gather_timer_ = kNoTimer;
  bool gathered_ = false;  // The waiting changes have waited long enough.
};

}  // namespace basalt::gateway
