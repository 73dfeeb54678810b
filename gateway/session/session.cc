#include "gateway/session/session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

// The size of an item without its object: slot, watch, key.
constexpr size_t kItemOverhead = 96;
constexpr size_t kMarkBytes = 64;

}  // namespace

Session::Session(Loop& loop, const Cache& cache, v1::Member self, Tombstones& tombstones, rpc::AttachSink& sink,
                 std::function<int64_t()> api_time_ms, SessionOptions options)
    : loop_(loop),
      cache_(cache),
      self_(std::move(self)),
      tombstones_(tombstones),
      sink_(sink),
      api_time_ms_(std::move(api_time_ms)),
      options_(options),
      slots_(kSlotCount),
      marks_(cache, self_.service()) {
  tombstones_.ForgetSent();
  StartStates();
}

Session::~Session() {
  *alive_ = false;
  loop_.Cancel(progress_timer_);
  loop_.Cancel(gather_timer_);
}

void Session::StartStates() {
  if (started_ || !marks_.Resolved()) return;
  started_ = true;
  for (const TombstoneKey& key : tombstones_.OfSlot(kBroadcastSlot)) backlog_.Add(key);
  for (const ObjectId id : cache_.Members(self_.service(), kBroadcastSlot)) {
    if (!cache_.IsHeldBack(id)) backlog_.Add(id);
  }
  ArmProgress();
  Schedule();
}

void Session::SetToken(std::string token) {
  token_ = std::move(token);
  Schedule();
}

void Session::SetAssignment(const v1::Assignment& assignment) {
  assignment_ = assignment;
  Schedule();
}

void Session::Grant(const v1::SlotGrant& grant) {
  grants_[grant.slot()] = grant;
  Schedule();
}

void Session::Send(v1::OrphanedRecords leftovers) {
  leftovers_.push_back(std::move(leftovers));
  Schedule();
}

void Session::OpenSlot(uint32_t slot, int64_t epoch, int64_t records_epoch) {
  CloseSlot(slot);
  // The slot may reopen at the same process: acknowledgements of tombstones sent before do not count.
  for (Sent& sent : sent_) std::erase_if(sent.tombstones, [slot](const auto& key) { return key.slot == slot; });
  slots_[slot] = {.epoch = epoch, .records_epoch = records_epoch, .stage = Stage::kQueued};
  // Slots with old tombstones go first: an object that left one of them may appear in another, and its end comes before
  // that.
  if (tombstones_.HasOfSlot(slot)) {
    to_open_.push_front(slot);
  } else {
    to_open_.push_back(slot);
  }
  Schedule();
}

