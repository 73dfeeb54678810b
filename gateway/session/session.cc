#include "gateway/session/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/base/status.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

// Of an item around its object: slot, watch, key.
constexpr size_t kItemOverhead = 96;
constexpr size_t kMarkBytes = 64;

}  // namespace

Session::Session(Loop& loop, const Cache& cache, v1::Member self, Tombstones& tombstones, rpc::AttachSink& sink,
                 std::function<absl::Time()> api_now, SessionOptions options)
    : loop_(loop),
      cache_(cache),
      self_(std::move(self)),
      tombstones_(tombstones),
      sink_(sink),
      api_now_(std::move(api_now)),
      options_(options),
      told_marks_(cache.watches().size()) {
  tombstones_.ForgetSent();
  StartStates();
}

Session::~Session() {
  *alive_ = false;
  loop_.Cancel(progress_timer_);
}

bool Session::WatchesResolved() const {
  return std::all_of(cache_.watches().begin(), cache_.watches().end(),
                     [&](const WatchInfo& watch) { return watch.resolved() || !Uses(self_.service(), watch.id); });
}

void Session::StartStates() {
  if (started_ || !WatchesResolved()) return;
  started_ = true;
  for (const TombstoneKey& key : tombstones_.OfSlot(kBroadcastSlot)) EnqueueTombstone(key);
  for (const ObjectId id : cache_.Members(self_.service(), kBroadcastSlot)) Enqueue(id);
  ArmProgress();
  Schedule();
}

void Session::SetAssignment(const v1::Assignment& assignment) {
  assignment_ = assignment;
  Schedule();
}

void Session::OpenSlot(uint32_t slot, int64_t epoch) {
  CloseSlot(slot);
  slots_[slot] = {.epoch = epoch};
  // Slots with old tombstones first: what left one of them may be shown by another, and the end comes before that.
  if (tombstones_.OfSlot(slot).empty()) {
    to_open_.push_back(slot);
  } else {
    to_open_.push_front(slot);
  }
  Schedule();
}

void Session::CloseSlot(uint32_t slot) {
  const auto it = slots_.find(slot);
  if (it == slots_.end()) return;
  slots_.erase(it);
  std::erase(to_open_, slot);
  std::erase_if(ends_, [slot](const PendingEnd& end) { return end.slot == slot; });
  if (snapshot_slot_ == slot) {
    for (const ObjectId id : snapshot_) ClearDirty(id);
    snapshot_.clear();
    snapshot_slot_.reset();
  }
  for (auto due = due_.begin(); due != due_.end();) {
    if (due->second.slot == slot) {
      due_positions_.erase(due->second);
      due = due_.erase(due);
    } else {
      ++due;
    }
  }
}

bool Session::SlotBegun(uint32_t slot) const {
  if (slot == kBroadcastSlot) return started_;
  const auto it = slots_.find(slot);
  return it != slots_.end() && it->second.begun;
}

bool Session::SetDirty(ObjectId id) {
  if (dirty_.size() <= id) dirty_.resize(std::max<size_t>(cache_.id_bound(), id + 1));
  if (dirty_[id]) return false;
  dirty_[id] = true;
  ++dirty_count_;
  return true;
}

bool Session::ClearDirty(ObjectId id) {
  if (id >= dirty_.size() || !dirty_[id]) return false;
  dirty_[id] = false;
  --dirty_count_;
  return true;
}

void Session::Enqueue(ObjectId id) {
  if (SetDirty(id)) live_.emplace_back(++position_, id);
}

void Session::EnqueueTombstone(const TombstoneKey& key) {
  if (due_positions_.contains(key)) return;
  due_positions_[key] = ++position_;
  due_[position_] = key;
}

void Session::OnState(ObjectId id) {
  const uint32_t slot = cache_.IsBroadcastId(id) ? kBroadcastSlot : cache_.SlotOfId(id, self_.service());
  if (closed_ || !SlotBegun(slot)) return;
  Enqueue(id);
  Schedule();
}

