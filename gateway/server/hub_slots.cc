// Moves slots between owners: members and the saved assignment, moves, and the records that go with them.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/rpc/held_slots.h"
#include "common/rpc/program_name.h"
#include "gateway/server/hub.h"
#include "gateway/server/hub_stream.h"

namespace basalt::gateway {

void Hub::ReconcileMembership() {
  if (!leads()) return;
  const std::vector<Ownership::Change> changes = ownership_->TransferReadySlots(loop_.Now());
  if (!changes.empty()) {
    kube_.DropUnsent([this](const v1::Owner& owner) { return !ownership_->Check(owner).ok(); });
  }
  // All slots are closed, and their tombstones moved, before one opens: an object that left a slot may appear in
  // another.
  for (const Ownership::Change& change : changes) MoveSlot(change);
  for (const Ownership::Change& change : changes) Advance(change.service, change.slot);
  if (!saving_ && save_timer_ == kNoTimer) {
    std::optional<storage::v1::AssignmentRecord> wanted = ownership_->Propose(loop_.Now());
    if (wanted.has_value()) Save(*std::move(wanted));
  }
  // Records that were waited for may be available elsewhere, or not at all.
  for (const v1::ServiceKind service : ownership_->TakeExpired()) AdvanceAll(service);
  std::erase_if(replicas_, [&](const auto& entry) {
    const v1::Member& member = entry.second->member;
    if (ownership_->IsPresent(member.service(), member.replica())) return false;
    // The replica's tombstones go with its slots.
    const std::vector<Slot>& slots = slots_[member.service() - 1];
    const bool owns =
        std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.owner == entry.second.get(); });
    if (!owns) metrics_.RemoveReplica(member);
    return !owns;
  });
  DismissLeavers();
  SendMembers();

  loop_.Cancel(membership_timer_);
  membership_timer_ = kNoTimer;
  const absl::Time deadline = ownership_->NextDeadline();
  if (deadline == absl::InfiniteFuture() || saving_ || save_timer_ != kNoTimer) return;
  membership_timer_ = loop_.RunAt(deadline, [this, alive = alive_] {
    if (!*alive) return;
    membership_timer_ = kNoTimer;
    ReconcileMembership();
  });
}

void Hub::Save(storage::v1::AssignmentRecord record) {
  saving_ = true;
  store_.Save(record, [this, alive = alive_, term = term_, record](const absl::Status& status) {
    if (!*alive || term != term_) return;
    saving_ = false;
    if (status.ok()) return Adopt(record);
    obs::LogWarning("assignment not saved",
                    {{"epoch", fmt::to_string(record.epoch())}, {"why", std::string(ToStd(status.message()))}});
    // Another gateway leads, or has led since: this one must do nothing in an epoch that is not its own.
    if (absl::IsAborted(status)) return Follow("", "");
    save_timer_ = loop_.RunAfter(options_.save_again, [this, alive] {
      if (!*alive) return;
      save_timer_ = kNoTimer;
      ReconcileMembership();
    });
  });
}

void Hub::Adopt(const storage::v1::AssignmentRecord& record) {
  ownership_->Adopt(record, loop_.Now());
  metrics_.ShowEpoch(record.epoch());
  obs::LogInfo("assignment changed",
               {{"epoch", fmt::to_string(record.epoch())}, {"members", fmt::to_string(record.members_size())}});
  for (auto& [key, replica] : replicas_) {
    Session* session = SessionOf(*replica);
    if (session == nullptr) continue;
    session->SetAssignment(ownership_->assignment());
    // The replica receives no more changes of slots that it is to release: the next owner does.
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const SlotState state = ownership_->Get(replica->member.service(), i).state;
      if (slots_[key.first - 1][i].owner == replica.get() && state == SlotState::kReleasing) session->CloseSlot(i);
    }
  }
  ReconcileMembership();
}

