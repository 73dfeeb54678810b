#include "gateway/ownership/ownership.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/rpc/held_slots.h"

namespace basalt::gateway {
namespace {

bool SameMembers(const v1::Assignment& a, const v1::Assignment& b) {
  return std::equal(a.members().begin(), a.members().end(), b.members().begin(), b.members().end(),
                    [](const v1::Member& x, const v1::Member& y) {
                      return x.service() == y.service() && x.replica() == y.replica() &&
                             x.incarnation() == y.incarnation() && x.address() == y.address();
                    });
}

bool IsService(int service) { return service >= 1 && service <= kServiceKinds; }

// The members of one service, and which of them owns a slot.
class Shares {
 public:
  Shares(const v1::Assignment& assignment, int service) {
    std::vector<std::string_view> names;
    for (const v1::Member& member : assignment.members()) {
      if (member.service() != service) continue;
      names.push_back(member.replica());
      members_.push_back(&member);
    }
    owners_ = RendezvousOwners(names);
  }
  // Null if there is no member.
  const v1::Member* OwnerOf(uint32_t slot) const { return members_.empty() ? nullptr : members_[owners_[slot]]; }

 private:
  std::vector<const v1::Member*> members_;
  std::vector<size_t> owners_;  // By slot: the index in `members_`.
};

v1::Member MemberOf(const storage::v1::AssignmentRecord::Member& saved) {
  v1::Member member;
  member.set_service(static_cast<v1::ServiceKind>(saved.service()));
  member.set_replica(saved.replica());
  member.set_incarnation(saved.incarnation());
  member.set_address(saved.address());
  return member;
}

v1::Assignment AssignmentOf(const storage::v1::AssignmentRecord& record) {
  v1::Assignment assignment;
  assignment.set_epoch(record.epoch());
  for (const auto& saved : record.members()) {
    // A newer release may have saved other services, and a person may have edited the object.
    if (IsService(saved.service())) *assignment.add_members() = MemberOf(saved);
  }
  return assignment;
}

}  // namespace

void Ownership::Restore(const storage::v1::AssignmentRecord& saved, absl::Time now) {
  assignment_ = AssignmentOf(saved);
  past_.Restore(saved);
  highest_seen_ = saved.epoch();
  for (const auto& member : saved.members()) {
    if (!IsService(member.service())) continue;
    Replica& replica = replicas_[{member.service(), member.replica()}];
    replica.member = MemberOf(member);
    replica.name_secret_digest = member.name_secret_digest();
    replica.active = replica.awaited = true;
    replica.since = now;
  }
  for (const auto& saved_slots : saved.slots()) {
    if (!IsService(saved_slots.service())) continue;
    const Shares shares(assignment_, saved_slots.service());
    std::vector<Slot>& slots = slots_[saved_slots.service() - 1];
    for (uint32_t i = 0; i < kSlotCount && static_cast<int>(i) < saved_slots.epochs_size(); ++i) {
      const v1::Member* owner = shares.OwnerOf(i);
      slots[i].owner.epoch = saved_slots.epochs(static_cast<int>(i));
      if (owner != nullptr) {
        slots[i].owner.replica = owner->replica();
        slots[i].owner.incarnation = owner->incarnation();
        Apply(slots[i], SlotEvent::kRestored);
      }
      // A slot without an owner had one before, if it has an epoch.
      slots[i].restored = slots[i].owner.epoch > 0;
      slots[i].target = slots[i].owner;
      slots[i].since = now;
    }
  }
}

absl::Status Ownership::CheckEpochs(const v1::Hello& hello) const {
  const int64_t saved = assignment_.epoch();
  const bool is_member =
      std::any_of(assignment_.members().begin(), assignment_.members().end(), [&](const auto& member) {
        return member.service() == hello.self().service() && member.replica() == hello.self().replica();
      });
  // The saved record may be lost entirely, or only the newest one: then the members in the one that is left know later
  // epochs.
  const int64_t most_ahead = saved == 0 || is_member ? kMostEpochsAhead : 0;
  const auto check = [saved, most_ahead](std::string_view what, int64_t epoch) {
    // The check uses no sum, which could overflow.
    if (epoch >= 0 && epoch - saved <= most_ahead) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      fmt::format("{} cannot be: the gateway is in epoch {}, the replica reports {}; its store is "
                                  "damaged: start it with an empty one",
                                  what, saved, epoch));
  };
  BASALT_RETURN_IF_ERROR(check("the last epoch", hello.last_epoch()));
  for (const v1::RecordInventory& held : hello.record_inventory()) {
    BASALT_RETURN_IF_ERROR(check("the epoch of held slots", held.epoch()));
  }
  return absl::OkStatus();
}

size_t Ownership::TakeHeld(const v1::Hello& hello, Replica& replica) const {
  const v1::Member& member = hello.self();
  replica.held.assign(hello.record_inventory_size() > 0 ? kSlotCount : 0, 0);
  replica.history = replica.held;
  size_t refused = 0;
  for (const v1::RecordInventory& held : hello.record_inventory()) {
    const PastMembers::Owners then = past_.OwnersAt(assignment_, member.service(), held.epoch());
    std::vector<int64_t>& epochs = held.only_history() ? replica.history : replica.held;
    for (const uint32_t slot : held.slots()) {
      if (then.MayBeOf(member.replica(), slot)) {
        epochs[slot] = std::max(epochs[slot], held.epoch());
      } else {
        ++refused;
      }
    }
  }
  return refused;
}