void Session::OnDeparture(ObjectId id, const TombstoneKey& key) {
  ClearDirty(id);
  if (closed_ || !SlotBegun(key.slot)) return;
  EnqueueTombstone(key);
  Schedule();
}

void Session::OnWatch(WatchIndex watch) {
  if (closed_ || !Uses(self_.service(), cache_.watches()[watch].id)) return;
  if (!started_) return StartStates();
  ArmProgress();
}

void Session::OnInterest(const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
  if (closed_) return;
  interests_[key] = std::move(object);
  Schedule();
}

void Session::DropInterest(const InterestKey& key) { interests_.erase(key); }

void Session::OnSent() {
  in_flight_ = false;
  Schedule();
}

absl::Status Session::OnAck(int64_t sequence) {
  if (sequence > sequence_) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      fmt::format("batch {} is acknowledged, but only {} were sent", sequence, sequence_));
  }
  acknowledged_ = std::max(acknowledged_, sequence);
  while (!sent_.empty() && sent_.front().sequence <= sequence) {
    for (const TombstoneKey& key : sent_.front().tombstones) tombstones_.Acknowledge(key, sent_.front().sequence);
    sent_.pop_front();
  }
  Schedule();
  return absl::OkStatus();
}

void Session::Close(const absl::Status& status) {
  if (closed_) return;
  closed_ = true;
  sink_.Close(status);
}

absl::Duration Session::Lag() const { return sent_.empty() ? absl::ZeroDuration() : loop_.Now() - sent_.front().when; }

std::vector<v1::Mark> Session::Marks() const {
  std::vector<v1::Mark> marks;
  for (const WatchInfo& watch : cache_.watches()) {
    if (!Uses(self_.service(), watch.id)) continue;
    v1::Mark& mark = marks.emplace_back();
    mark.set_watch(watch.id);
    mark.set_resource_version(watch.resource_version);
    mark.set_state(watch.state);
  }
  return marks;
}

bool Session::MarksMoved() const {
  for (size_t i = 0; i < cache_.watches().size(); ++i) {
    const WatchInfo& watch = cache_.watches()[i];
    if (Uses(self_.service(), watch.id) && told_marks_[i] != std::pair(watch.resource_version, watch.state))
      return true;
  }
  return false;
}

bool Session::HeldBack() const {
  for (size_t i = 0; i < cache_.watches().size(); ++i) {
    const WatchInfo& watch = cache_.watches()[i];
    if (!Uses(self_.service(), watch.id)) continue;
    if (watch.state == v1::Mark::STATE_FORBIDDEN || told_marks_[i].second == v1::Mark::STATE_FORBIDDEN) return true;
  }
  return false;
}

void Session::ArmProgress() {
  if (closed_ || !started_ || progress_timer_ != kNoTimer || progress_.has_value() || !MarksMoved()) return;
  // Never inside the change itself: the rest of what came with it is taken along.
  const absl::Time when = std::max(loop_.Now(), last_progress_ + options_.progress_interval);
  progress_timer_ = loop_.RunAt(when, [this, alive = alive_] {
    if (!*alive) return;
    progress_timer_ = kNoTimer;
    progress_.emplace(position_, Marks());
    Schedule();
  });
}

uint64_t Session::FrontPosition() {
  while (!live_.empty() && !dirty_[live_.front().second]) live_.pop_front();
  uint64_t front = std::numeric_limits<uint64_t>::max();
  if (!live_.empty()) front = live_.front().first;
  if (!due_.empty()) front = std::min(front, due_.begin()->first);
  return front;
}

void Session::Schedule() {
  if (scheduled_ || closed_) return;
  scheduled_ = true;
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    scheduled_ = false;
    Pump();
  });
}

