#pragma once

// The downward half of one replica's stream. It brings three parts together: the items of no slot's content (Outbox),
// the objects (SlotStream), and when the next batch goes out (Sender).
//
// Confined to one loop. The owner destroys the session when the stream is over, and calls nothing but the destructor
// after Close.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/exec/loop.h"
#include "common/rpc/peers.h"
#include "gateway/route/cache.h"
#include "gateway/session/outbox.h"
#include "gateway/session/sender.h"
#include "gateway/session/session_options.h"
#include "gateway/session/slot_stream.h"
#include "gateway/session/tombstones.h"

namespace basalt::gateway {

class Session : private BatchSource {
 public:
  // All references must outlive this object. `tombstones` are those of the replica, which are kept over streams.
  Session(Loop& loop, const Cache& cache, v1::Member self, Tombstones& tombstones, rpc::AttachSink& sink,
          std::function<int64_t()> api_time_ms, const SessionOptions& options = {});

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
  void OnHeldBack(ObjectId id) { slots_.OnHeldBack(id); }
  void OnWatch(WatchIndex watch);
  // Null if there is no such object.
  void OnInterest(const InterestKey& key, std::shared_ptr<const kube::v1::Object> object);
  void DropInterest(const InterestKey& key) { outbox_.DropInterest(key); }

  // ---- what the transport reports ----
  void OnSent() { sender_.OnSent(); }
  // INVALID_ARGUMENT for a sequence that was never sent.
  absl::Status OnAck(int64_t sequence);
  // Returns the slots whose begin has been acknowledged since the last call and that are still open.
  std::vector<uint32_t> TakeBegun() { return slots_.TakeBegun(); }
  // Ends the stream. Idempotent.
  void Close(const absl::Status& status) { sender_.Close(status); }

  const v1::Member& self() const { return self_; }
  int64_t sent_sequence() const { return sender_.sequence(); }
  int64_t acknowledged_sequence() const { return sender_.acknowledged(); }
  int64_t dirty_keys() const { return slots_.dirty_keys(); }
  // Returns how long the oldest unacknowledged batch has waited; zero if there is none.
  absl::Duration Lag() const { return sender_.Lag(); }

 private:
  Waiting waiting() const override;
  void Fill(Batch& batch, int64_t sequence, bool window_is_full) override;

  const v1::Member self_;
  Outbox outbox_;
  Sender sender_;
  SlotStream slots_;
};

}  // namespace basalt::gateway