void Session::CloseSlot(uint32_t slot) {
  grants_.erase(slot);
  if (slots_[slot].stage == Stage::kClosed) return;
  if (slots_[slot].stage != Stage::kQueued) still_open_there_.insert(slot);
  if (slots_[slot].stage != Stage::kEnded) {
    for (Sent& sent : sent_) std::erase_if(sent.tombstones, [slot](const auto& key) { return key.slot == slot; });
  }
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

void Session::OnState(ObjectId id) {
  const uint32_t slot = cache_.IsBroadcastId(id) ? kBroadcastSlot : cache_.SlotOfId(id, self_.service());
  if (closed_ || !SlotBegun(slot)) return;
  backlog_.Add(id);
  Schedule();
}

void Session::OnDeparture(ObjectId id, const TombstoneKey& key) {
  backlog_.Unmark(id);
  if (closed_ || !SlotBegun(key.slot)) return;
  backlog_.Add(key);
  Schedule();
}

void Session::OnWatch(WatchIndex watch) {
  if (closed_ || !marks_.Uses(watch)) return;
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
    return Invalid(fmt::format("batch {} is acknowledged, but only {} were sent", sequence, sequence_));
  }
  acknowledged_ = std::max(acknowledged_, sequence);
  while (!sent_.empty() && sent_.front().sequence <= sequence) {
    for (const TombstoneKey& key : sent_.front().tombstones) tombstones_.Acknowledge(key, sent_.front().sequence);
    for (const auto& [slot, epoch] : sent_.front().begun) {
      const bool is_open = slots_[slot].stage != Stage::kClosed;
      if (is_open && slots_[slot].epoch == epoch) acknowledged_begins_.push_back(slot);
    }
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

void Session::ArmProgress() {
  if (closed_ || !started_ || progress_timer_ != kNoTimer || progress_.has_value() || !marks_.Moved()) return;
  // The mark is never taken inside the change itself, so that it covers the rest of the changes that came together.
  const absl::Time when = std::max(loop_.Now(), last_progress_ + options_.progress_interval);
  progress_timer_ = loop_.RunAt(when, [this, alive = alive_] {
    if (!*alive) return;
    progress_timer_ = kNoTimer;
    progress_.emplace(backlog_.position(), marks_.Now());
    Schedule();
  });
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

bool Session::Gathers() {
  // Control items are sent at once. While the replica cannot acknowledge, waiting for an acknowledgement would wait for
  // ever.
  const bool at_once = !started_ || token_.has_value() || assignment_.has_value() || !grants_.empty() ||
                       !leftovers_.empty() || !interests_.empty() || !to_open_.empty() || InCourse() ||
                       marks_.HeldBack();
  const int64_t waiting = backlog_.size() + (progress_.has_value() ? 1 : 0);
  const bool enough =
      sequence_ - acknowledged_ < options_.eager || waiting == 0 || waiting >= static_cast<int64_t>(options_.max_items);
  if (at_once || enough || gathered_) return false;
  if (gather_timer_ == kNoTimer) {
    gather_timer_ = loop_.RunAfter(options_.gather, [this, alive = alive_] {
      if (!*alive) return;
      gather_timer_ = kNoTimer;
      gathered_ = true;
      Schedule();
    });
  }
  return true;
}

void Session::Pump() {
  if (closed_ || in_flight_) return;
  if (WindowFull() && !InCourse()) return;
  if (Gathers()) return;
  Batch batch = Build();
  if (batch.items.items() == 0) return;
  ++sequence_;
  gathered_ = false;
  loop_.Cancel(std::exchange(gather_timer_, kNoTimer));
  for (const TombstoneKey& key : batch.tombstones) tombstones_.SetSent(key, sequence_);
  sent_.push_back({sequence_, loop_.Now(), std::move(batch.tombstones), std::move(batch.begun)});
  in_flight_ = true;
  last_bytes_ = batch.items.bytes();
  sink_.Send(batch.items.Finish(sequence_, api_time_ms_()));
}

bool Session::HasRoom(const Batch& batch, size_t bytes, size_t limit) const {
  const auto items = static_cast<size_t>(batch.items.items());
  return items == 0 || (items < limit && batch.items.bytes() + bytes + kItemOverhead <= options_.max_bytes);
}

SlotSet Session::GivenBy(const v1::Assignment& assignment) const {
  std::vector<std::string_view> replicas;
  std::optional<size_t> self;
  for (const v1::Member& member : assignment.members()) {
    if (member.service() != self_.service()) continue;
    if (member.replica() == self_.replica() && member.incarnation() == self_.incarnation()) self = replicas.size();
    replicas.push_back(member.replica());
  }
  SlotSet given;
  const std::vector<size_t> owners = RendezvousOwners(replicas);
  for (uint32_t slot = 0; slot < owners.size(); ++slot) {
    if (owners[slot] == self) given.Insert(slot);
  }
  return given;
}

Session::Batch Session::Build() {
  Batch batch{.items = BatchEncoder(std::min(last_bytes_ + last_bytes_ / 8, options_.max_bytes)),
              .tombstones = {},
              .begun = {}};
  if (token_.has_value()) {
    v1::Item item;
    item.mutable_session_start()->set_token(*std::exchange(token_, std::nullopt));
    batch.items.Add(std::move(item));
  }
  if (assignment_.has_value()) {
    v1::Item item;
    *item.mutable_assignment() = *std::exchange(assignment_, std::nullopt);
    const SlotSet given = GivenBy(item.assignment());
    std::erase_if(still_open_there_, [&](uint32_t slot) { return !given.Contains(slot); });
    batch.items.Add(std::move(item));
  }
  AddGrants(batch);
  AddLeftovers(batch);
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

void Session::AddGrants(Batch& batch) {
  while (!grants_.empty() && HasRoom(batch, grants_.begin()->second.ByteSizeLong(), options_.max_items)) {
    v1::Item item;
    *item.mutable_grant() = std::move(grants_.begin()->second);
    grants_.erase(grants_.begin());
    batch.items.Add(std::move(item));
  }
}

void Session::AddLeftovers(Batch& batch) {
  while (!leftovers_.empty() && HasRoom(batch, leftovers_.front().ByteSizeLong(), options_.max_items)) {
    v1::Item item;
    *item.mutable_orphaned_records() = std::move(leftovers_.front());
    leftovers_.pop_front();
    batch.items.Add(std::move(item));
  }
}

void Session::AddInterests(Batch& batch) {
  while (!interests_.empty()) {
    const auto& [key, object] = *interests_.begin();
    if (!HasRoom(batch, object ? object->ByteSizeLong() : 0, options_.max_items)) return;
    v1::Item item;
    if (object) {
      v1::ObjectState& state = *item.mutable_state();
      state.set_slot(kBroadcastSlot);
      state.set_watch(key.watch);
      state.set_routing_key(kube::ObjectKey(key.ns, key.name));
      *state.mutable_object() = *object;
    } else {
      v1::Tombstone& tombstone = *item.mutable_tombstone();
      tombstone.set_slot(kBroadcastSlot);
      tombstone.set_watch(key.watch);
      tombstone.set_routing_key(kube::ObjectKey(key.ns, key.name));
      tombstone.set_reason(v1::Tombstone::REASON_DELETED);
      tombstone.mutable_last()->mutable_generic()->mutable_meta()->set_namespace_(key.ns);
      tombstone.mutable_last()->mutable_generic()->mutable_meta()->set_name(key.name);
    }
    batch.items.Add(std::move(item));
    interests_.erase(interests_.begin());
  }
}

void Session::AddTombstones(Batch& batch) {
  while (backlog_.HasTombstones()) {
    const TombstoneKey key = backlog_.FirstTombstone();
    if (!HasRoom(batch, tombstones_.BytesOf(key), options_.max_items)) return;
    backlog_.PopTombstone();
    v1::Item item;
    if (!tombstones_.Fill(key, cache_, self_.service(), *item.mutable_tombstone())) continue;
    batch.items.Add(std::move(item));
    batch.tombstones.push_back(key);
  }
}

void Session::AddLive(Batch& batch, size_t limit) {
  // A tombstone goes before the states that follow from it: another UID of that name, or the same UID back again.
  if (backlog_.HasTombstones()) return;
  for (ObjectId id = backlog_.First(); id != kNoObject; id = backlog_.First()) {
    if (!HasRoom(batch, cache_.BytesOf(id), limit)) return;
    backlog_.PopFirst();
    AddState(batch, id);
  }
}

void Session::AddState(Batch& batch, ObjectId id) {
  if (!backlog_.Unmark(id)) return;
  const bool broadcast = cache_.IsBroadcastId(id);
  const uint32_t slot = broadcast ? kBroadcastSlot : cache_.SlotOfId(id, self_.service());
  if (!SlotBegun(slot)) return;
  const std::string& watch = cache_.watches()[cache_.WatchOf(id)].id;
  const std::string_view key = broadcast ? std::string_view() : cache_.RoutingKeyOf(id, self_.service());
  if (IsReducedFor(self_.service())) {
    kube::v1::Object object = cache_.Read(id);
    ReduceFor(self_.service(), object);
    batch.items.AddState(slot, watch, key, object.SerializeAsString());
  } else {
    batch.items.AddState(slot, watch, key, cache_.Serialized(id));
  }
}

void Session::AddSnapshot(Batch& batch) {
  while (HasRoom(batch, 0, options_.max_items)) {
    if (!snapshot_slot_.has_value()) {
      // Changes of the broadcast objects and of other slots go first, and the pending ends stay few.
      if (to_open_.empty() || WindowFull() || ends_.size() >= options_.max_items) return;
      const uint32_t slot = to_open_.front();
      to_open_.pop_front();
      snapshot_slot_ = slot;
      slots_[slot].stage = Stage::kBegun;
      still_open_there_.erase(slot);
      v1::Item item;
      item.mutable_begin()->set_slot(slot);
      item.mutable_begin()->set_epoch(slots_[slot].epoch);
      item.mutable_begin()->set_records_epoch(slots_[slot].records_epoch);
      batch.begun.emplace_back(slot, slots_[slot].epoch);
      batch.items.Add(std::move(item));
      for (const TombstoneKey& key : tombstones_.OfSlot(slot)) backlog_.Add(key);
      for (const ObjectId id : cache_.Members(self_.service(), slot)) {
        if (!cache_.IsHeldBack(id) && backlog_.Mark(id)) snapshot_.push_back(id);
      }
    }
    AddTombstones(batch);
    if (backlog_.HasTombstones()) return;
    while (!snapshot_.empty()) {
      const ObjectId id = snapshot_.front();
      if (backlog_.IsMarked(id)) {
        if (!HasRoom(batch, cache_.BytesOf(id), options_.max_items)) return;
        AddState(batch, id);
      }
      snapshot_.pop_front();
    }
    ends_.push_back({*snapshot_slot_, backlog_.position(), marks_.Now()});
    snapshot_slot_.reset();
    AddEnds(batch);
  }
}

void Session::AddEnds(Batch& batch) {
  while (!ends_.empty() && backlog_.Front() > ends_.front().barrier) {
    PendingEnd& pending = ends_.front();
    if (!HasRoom(batch, pending.marks.size() * kMarkBytes, options_.max_items)) return;
    v1::Item item;
    item.mutable_end()->set_slot(pending.slot);
    marks_.NoteEnd(pending.marks);
    const bool forbidden = std::any_of(pending.marks.begin(), pending.marks.end(),
                                       [](const v1::Mark& mark) { return mark.state() == v1::Mark::STATE_FORBIDDEN; });
    if (!forbidden) slots_[pending.slot].stage = Stage::kEnded;
    ArmProgress();
    for (v1::Mark& mark : pending.marks) *item.mutable_end()->add_marks() = std::move(mark);
    batch.items.Add(std::move(item));
    ends_.pop_front();
  }
}

void Session::AddProgress(Batch& batch) {
  if (!progress_.has_value() || InCourse() || backlog_.Front() <= progress_->first) return;
  // The replica would apply the mark to one of these slots, too, of which it is sent nothing until the slot begins
  // anew.
  if (!still_open_there_.empty()) return;
  std::optional<v1::Progress> progress = marks_.Advance(progress_->second);
  progress_.reset();
  last_progress_ = loop_.Now();
  if (progress.has_value()) {
    v1::Item item;
    *item.mutable_progress() = *std::move(progress);
    batch.items.Add(std::move(item));
  }
  ArmProgress();
}

}  // namespace basalt::gateway