void Hub::SendMembers() {
  if (options_.on_members == nullptr || options_.ownership.expected.empty()) return;
  std::vector<std::string> differs;
  for (const auto& [service, expected] : options_.ownership.expected) {
    const int attached = ownership_->Attached(static_cast<v1::ServiceKind>(service)).first;
    if (attached == expected) continue;
    differs.push_back(fmt::format("{}: {} of {} attached",
                                  rpc::ProgramName(static_cast<v1::ServiceKind>(service), "none"), attached, expected));
  }
  std::string text = fmt::format("{}", fmt::join(differs, ", "));
  if (members_sent_ == text) return;
  members_sent_ = text;
  options_.on_members(text);
}

void Hub::MoveSlot(const Ownership::Change& change) {
  Slot& slot = slots_[change.service - 1][change.slot];
  const std::string& name = ownership_->Get(change.service, change.slot).owner.replica;
  const auto found = replicas_.find({change.service, name});
  Replica* next = found == replicas_.end() ? nullptr : found->second.get();
  if (slot.owner != nullptr) {
    if (Session* session = SessionOf(*slot.owner)) session->CloseSlot(change.slot);
  }
  if (next != slot.owner) {
    Tombstones& unowned = unowned_[change.service - 1];
    Tombstones& from = slot.owner == nullptr ? unowned : slot.owner->tombstones;
    from.MoveSlot(change.slot, next == nullptr ? unowned : next->tombstones);
  }
  slot.owner = next;
}

void Hub::Advance(v1::ServiceKind service, uint32_t index) {
  const Slot& slot = slots_[service - 1][index];
  if (slot.owner == nullptr) return;
  if (slot.in_flight == 0) ownership_->NoteDrained(service, index);
  const Ownership::Slot& owned = ownership_->Get(service, index);
  if (owned.state != SlotState::kWaiting && owned.state != SlotState::kHandingOver) return;
  Session* session = SessionOf(*slot.owner);
  // A slot that is to go to the next incarnation does not begin.
  if (session == nullptr || !owned.owner.SameProcess(session->self())) return;
  const Ownership::Source source = ownership_->FindSource(service, index);
  if (source.wait) return;
  if (source.replica.empty() || source.replica == owned.owner.replica) {
    if (source.replica.empty() && ownership_->HadRecords(service, index)) CountLostRecords(service, index);
    session->OpenSlot(index, owned.owner.epoch, source.epoch);
    if (ownership_->NoteOpened(service, index)) metrics_.SlotOpens(loop_.Now() - owned.since);
    return;
  }
  if (owned.source == source.replica) return;
  const auto holder = replicas_.find({service, source.replica});
  if (holder == replicas_.end()) return;
  ownership_->NoteGranted(service, index, source);
  v1::SlotGrant grant;
  grant.set_slot(index);
  grant.set_epoch(owned.owner.epoch);
  *grant.mutable_source() = holder->second->member;
  grant.set_source_epoch(source.epoch);
  session->Grant(grant);
}

void Hub::AdvanceAll(int service) {
  for (uint32_t i = 0; i < kSlotCount; ++i) Advance(static_cast<v1::ServiceKind>(service), i);
}

// Whether an attached replica is to have the records of the slot that `replica` has.
bool Hub::IsWanted(const Replica& replica, uint32_t index) const {
  const v1::ServiceKind service = replica.member.service();
  if (!IsOpen(service, index)) return ownership_->FindSource(service, index).replica == replica.member.replica();
  return ownership_->Holds(replica.member, index);
}