size_t Ownership::Attach(const v1::Hello& hello, std::string_view name_secret_digest, absl::Time now) {
  const v1::Member& member = hello.self();
  highest_seen_ = std::max(highest_seen_, hello.last_epoch());
  Replica& replica = replicas_[{member.service(), member.replica()}];
  replica.member = member;
  replica.attached = true;
  replica.leaving = false;
  replica.awaited = false;
  replica.keeps_records = hello.keeps_records();
  replica.since = now;
  replica.name_secret_digest = name_secret_digest;
  const size_t refused = TakeHeld(hello, replica);
  std::vector<Slot>& slots = slots_[member.service() - 1];
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    Slot& slot = slots[i];
    // A new stream holds nothing of a slot that is to move.
    slot.released |= slot.state == SlotState::kReleasing && slot.owner.replica == member.replica();
    const bool has_newest =
        !replica.held.empty() && slot.owner.SameProcess(member) && replica.held[i] == slot.owner.epoch;
    if (has_newest) slot.records_epoch = slot.owner.epoch;
  }
  return refused;
}

bool Ownership::HasOtherSecret(const v1::Member& member, std::string_view name_secret_digest) const {
  const auto it = replicas_.find({member.service(), member.replica()});
  return it != replicas_.end() && !it->second.name_secret_digest.empty() &&
         it->second.name_secret_digest != name_secret_digest;
}

void Ownership::Detach(const v1::Member& member, absl::Time now) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end() || it->second.member.incarnation() != member.incarnation()) return;
  it->second.attached = false;
  it->second.since = now;
  if (!IsService(member.service())) return;
  // The replica is sent its grants again later. Records that others were to fetch from it may be available elsewhere,
  // or not at all.
  for (Slot& slot : slots_[member.service() - 1]) {
    const bool owns = slot.owner.replica == member.replica();
    if (!owns && slot.source != member.replica()) continue;
    slot.source.clear();
    Apply(slot, owns ? SlotEvent::kOwnerDetached : SlotEvent::kSourceDetached);
  }
}

void Ownership::Release(const v1::Member& member, const v1::Released& released) {
  if (!IsService(member.service())) return;
  for (const uint32_t i : released.slots()) {
    if (i >= kSlotCount) continue;
    Slot& slot = slots_[member.service() - 1][i];
    // The release answers the assignment that took the slot away, or a later one.
    const bool of_this_move = slot.owner.SameProcess(member) && released.epoch() >= slot.target.epoch;
    slot.released |= slot.state == SlotState::kReleasing && of_this_move;
  }
}

std::optional<storage::v1::AssignmentRecord> Ownership::Propose(absl::Time now) {
  Expire(now);
  for (int service = 1; service <= kServiceKinds; ++service) Activate(service, now);
  v1::Assignment wanted = Wanted();
  // A replica knows an epoch that was never saved here: the saved record is lost, and so are the slots' epochs.
  const bool lost = highest_seen_ > assignment_.epoch();
  if (SameMembers(wanted, assignment_) && !lost) return std::nullopt;
  wanted.set_epoch(std::max(assignment_.epoch(), highest_seen_) + 1);
  storage::v1::AssignmentRecord record;
  record.set_epoch(wanted.epoch());
  for (const v1::Member& member : wanted.members()) {
    auto& saved = *record.add_members();
    saved.set_service(member.service());
    saved.set_replica(member.replica());
    saved.set_incarnation(member.incarnation());
    saved.set_address(member.address());
    saved.set_name_secret_digest(replicas_.at({member.service(), member.replica()}).name_secret_digest);
  }
  PastMembers past = past_;
  past.Add(assignment_, record);
  past.Save(record);
  for (int service = 1; service <= kServiceKinds; ++service) {
    const Shares shares(wanted, service);
    auto& saved = *record.add_slots();
    saved.set_service(service);
    for (const Slot& slot : slots_[service - 1]) {
      const v1::Member* owner = shares.OwnerOf(static_cast<uint32_t>(saved.epochs_size()));
      const bool same = owner == nullptr ? slot.target.replica.empty() : slot.target.SameProcess(*owner);
      saved.add_epochs(same && !lost ? slot.target.epoch : wanted.epoch());
    }
  }
  return record;
}

void Ownership::Adopt(const storage::v1::AssignmentRecord& record, absl::Time now) {
  assignment_ = AssignmentOf(record);
  past_.Restore(record);
  highest_seen_ = std::max(highest_seen_, record.epoch());
  for (const auto& saved : record.slots()) {
    const Shares shares(assignment_, saved.service());
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      Slot& slot = slots_[saved.service() - 1][i];
      const int64_t epoch = saved.epochs(static_cast<int>(i));
      if (epoch == slot.target.epoch) continue;
      const v1::Member* owner = shares.OwnerOf(i);
      slot.target =
          owner == nullptr ? SlotHolder{"", "", epoch} : SlotHolder{owner->replica(), owner->incarnation(), epoch};
      slot.since = now;
      Apply(slot, SlotEvent::kAssigned);
    }
  }
}

absl::Status Ownership::Check(const v1::Owner& sender) const {
  const v1::Member& member = sender.member();
  if (!IsService(member.service()) || sender.slot() >= kSlotCount) {
    return Invalid(fmt::format("owner names service {} and slot {}; slots are 0 to {}",
                               static_cast<int>(member.service()), sender.slot(), kSlotCount - 1));
  }
  const SlotHolder& owner = Get(member.service(), sender.slot()).owner;
  if (!owner.replica.empty() && owner.SameProcess(member) && owner.epoch == sender.slot_epoch()) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("slot {} of {} belongs to {}, not to '{}' ({}) in epoch {}", sender.slot(),
                                v1::ServiceKind_Name(member.service()),
                                owner.replica.empty() ? std::string("nobody")
                                                      : fmt::format("'{}' ({}) in epoch {}", owner.replica,
                                                                    owner.incarnation, owner.epoch),
                                member.replica(), member.incarnation(), sender.slot_epoch()));
}

}  // namespace basalt::gateway
