#include "gateway/session/slot_stream.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "gateway/route/object_ref.h"
#include "gateway/route/routes.h"

namespace basalt::gateway {
namespace {

constexpr size_t kMarkBytes = 64;

// Returns the slots that the assignment gives to this replica.
SlotSet GivenBy(const v1::Assignment& assignment, const v1::Member& self) {
  std::vector<std::string_view> replicas;
  std::optional<size_t> own;
  for (const v1::Member& member : assignment.members()) {
    if (member.service() != self.service()) continue;
    if (member.replica() == self.replica() && member.incarnation() == self.incarnation()) own = replicas.size();
    replicas.push_back(member.replica());
  }
  SlotSet given;
  const std::vector<size_t> owners = RendezvousOwners(replicas);
  for (uint32_t slot = 0; slot < owners.size(); ++slot) {
    if (owners[slot] == own) given.Insert(slot);
  }
  return given;
}

}  // namespace

SlotStream::SlotStream(Loop& loop, const Cache& cache, const v1::Member& self, Tombstones& tombstones,
                       absl::Duration progress_interval, std::function<void()> on_waiting)
    : cache_(cache),
      self_(self),
      tombstones_(tombstones),
      on_waiting_(std::move(on_waiting)),
      slots_(kSlotCount),
      marks_(cache, self.service()),
      progress_(loop, backlog_, marks_, progress_interval, on_waiting_) {
  tombstones_.ForgetSent();
  Start();
}

void SlotStream::Start() {
  if (started_ || !marks_.Resolved()) return;
  started_ = true;
  for (const TombstoneKey& key : tombstones_.OfSlot(kBroadcastSlot)) backlog_.Add(key);
  for (const ObjectId id : cache_.Members(self_.service(), kBroadcastSlot)) {
    if (!cache_.IsHeldBack(id)) backlog_.Add(id);
  }
  progress_.Arm();
  on_waiting_();
}

void SlotStream::ForgetCarried(uint32_t slot) {
  for (Carried& carried : carried_) {
    std::erase_if(carried.tombstones, [slot](const TombstoneKey& key) { return key.slot == slot; });
  }
}

void SlotStream::Open(uint32_t slot, int64_t epoch, int64_t records_epoch) {
  Close(slot);
  // The slot may reopen at the same process: acknowledgements of tombstones sent before do not count.
  ForgetCarried(slot);
  slots_[slot] = {.epoch = epoch, .records_epoch = records_epoch, .stage = Stage::kQueued};
  // Slots with old tombstones go first: an object that left one of them may appear in another, and its end comes before
  // that.
  if (tombstones_.HasOfSlot(slot)) {
    to_open_.push_front(slot);
  } else {
    to_open_.push_back(slot);
  }
  on_waiting_();
}

void SlotStream::Close(uint32_t slot) {
  if (slots_[slot].stage == Stage::kClosed) return;
  if (slots_[slot].stage != Stage::kQueued) still_open_there_.insert(slot);
  if (slots_[slot].stage != Stage::kEnded) ForgetCarried(slot);
  slots_[slot] = {};
  std::erase(to_open_, slot);
  std::erase_if(ends_, [slot](const PendingEnd& end) { return end.slot == slot; });
  if (snapshot_slot_ == slot) {
    for (const ObjectId id : snapshot_) {
      // The object may have left the slot, or the id may be another object's by now, which then waits in the queue of
      // its own slot.
      if (backlog_.IsMarked(id) && !cache_.IsBroadcastId(id) && cache_.SlotOfId(id, self_.service()) == slot) {
        backlog_.Unmark(id);
      }
    }
    snapshot_.clear();
    snapshot_slot_.reset();
  }
  backlog_.DropTombstones(slot);
}

void SlotStream::NoteAssignment(const v1::Assignment& assignment) {
  const SlotSet given = GivenBy(assignment, self_);
  std::erase_if(still_open_there_, [&](uint32_t slot) { return !given.Contains(slot); });
}

void SlotStream::OnState(ObjectId id) {
  const uint32_t slot = cache_.IsBroadcastId(id) ? kBroadcastSlot : cache_.SlotOfId(id, self_.service());
  if (!IsBegun(slot)) return;
  backlog_.Add(id);
  on_waiting_();
}

void SlotStream::OnDeparture(ObjectId id, const TombstoneKey& key) {
  backlog_.Unmark(id);
  if (!IsBegun(key.slot)) return;
  backlog_.Add(key);
  on_waiting_();
}

void SlotStream::OnWatch(WatchIndex watch) {
  if (!marks_.Uses(watch)) return;
  if (!started_) return Start();
  progress_.Arm();
}

BatchSource::Waiting SlotStream::waiting() const {
  // While the replica cannot acknowledge, waiting for an acknowledgement would wait for ever.
  const bool is_held_back = marks_.HeldBack();
  return {.over_window = InCourse() || is_held_back,
          .at_once = !started_ || !to_open_.empty() || InCourse() || is_held_back,
          .changes = backlog_.size() + (progress_.waits() ? 1 : 0)};
}

void SlotStream::OnAck(int64_t sequence) {
  while (!carried_.empty() && carried_.front().sequence <= sequence) {
    const Carried& carried = carried_.front();
    for (const TombstoneKey& key : carried.tombstones) tombstones_.Acknowledge(key, carried.sequence);
    for (const auto& [slot, epoch] : carried.begun) {
      const bool is_open = slots_[slot].stage != Stage::kClosed;
      if (is_open && slots_[slot].epoch == epoch) acknowledged_begins_.push_back(slot);
    }
    carried_.pop_front();
  }
}

void SlotStream::Fill(Batch& batch, int64_t sequence, bool window_is_full) {
  if (!started_) return;
  carried_.push_back({.sequence = sequence, .tombstones = {}, .begun = {}});
  const bool snapshots = snapshot_slot_.has_value() || !to_open_.empty();
  AddTombstones(batch);
  AddLive(batch, snapshots ? batch.max_items() / 2 : batch.max_items());
  AddSnapshot(batch, window_is_full);
  AddLive(batch, batch.max_items());
  AddEnds(batch);
  AddProgress(batch);
  if (carried_.back().tombstones.empty() && carried_.back().begun.empty()) carried_.pop_back();
}

void SlotStream::AddTombstones(Batch& batch) {
  while (backlog_.HasTombstones()) {
    const TombstoneKey key = backlog_.FirstTombstone();
    if (!batch.HasRoom(tombstones_.BytesOf(key))) return;
    backlog_.PopTombstone();
    v1::Item item;
    if (!tombstones_.Fill(key, cache_, self_.service(), *item.mutable_tombstone())) continue;
    batch.Add(std::move(item));
    tombstones_.SetSent(key, carried_.back().sequence);
    carried_.back().tombstones.push_back(key);
  }
}

void SlotStream::AddLive(Batch& batch, size_t limit) {
  // A tombstone goes before the states that follow from it: another UID of that name, or the same UID back again.
  if (backlog_.HasTombstones()) return;
  for (ObjectId id = backlog_.First(); id != kNoObject; id = backlog_.First()) {
    if (!batch.HasRoom(cache_.BytesOf(id), limit)) return;
    backlog_.PopFirst();
    AddState(batch, id);
  }
}

void SlotStream::AddState(Batch& batch, ObjectId id) {
  if (!backlog_.Unmark(id)) return;
  const bool broadcast = cache_.IsBroadcastId(id);
  const uint32_t slot = broadcast ? kBroadcastSlot : cache_.SlotOfId(id, self_.service());
  if (!IsBegun(slot)) return;
  const std::string& watch = cache_.watches()[cache_.WatchOf(id)].id;
  const std::string_view key = broadcast ? std::string_view() : cache_.RoutingKeyOf(id, self_.service());
  if (IsReducedFor(self_.service())) {
    kube::v1::Object object = cache_.Read(id);
    ReduceFor(self_.service(), object);
    batch.encoder().AddState(slot, watch, key, object.SerializeAsString());
  } else {
    batch.encoder().AddState(slot, watch, key, cache_.Serialized(id));
  }
}

void SlotStream::AddSnapshot(Batch& batch, bool window_is_full) {
  while (batch.HasRoom(0)) {
    if (!snapshot_slot_.has_value()) {
      // Changes of the broadcast objects and of other slots go first, and the pending ends stay few.
      const bool may_begin = !window_is_full || marks_.HeldBack();
      if (to_open_.empty() || !may_begin || ends_.size() >= batch.max_items()) return;
      BeginSlot(batch);
    }
    AddTombstones(batch);
    if (backlog_.HasTombstones()) return;
    while (!snapshot_.empty()) {
      const ObjectId id = snapshot_.front();
      if (backlog_.IsMarked(id)) {
        if (!batch.HasRoom(cache_.BytesOf(id))) return;
        AddState(batch, id);
      }
      snapshot_.pop_front();
    }
    ends_.push_back({*snapshot_slot_, backlog_.position(), marks_.Now()});
    snapshot_slot_.reset();
    AddEnds(batch);
  }
}

void SlotStream::BeginSlot(Batch& batch) {
  const uint32_t slot = to_open_.front();
  to_open_.pop_front();
  snapshot_slot_ = slot;
  slots_[slot].stage = Stage::kBegun;
  still_open_there_.erase(slot);
  v1::Item item;
  item.mutable_begin()->set_slot(slot);
  item.mutable_begin()->set_epoch(slots_[slot].epoch);
  item.mutable_begin()->set_records_epoch(slots_[slot].records_epoch);
  carried_.back().begun.emplace_back(slot, slots_[slot].epoch);
  batch.Add(std::move(item));
  for (const TombstoneKey& key : tombstones_.OfSlot(slot)) backlog_.Add(key);
  for (const ObjectId id : cache_.Members(self_.service(), slot)) {
    if (!cache_.IsHeldBack(id) && backlog_.Mark(id)) snapshot_.push_back(id);
  }
}

void SlotStream::AddEnds(Batch& batch) {
  while (!ends_.empty() && backlog_.Front() > ends_.front().barrier) {
    PendingEnd& pending = ends_.front();
    if (!batch.HasRoom(pending.marks.size() * kMarkBytes)) return;
    v1::Item item;
    item.mutable_end()->set_slot(pending.slot);
    marks_.NoteEnd(pending.marks);
    const bool forbidden = std::any_of(pending.marks.begin(), pending.marks.end(),
                                       [](const v1::Mark& mark) { return mark.state() == v1::Mark::STATE_FORBIDDEN; });
    if (!forbidden) slots_[pending.slot].stage = Stage::kEnded;
    progress_.Arm();
    for (v1::Mark& mark : pending.marks) *item.mutable_end()->add_marks() = std::move(mark);
    batch.Add(std::move(item));
    ends_.pop_front();
  }
}

void SlotStream::AddProgress(Batch& batch) {
  // The replica would apply the mark to a slot that is still open there, too, of which it is sent nothing until the
  // slot begins anew.
  if (InCourse() || !still_open_there_.empty()) return;
  progress_.AddTo(batch);
}

}  // namespace basalt::gateway
