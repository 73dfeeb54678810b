#include "gateway/server/slot_moves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/obs/log.h"
#include "common/rpc/held_slots.h"

namespace basalt::gateway {

SlotMoves::SlotMoves(Loop& loop, Leadership& leadership, Replicas& replicas, HubMetrics& metrics,
                     RecordsLost on_records_lost, absl::Duration between_logs)
    : loop_(loop),
      leadership_(leadership),
      replicas_(replicas),
      metrics_(metrics),
      on_records_lost_(std::move(on_records_lost)),
      losses_logged_(between_logs) {
  for (auto& in_flight : in_flight_) in_flight.resize(kSlotCount);
}

void SlotMoves::Move(const std::vector<Ownership::Change>& changes) {
  // All slots are closed, and their tombstones moved, before one opens: an object that left a slot may appear in
  // another.
  for (const Ownership::Change& change : changes) {
    const std::string& name = leadership_.ownership().Get(change.service, change.slot).owner.replica;
    replicas_.Move(change.service, change.slot, replicas_.Find(change.service, name));
  }
  for (const Ownership::Change& change : changes) Advance(change.service, change.slot);
}

void SlotMoves::Advance(v1::ServiceKind service, uint32_t slot) {
  Ownership& ownership = leadership_.ownership();
  const Replica* owner = replicas_.OwnerOf(service, slot);
  if (owner == nullptr) return;
  if (IsDrained(service, slot)) ownership.NoteDrained(service, slot);
  const Ownership::Slot& owned = ownership.Get(service, slot);
  if (owned.state != SlotState::kWaiting && owned.state != SlotState::kHandingOver) return;
  Session* session = owner->session();
  // A slot that is to go to the next incarnation does not begin.
  if (session == nullptr || !owned.owner.SameProcess(session->self())) return;
  const Ownership::Source source = ownership.FindSource(service, slot);
  if (source.wait) return;
  if (source.replica.empty() || source.replica == owned.owner.replica) {
    if (source.replica.empty() && ownership.HadRecords(service, slot)) CountLostRecords(service, slot);
    session->OpenSlot(slot, owned.owner.epoch, source.epoch);
    if (ownership.NoteOpened(service, slot)) metrics_.SlotOpens(loop_.Now() - owned.since);
    return;
  }
  if (owned.source == source.replica) return;
  const Replica* holder = replicas_.Find(service, source.replica);
  if (holder == nullptr) return;
  ownership.NoteGranted(service, slot, source);
  v1::SlotGrant grant;
  grant.set_slot(slot);
  grant.set_epoch(owned.owner.epoch);
  *grant.mutable_source() = holder->member;
  grant.set_source_epoch(source.epoch);
  session->Grant(grant);
}

void SlotMoves::AdvanceAll(v1::ServiceKind service) {
  for (uint32_t i = 0; i < kSlotCount; ++i) Advance(service, i);
}

bool SlotMoves::IsOpen(v1::ServiceKind service, uint32_t slot) const {
  return leadership_.ownership().Get(service, slot).state == SlotState::kOpen;
}

bool SlotMoves::IsWanted(const Replica& replica, uint32_t slot) const {
  const v1::ServiceKind service = replica.member.service();
  if (IsOpen(service, slot)) return leadership_.ownership().Holds(replica.member, slot);
  return leadership_.ownership().FindSource(service, slot).replica == replica.member.replica();
}

bool SlotMoves::IsNeeded(const Replica& replica) const {
  const v1::Member& self = replica.member;
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    if (replicas_.OwnerOf(self.service(), i) == &replica || IsWanted(replica, i)) return true;
  }
  const auto& members = leadership_.ownership().assignment().members();
  return std::any_of(members.begin(), members.end(), [&self](const v1::Member& member) {
    return member.service() == self.service() && member.replica() == self.replica();
  });
}

void SlotMoves::DismissLeavers() {
  const Ownership& ownership = leadership_.ownership();
  std::vector<ReplicaStream*> dismissed;
  for (const auto& [key, replica] : replicas_.all()) {
    const v1::ServiceKind service = replica->member.service();
    if (replica->stream == nullptr || !ownership.IsLeaving(service, key.second)) continue;
    if (!ownership.AnybodyStays(service) || !IsNeeded(*replica)) dismissed.push_back(replica->stream);
  }
  for (ReplicaStream* stream : dismissed) stream->End(absl::OkStatus());
}