// A replica that leaves may go once nobody waits for its slots or its records.
void Hub::DismissLeavers() {
  std::vector<Stream*> dismissed;
  for (const auto& [key, replica] : replicas_) {
    if (replica->stream == nullptr || !ownership_->IsLeaving(replica->member.service(), key.second)) continue;
    bool needed = false;
    for (uint32_t i = 0; i < kSlotCount && !needed; ++i) {
      const Slot& slot = slots_[key.first - 1][i];
      needed = slot.owner == replica.get() || IsWanted(*replica, i);
    }
    const v1::Member& leaver = replica->member;
    const bool member = std::any_of(ownership_->assignment().members().begin(),
                                    ownership_->assignment().members().end(), [&leaver](const v1::Member& other) {
                                      return other.service() == leaver.service() && other.replica() == leaver.replica();
                                    });
    const bool alone = !ownership_->AnybodyStays(leaver.service());
    if (alone || (!needed && !member)) dismissed.push_back(replica->stream);
  }
  for (Stream* stream : dismissed) stream->End(absl::OkStatus());
}

// ---- records ----

void Hub::Acknowledged(Session& session) {
  const std::vector<uint32_t> begun = session.TakeBegun();
  if (begun.empty()) return;
  for (const uint32_t slot : begun) ownership_->NoteRecords(session.self().service(), slot);
  SendLeftovers(session.self().service(), begun);
}

// A replica that writes has begun the slot and stored the records that it decides by. Its acknowledgement may still be
// on its way, or may never come because the slot moves on at once.
void Hub::NoteRecordsOfWriter(const v1::Owner& owner) {
  const v1::ServiceKind service = owner.member().service();
  const Ownership::Slot& slot = ownership_->Get(service, owner.slot());
  if (slot.records_epoch != slot.owner.epoch) ownership_->NoteRecords(service, owner.slot());
}

void Hub::SendLeftovers(v1::ServiceKind service, const std::vector<uint32_t>& slots, const std::string& source) {
  // The key contains the names of receiver and source, so that the order is the same in every run.
  std::map<std::pair<std::string, std::string>, std::pair<Session*, v1::OrphanedRecords>> by_names;
  for (const uint32_t i : slots) {
    if (!IsOpen(service, i)) continue;
    Replica& owner = *slots_[service - 1][i].owner;
    for (const Ownership::Leftover& leftover : ownership_->FindLeftovers(service, i)) {
      if (!source.empty() && leftover.source.replica() != source) continue;
      auto& [session, leftovers] = by_names[{owner.member.replica(), leftover.source.replica()}];
      session = SessionOf(owner);
      *leftovers.mutable_source() = leftover.source;
      rpc::AddHeldSlot(i, leftover.epoch, /*only_history=*/false, *leftovers.mutable_inventory());
    }
  }
  for (auto& [names, what] : by_names) what.first->Send(std::move(what.second));
}

void Hub::Taken(const v1::Member& member, const v1::RecordsImported& taken) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end()) return;
  if (taken.unavailable_size() > 0) {
    for (const uint32_t slot : taken.unavailable()) CountLostRecords(member.service(), slot);
    if (const std::optional<int64_t> others = losses_logged_.Take(loop_.Now())) {
      obs::LogWarning("records of slots are lost", {{"service", std::string(ServiceName(member.service()))},
                                                    {"replica", member.replica()},
                                                    {"slots", fmt::to_string(taken.unavailable_size())},
                                                    {"others_since_the_last", fmt::to_string(*others)}});
    }
  }
  for (const uint32_t i : taken.slots()) {
    const Ownership::Slot& owned = ownership_->Get(member.service(), i);
    const bool lost = std::find(taken.unavailable().begin(), taken.unavailable().end(), i) != taken.unavailable().end();
    // The source may have gone since, and come back: fetched records count. Records that could not be fetched are
    // requested again.
    const bool expected = slots_[member.service() - 1][i].owner == it->second.get() &&
                          owned.state != SlotState::kOpen && (!lost || !owned.source.empty()) &&
                          owned.owner.epoch == taken.epoch();
    if (!expected) continue;
    ownership_->NoteTaken(member.service(), i, lost);
    Advance(member.service(), i);
  }
  DismissLeavers();
}

void Hub::CountLostRecords(v1::ServiceKind service, uint32_t slot) {
  metrics_.CountLostRecords();
  if (options_.on_records_lost) options_.on_records_lost(service, slot);
}

}  // namespace basalt::gateway
