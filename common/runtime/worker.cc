#include "common/runtime/worker.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/runtime/slots/slot_records.h"

namespace basalt::runtime {

Worker::Worker(WorkerOptions options, Loop& loop, uint64_t seed, kv::KvStore& store, std::shared_ptr<ApiClock> clock,
               std::shared_ptr<WorkerHost> host, obs::Metrics* metrics)
    : options_(std::move(options)),
      loop_(loop),
      random_(seed),
      store_(store),
      clock_(std::move(clock)),
      host_(std::move(host)),
      tracker_(*this),
      writes_(std::make_shared<WorkerWrites>(WorkerWrites::Parts{.loop = loop_,
                                                                 .random = random_,
                                                                 .slots = slots_,
                                                                 .tracker = tracker_,
                                                                 .clock = *clock_,
                                                                 .queue = queue_},
                                             options_, host_, metrics)) {
  queue_.emplace(
      loop_, [this] { return ApiNow(); }, [this] { ScheduleRound(); });
  if (metrics == nullptr) return;
  const obs::Labels labels = {{"worker", std::to_string(options_.index)}};
  instruments_.rounds = &metrics->GetCounter("basalt_rounds_total", "Rounds of passes.", labels);
  instruments_.passes = &metrics->GetCounter("basalt_passes_total", "Passes over one key.", labels);
  instruments_.dirty = &metrics->GetGauge("basalt_dirty_keys", "Keys that wait for a pass.", labels);
  instruments_.objects = &metrics->GetGauge("basalt_tracked_objects", "Objects of the worker's slots.", labels);
  instruments_.uncertain = &metrics->GetGauge(
      "basalt_uncertain_absences", "Objects that a snapshot did not mention and could not call gone, so far.", labels);
}

void Worker::Stop() {
  stopped_ = true;
  writes_->Stop();
  queue_.reset();
  controller_.reset();
  host_.reset();
}

void Worker::Fail(const absl::Status& why) {
  if (!Running()) return;
  Halt();
  host_->Failed(why);
}

// ---- messages of the gateway ----

void Worker::StartStream(uint64_t stream) {
  if (!Running()) return;
  stream_ = stream;
  tracker_.StartStream();
  recorded_.StartStream(slots_);
}

void Worker::Deliver(uint64_t stream, int64_t sequence, std::vector<Delivery> deliveries) {
  if (!Running() || stream != stream_) return;
  recorded_.BeginBatch(sequence);
  for (Delivery& delivery : deliveries) {
    if (auto* item = std::get_if<gateway::v1::Item>(&delivery)) {
      Handle(*item);
    } else if (auto* view = std::get_if<std::shared_ptr<const AssignmentView>>(&delivery)) {
      SetAssignment(std::move(*view));
    } else {
      const SharedEvent& event = std::get<SharedEvent>(delivery);
      controller_->OnShared(event.watch, *event.object, event.gone);
    }
    if (!Running()) return;
  }
  recorded_.EndBatch();
  if (std::exchange(slots_changed_, false)) {
    size_t ready = 0;
    for (const auto& [id, slot] : slots_) ready += slot.ready ? 1 : 0;
    host_->SlotsChanged(options_.index, ready, tracker_.Forbidden());
  }
  queue_->ClockChanged();
  if (instruments_.objects != nullptr) {
    instruments_.objects->Set(static_cast<double>(tracker_.objects()));
    instruments_.uncertain->Set(static_cast<double>(tracker_.uncertain_absences()));
  }
  ReportRecorded();
}

void Worker::Handle(gateway::v1::Item& item) {
  switch (item.item_case()) {
    case gateway::v1::Item::kBegin:
      BeginSlot(item.begin());
      break;
    case gateway::v1::Item::kState:
      tracker_.State(std::move(*item.mutable_state()));
      break;
    case gateway::v1::Item::kTombstone:
      tracker_.Tombstone(item.tombstone());
      break;
    case gateway::v1::Item::kEnd:
      slots_changed_ = true;
      if (tracker_.End(item.end())) SetReady(item.end().slot());
      break;
    case gateway::v1::Item::kProgress:
      for (const uint32_t slot : tracker_.Progress(item.progress())) SetReady(slot);
      break;
    case gateway::v1::Item::kAssignment:  // The replica handles this and the following items itself.
    case gateway::v1::Item::kGrant:
    case gateway::v1::Item::kOrphanedRecords:
    case gateway::v1::Item::kSessionStart:
    case gateway::v1::Item::ITEM_NOT_SET:
      break;
  }
}

void Worker::SetAssignment(std::shared_ptr<const AssignmentView> view) {
  std::vector<uint32_t> released;
  kv::WriteBatch last;
  for (uint32_t slot = options_.index; slot < kSlotCount; slot += options_.workers) {
    if (!view->owned[slot]) DecideBeforeRelease(slot, last);
  }
  if (!Running()) return;
  if (!last.empty()) {
    if (const absl::Status status = store_.Write(last); !status.ok()) return Fail(status);
  }
  for (uint32_t slot = options_.index; slot < kSlotCount; slot += options_.workers) {
    if (view->owned[slot]) continue;
    if (slots_.contains(slot)) CloseSlot(slot);
    // Report the release again for every assignment: an earlier report may have referred to an older one.
    released.push_back(slot);
  }
  assignment_ = std::move(view);
  if (!released.empty()) host_->Released(assignment_->assignment.epoch(), std::move(released));
  slots_changed_ = true;
}

// Everything that was observed of a slot that goes to another owner is recorded, since it is acknowledged. No effects
// follow.
void Worker::DecideBeforeRelease(uint32_t slot, kv::WriteBatch& batch) {
  const auto it = slots_.find(slot);
  if (it == slots_.end() || !it->second.ready) return;
  for (const std::string& key : queue_->TakeGroup(slot)) {
    if (!Running()) return;
    controller_->Decide(key, batch);
  }
}

void Worker::BeginSlot(const gateway::v1::SlotBegin& begin) {
  const uint32_t slot = begin.slot();
  auto it = slots_.find(slot);
  if (it != slots_.end() && it->second.epoch != begin.epoch()) {
    // The slot had another owner in between.
    CloseSlot(slot);
    it = slots_.end();
  }
  if (it != slots_.end()) {
    it->second.ready = false;
    it->second.refused = false;
    queue_->Pause(slot);
  } else {
    const absl::Status prepared = options_.keeps_records ? PrepareRecords(store_, begin) : absl::OkStatus();
    if (!prepared.ok()) {
      return Fail(Annotate(prepared, fmt::format("slot {} cannot be opened", slot)));
    }
    slots_[slot] = {.epoch = begin.epoch(), .generation = next_generation_++};
    absl::StatusOr<std::vector<KnownObject>> known = controller_->OpenSlot(slot);
    if (!known.ok()) return Fail(Annotate(known.status(), fmt::format("slot {} cannot be opened", slot)));
    tracker_.Open(slot, *known);
    for (const KnownObject& object : *known) queue_->Add(object.routing_key, slot);
  }
  tracker_.Begin(slot);
  slots_changed_ = true;
}

void Worker::CloseSlot(uint32_t slot) {
  const auto closed = slots_.extract(slot);
  writes_->EndSlot(closed.mapped());
  recorded_.Forget(closed.mapped());
  queue_->Drop(slot);
  tracker_.Close(slot);
  controller_->CloseSlot(slot);
}

void Worker::SetReady(uint32_t slot) {
  const auto it = slots_.find(slot);
  if (it == slots_.end()) return;
  it->second.ready = true;
  if (!it->second.refused) queue_->Resume(slot);
  slots_changed_ = true;
}

void Worker::OnState(uint32_t slot, const std::string& routing_key, const std::string& watch,
                     kube::v1::Object&& object) {
  controller_->OnState(routing_key, watch, std::move(object));
  Touch(slot, routing_key);
}

void Worker::OnGone(uint32_t slot, const std::string& routing_key, const Gone& gone) {
  controller_->OnGone(routing_key, gone);
  Touch(slot, routing_key);
}

// ---- rounds ----

void Worker::Touch(uint32_t slot, const std::string& key) {
  queue_->Add(key, slot);
  recorded_.Touch(key, slots_.at(slot));
}

void Worker::ReportRecorded() {
  const std::optional<int64_t> recorded = recorded_.TakeNews();
  if (recorded) host_->Recorded(options_.index, stream_, *recorded);
}

void Worker::ScheduleRound() {
  if (round_scheduled_ || !Running()) return;
  round_scheduled_ = true;
  loop_.Post([self = shared_from_this()] {
    self->round_scheduled_ = false;
    if (self->Running()) self->Round();
  });
}

void Worker::Round() {
  const std::vector<std::string> keys = queue_->Take(kRoundKeys);
  if (keys.empty()) return;
  kv::WriteBatch batch;
  for (const std::string& key : keys) {
    controller_->Decide(key, batch);
    if (!Running()) return;
  }
  if (!batch.empty()) {
    if (const absl::Status status = store_.Write(batch); !status.ok()) return Fail(status);
  }
  for (const std::string& key : keys) {
    if (const auto slot = slots_.find(SlotOf(key)); slot != slots_.end()) recorded_.Record(key, slot->second);
  }
  // Reported before any write: else the gateway could send again what a write answers, if the process ended in between.
  ReportRecorded();
  for (const std::string& key : keys) {
    controller_->Act(key);
    if (!Running()) return;
  }
  if (instruments_.rounds != nullptr) {
    instruments_.rounds->Add();
    instruments_.passes->Add(static_cast<double>(keys.size()));
    instruments_.dirty->Set(static_cast<double>(queue_->dirty()));
  }
  if (queue_->HasWork()) ScheduleRound();
}

void Worker::Wake(std::string_view key) {
  const uint32_t slot = SlotOf(key);
  if (Running() && slots_.contains(slot)) queue_->Add(key, slot);
}

void Worker::WakeAt(std::string_view key, absl::Time when) {
  const uint32_t slot = SlotOf(key);
  if (Running() && slots_.contains(slot)) queue_->AddAt(key, slot, when);
}

int64_t Worker::SlotEpoch(uint32_t slot) const {
  const auto it = slots_.find(slot);
  return it == slots_.end() ? 0 : it->second.epoch;
}

bool Worker::IsReady(uint32_t slot) const {
  const auto it = slots_.find(slot);
  return it != slots_.end() && it->second.ready;
}

SlotCounts Worker::Slots() const {
  SlotCounts counts;
  if (assignment_ == nullptr) return counts;
  for (uint32_t slot = options_.index; slot < kSlotCount; slot += options_.workers) {
    if (!assignment_->owned[slot]) continue;
    ++counts.owned;
    if (IsReady(slot)) ++counts.ready;
  }
  return counts;
}

// ---- peers ----

bool Worker::CallOwner(gateway::v1::ServiceKind service, std::string_view key, PeerCall call) {
  if (!Running() || assignment_ == nullptr) return false;
  const auto other = assignment_->others.find(service);
  if (other == assignment_->others.end()) return false;
  const std::vector<std::string_view> members(other->second.members.begin(), other->second.members.end());
  const auto& peer = other->second.peers[RendezvousOwner(members, SlotOf(key))];
  if (peer == nullptr) return false;
  host_->CallPeer(loop_, peer,
                  [self = shared_from_this(), call = std::move(call)](rpc::ServicePeer& of, ToWorker back) mutable {
                    call(of, [self, back = std::move(back)](absl::AnyInvocable<void()> task) {
                      back([self, task = std::move(task)]() mutable {
                        if (self->Running()) task();
                      });
                    });
                  });
  return true;
}

void Worker::MergeAnswer(std::string_view key, const kube::v1::Object& object, bool gone) {
  if (!Running()) return;
  if (gone) {
    tracker_.OwnDeletion(SlotOf(key), key, object);
  } else {
    tracker_.OwnState(SlotOf(key), key, object);
  }
}

void Worker::AddInterest(std::string_view watch, std::string_view ns, std::string_view name) {
  if (Running()) host_->SetInterest(options_.index, std::string(watch), std::string(ns), std::string(name), false);
}

void Worker::DropInterest(std::string_view watch, std::string_view ns, std::string_view name) {
  if (Running()) host_->SetInterest(options_.index, std::string(watch), std::string(ns), std::string(name), true);
}

}  // namespace basalt::runtime