void Session::Pump() {
  if (closed_ || in_flight_) return;
  if (WindowFull() && !InCourse()) return;
  Batch batch = Build();
  if (batch.message.items_size() == 0) return;
  batch.message.set_sequence(++sequence_);
  batch.message.set_api_time_ms(absl::ToUnixMillis(api_now_()));
  for (const TombstoneKey& key : batch.tombstones) tombstones_.SetSent(key, sequence_);
  sent_.push_back({sequence_, loop_.Now(), std::move(batch.tombstones)});
  in_flight_ = true;
  sink_.Send(std::move(batch.message));
}

bool Session::HasRoom(const Batch& batch, size_t bytes, size_t limit) const {
  const auto items = static_cast<size_t>(batch.message.items_size());
  return items == 0 || (items < limit && batch.bytes + bytes + kItemOverhead <= options_.max_bytes);
}

Session::Batch Session::Build() {
  Batch batch;
  if (assignment_.has_value()) {
    batch.bytes += assignment_->ByteSizeLong();
    *batch.message.add_items()->mutable_assignment() = *std::move(assignment_);
    assignment_.reset();
  }
  AddInterests(batch);
  if (!started_) return batch;
  const bool snapshots = snapshot_slot_.has_value() || !to_open_.empty();
  AddTombstones(batch);
  AddLive(batch, snapshots ? options_.max_items / 2 : options_.max_items);
  AddSnapshot(batch);
  AddLive(batch, options_.max_items);
  AddEnds(batch);
  AddProgress(batch);
  return batch;
}

void Session::AddInterests(Batch& batch) {
  while (!interests_.empty()) {
    const auto& [key, object] = *interests_.begin();
    const size_t bytes = object ? object->ByteSizeLong() : 0;
    if (!HasRoom(batch, bytes, options_.max_items)) return;
    v1::Item& item = *batch.message.add_items();
    if (object) {
      v1::ObjectState& state = *item.mutable_state();
      state.set_slot(kBroadcastSlot);
      state.set_watch(key.watch);
      state.set_routing_key(KeyOf(key.ns, key.name));
      *state.mutable_object() = *object;
    } else {
      v1::Tombstone& tombstone = *item.mutable_tombstone();
      tombstone.set_slot(kBroadcastSlot);
      tombstone.set_watch(key.watch);
      tombstone.set_routing_key(KeyOf(key.ns, key.name));
      tombstone.set_reason(v1::Tombstone::REASON_DELETED);
      tombstone.mutable_last()->mutable_generic()->mutable_meta()->set_namespace_(key.ns);
      tombstone.mutable_last()->mutable_generic()->mutable_meta()->set_name(key.name);
    }
    batch.bytes += bytes + kItemOverhead;
    interests_.erase(interests_.begin());
  }
}

void Session::AddTombstones(Batch& batch) {
  while (!due_.empty()) {
    const TombstoneKey key = due_.begin()->second;
    const size_t bytes = tombstones_.BytesOf(key);
    if (!HasRoom(batch, bytes, options_.max_items)) return;
    due_.erase(due_.begin());
    due_positions_.erase(key);
    v1::Tombstone tombstone;
    if (!tombstones_.Fill(key, cache_, self_.service(), tombstone)) continue;
    *batch.message.add_items()->mutable_tombstone() = std::move(tombstone);
    batch.bytes += bytes + kItemOverhead;
    batch.tombstones.push_back(key);
  }
}

void Session::AddLive(Batch& batch, size_t limit) {
  // A tombstone goes before the states that follow from it: another UID of that name, or the same one back again.
  if (!due_.empty()) return;
  while (!live_.empty()) {
    const ObjectId id = live_.front().second;
    if (dirty_[id]) {
      if (!HasRoom(batch, cache_.BytesOf(id), limit)) return;
      AddState(batch, id);
    }
    live_.pop_front();
  }
}

