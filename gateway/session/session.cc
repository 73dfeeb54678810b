#include "gateway/session/session.h"

#include <utility>

namespace basalt::gateway {

Session::Session(Loop& loop, const Cache& cache, v1::Member self, Tombstones& tombstones, rpc::AttachSink& sink,
                 std::function<int64_t()> api_time_ms, const SessionOptions& options)
    : self_(std::move(self)),
      sender_(loop, sink, std::move(api_time_ms), options, *this),
      slots_(loop, cache, self_, tombstones, options.progress_interval, [this] { sender_.Schedule(); }) {}

void Session::SetToken(std::string token) {
  outbox_.SetToken(std::move(token));
  sender_.Schedule();
}

void Session::SetAssignment(const v1::Assignment& assignment) {
  outbox_.SetAssignment(assignment);
  sender_.Schedule();
}

void Session::Grant(const v1::SlotGrant& grant) {
  outbox_.SetGrant(grant);
  sender_.Schedule();
}

void Session::Send(v1::OrphanedRecords leftovers) {
  outbox_.Add(std::move(leftovers));
  sender_.Schedule();
}

void Session::OpenSlot(uint32_t slot, int64_t epoch, int64_t records_epoch) {
  outbox_.DropGrant(slot);
  slots_.Open(slot, epoch, records_epoch);
}

void Session::CloseSlot(uint32_t slot) {
  outbox_.DropGrant(slot);
  slots_.Close(slot);
}

void Session::OnState(ObjectId id) {
  if (!sender_.closed()) slots_.OnState(id);
}

void Session::OnDeparture(ObjectId id, const TombstoneKey& key) {
  if (!sender_.closed()) slots_.OnDeparture(id, key);
}

void Session::OnWatch(WatchIndex watch) {
  if (!sender_.closed()) slots_.OnWatch(watch);
}

void Session::OnInterest(const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
  if (sender_.closed()) return;
  outbox_.SetInterest(key, std::move(object));
  sender_.Schedule();
}

absl::Status Session::OnAck(int64_t sequence) {
  absl::Status status = sender_.OnAck(sequence);
  if (status.ok()) slots_.OnAck(sequence);
  return status;
}

BatchSource::Waiting Session::waiting() const {
  Waiting waiting = slots_.waiting();
  waiting.at_once |= !outbox_.empty();
  return waiting;
}

void Session::Fill(Batch& batch, int64_t sequence, bool window_is_full) {
  if (const v1::Assignment* assignment = outbox_.assignment()) slots_.NoteAssignment(*assignment);
  outbox_.MoveTo(batch);
  slots_.Fill(batch, sequence, window_is_full);
}

}  // namespace basalt::gateway