void SlotMoves::WriteEnds(v1::ServiceKind service, uint32_t slot) {
  --in_flight_[service - 1][slot];
  if (!leadership_.leads()) return;
  Advance(service, slot);
  DismissLeavers();
}

// ---- records ----

void SlotMoves::OnAck(Session& session) {
  const std::vector<uint32_t> begun = session.TakeBegun();
  if (begun.empty()) return;
  for (const uint32_t slot : begun) leadership_.ownership().NoteRecords(session.self().service(), slot);
  SendLeftovers(session.self().service(), begun);
}

void SlotMoves::NoteRecordsOfWriter(const v1::Owner& owner) {
  const v1::ServiceKind service = owner.member().service();
  const Ownership::Slot& slot = leadership_.ownership().Get(service, owner.slot());
  if (slot.records_epoch != slot.owner.epoch) leadership_.ownership().NoteRecords(service, owner.slot());
}

void SlotMoves::SendLeftovers(v1::ServiceKind service, const std::vector<uint32_t>& slots, const std::string& source) {
  // The key contains the names of receiver and source, so that the order is the same in every run.
  std::map<std::pair<std::string, std::string>, std::pair<Session*, v1::OrphanedRecords>> by_names;
  for (const uint32_t i : slots) {
    if (!IsOpen(service, i)) continue;
    const Replica& owner = *replicas_.OwnerOf(service, i);
    for (const Ownership::Leftover& leftover : leadership_.ownership().FindLeftovers(service, i)) {
      if (!source.empty() && leftover.source.replica() != source) continue;
      auto& [session, leftovers] = by_names[{owner.member.replica(), leftover.source.replica()}];
      session = owner.session();
      *leftovers.mutable_source() = leftover.source;
      rpc::AddHeldSlot(i, leftover.epoch, /*only_history=*/false, *leftovers.mutable_inventory());
    }
  }
  for (auto& [names, what] : by_names) what.first->Send(std::move(what.second));
}

void SlotMoves::OnImported(const v1::Member& member, const v1::RecordsImported& imported) {
  const Replica* replica = replicas_.Find(member.service(), member.replica());
  if (replica == nullptr) return;
  const auto& unavailable = imported.unavailable();
  if (imported.unavailable_size() > 0) {
    for (const uint32_t slot : unavailable) CountLostRecords(member.service(), slot);
    if (const std::optional<int64_t> others = losses_logged_.Take(loop_.Now())) {
      obs::LogWarning("records of slots are lost", {{"service", std::string(ServiceName(member.service()))},
                                                    {"replica", member.replica()},
                                                    {"slots", fmt::to_string(imported.unavailable_size())},
                                                    {"others_since_the_last", fmt::to_string(*others)}});
    }
  }
  for (const uint32_t i : imported.slots()) {
    const Ownership::Slot& owned = leadership_.ownership().Get(member.service(), i);
    const bool lost = std::find(unavailable.begin(), unavailable.end(), i) != unavailable.end();
    // The source may have gone since, and come back: fetched records count. Records that could not be fetched are
    // requested again.
    const bool expected = replicas_.OwnerOf(member.service(), i) == replica && owned.state != SlotState::kOpen &&
                          (!lost || !owned.source.empty()) && owned.owner.epoch == imported.epoch();
    if (!expected) continue;
    leadership_.ownership().NoteTaken(member.service(), i, lost);
    Advance(member.service(), i);
  }
  DismissLeavers();
}

void SlotMoves::OnOrphansRemoved(const v1::OrphanedRecords& removed) {
  leadership_.ownership().Cleared(removed);
  DismissLeavers();
}

void SlotMoves::CountLostRecords(v1::ServiceKind service, uint32_t slot) {
  metrics_.CountLostRecords();
  if (on_records_lost_) on_records_lost_(service, slot);
}

}  // namespace basalt::gateway