void Session::AddState(Batch& batch, ObjectId id) {
  if (!ClearDirty(id)) return;
  const bool broadcast = cache_.IsBroadcastId(id);
  const uint32_t slot = broadcast ? kBroadcastSlot : cache_.SlotOfId(id, self_.service());
  if (!SlotBegun(slot)) return;
  v1::ObjectState& state = *batch.message.add_items()->mutable_state();
  state.set_slot(slot);
  state.set_watch(cache_.watches()[cache_.WatchOf(id)].id);
  *state.mutable_object() = cache_.Read(id);
  for (const Route& route : Routes(state.object())) {
    if (route.service == self_.service()) state.set_routing_key(route.key);
  }
  ReduceFor(self_.service(), *state.mutable_object());
  batch.bytes += cache_.BytesOf(id) + kItemOverhead;
}

void Session::AddSnapshot(Batch& batch) {
  while (HasRoom(batch, 0, options_.max_items)) {
    if (!snapshot_slot_.has_value()) {
      // What is not yet said of the broadcast objects and of other slots goes first, and ends stay few.
      if (to_open_.empty() || WindowFull() || ends_.size() >= options_.max_items) return;
      const uint32_t slot = to_open_.front();
      to_open_.pop_front();
      snapshot_slot_ = slot;
      slots_[slot].begun = true;
      v1::SlotBegin& begin = *batch.message.add_items()->mutable_begin();
      begin.set_slot(slot);
      begin.set_epoch(slots_[slot].epoch);
      batch.bytes += kItemOverhead;
      for (const TombstoneKey& key : tombstones_.OfSlot(slot)) EnqueueTombstone(key);
      for (const ObjectId id : cache_.Members(self_.service(), slot)) {
        if (SetDirty(id)) snapshot_.push_back(id);
      }
    }
    AddTombstones(batch);
    if (!due_.empty()) return;
    while (!snapshot_.empty()) {
      const ObjectId id = snapshot_.front();
      if (dirty_[id]) {
        if (!HasRoom(batch, cache_.BytesOf(id), options_.max_items)) return;
        AddState(batch, id);
      }
      snapshot_.pop_front();
    }
    ends_.push_back({*snapshot_slot_, position_, Marks()});
    snapshot_slot_.reset();
    AddEnds(batch);
  }
}

void Session::AddEnds(Batch& batch) {
  while (!ends_.empty() && FrontPosition() > ends_.front().barrier) {
    const size_t bytes = ends_.front().marks.size() * kMarkBytes;
    if (!HasRoom(batch, bytes, options_.max_items)) return;
    v1::SlotEnd& end = *batch.message.add_items()->mutable_end();
    end.set_slot(ends_.front().slot);
    NoteForbidden(ends_.front().marks);
    for (v1::Mark& mark : ends_.front().marks) *end.add_marks() = std::move(mark);
    batch.bytes += bytes;
    ends_.pop_front();
  }
}

void Session::NoteForbidden(const std::vector<v1::Mark>& marks) {
  size_t index = 0;
  for (size_t i = 0; i < cache_.watches().size(); ++i) {
    if (!Uses(self_.service(), cache_.watches()[i].id)) continue;
    // A slot that ended so waits for a Progress that says otherwise, also if the other slots never heard of it.
    if (marks[index++].state() == v1::Mark::STATE_FORBIDDEN) told_marks_[i].second = v1::Mark::STATE_FORBIDDEN;
  }
  ArmProgress();
}

void Session::AddProgress(Batch& batch) {
  if (!progress_.has_value() || InCourse() || FrontPosition() <= progress_->first) return;
  v1::Progress progress;
  size_t index = 0;
  for (size_t i = 0; i < cache_.watches().size(); ++i) {
    if (!Uses(self_.service(), cache_.watches()[i].id)) continue;
    const v1::Mark& mark = progress_->second[index++];
    const std::pair told(mark.resource_version(), mark.state());
    if (told_marks_[i] == told) continue;
    told_marks_[i] = told;
    *progress.add_marks() = mark;
  }
  progress_.reset();
  last_progress_ = loop_.Now();
  if (progress.marks_size() > 0) *batch.message.add_items()->mutable_progress() = std::move(progress);
  ArmProgress();
}

}  // namespace basalt::gateway
