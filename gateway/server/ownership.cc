#include "gateway/server/ownership.h"

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

// The members of one service, and who of them owns a slot.
class Shares {
 public:
  Shares(const v1::Assignment& assignment, int service) {
    for (const v1::Member& member : assignment.members()) {
      if (member.service() != service) continue;
      names_.push_back(member.replica());
      members_.push_back(&member);
    }
  }
  // Null: there is nobody.
  const v1::Member* OwnerOf(uint32_t slot) const {
    return members_.empty() ? nullptr : members_[RendezvousOwner(names_, slot)];
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<const v1::Member*> members_;
};

v1::Assignment AssignmentOf(const storage::v1::AssignmentRecord& record) {
  v1::Assignment assignment;
  assignment.set_epoch(record.epoch());
  for (const auto& saved : record.members()) {
    v1::Member& member = *assignment.add_members();
    member.set_service(static_cast<v1::ServiceKind>(saved.service()));
    member.set_replica(saved.replica());
    member.set_incarnation(saved.incarnation());
    member.set_address(saved.address());
  }
  return assignment;
}

}  // namespace

void Ownership::Restore(const storage::v1::AssignmentRecord& saved, absl::Time now) {
  assignment_ = AssignmentOf(saved);
  highest_seen_ = saved.epoch();
  for (const v1::Member& member : assignment_.members()) {
    Replica& replica = replicas_[{member.service(), member.replica()}];
    replica.member = member;
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
      }
      // What is nobody's was somebody's before, if it has an epoch.
      slots[i].restored = slots[i].owner.epoch > 0;
      slots[i].target = slots[i].owner;
      slots[i].since = now;
    }
  }
}

absl::Status Ownership::CheckEpochs(const v1::Hello& hello) const {
  const int64_t saved = assignment_.epoch();
  const auto check = [saved](std::string_view what, int64_t epoch) {
    // Without a sum, which could be too large.
    if (epoch >= 0 && epoch - saved <= kMostEpochsAhead) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      fmt::format("{} cannot be: the gateway is in epoch {}, the replica reports {}; its store is "
                                  "damaged: start it with an empty one",
                                  what, saved, epoch));
  };
  BASALT_RETURN_IF_ERROR(check("the last epoch", hello.last_epoch()));
  for (const v1::HeldSlots& held : hello.held()) {
    BASALT_RETURN_IF_ERROR(check("the epoch of held slots", held.epoch()));
  }
  return absl::OkStatus();
}

void Ownership::Attach(const v1::Hello& hello, absl::Time now) {
  const v1::Member& member = hello.self();
  highest_seen_ = std::max(highest_seen_, hello.last_epoch());
  Replica& replica = replicas_[{member.service(), member.replica()}];
  replica.member = member;
  replica.attached = true;
  replica.leaving = false;
  replica.awaited = false;
  replica.keeps_records = hello.keeps_records();
  replica.since = now;
  replica.held.assign(hello.held_size() > 0 ? kSlotCount : 0, 0);
  replica.history = replica.held;
  rpc::ForEachHeldSlot(hello.held(), [&](uint32_t slot, int64_t epoch, bool only_history) {
    if (slot >= kSlotCount) return;
    int64_t& newest = (only_history ? replica.history : replica.held)[slot];
    newest = std::max(newest, epoch);
  });
  if (!IsService(member.service())) return;
  std::vector<Slot>& slots = slots_[member.service() - 1];
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    Slot& slot = slots[i];
    slot.released |= slot.owner.replica == member.replica();
    const bool has_newest =
        !replica.held.empty() && slot.owner.SameProcess(member) && replica.held[i] == slot.owner.epoch;
    if (has_newest) slot.records_epoch = slot.owner.epoch;
  }
}

void Ownership::Detach(const v1::Member& member, absl::Time now) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end() || it->second.member.incarnation() != member.incarnation()) return;
  it->second.attached = false;
  it->second.since = now;
}

void Ownership::Release(const v1::Member& member, const v1::Released& released) {
  if (!IsService(member.service())) return;
  for (const uint32_t i : released.slots()) {
    if (i >= kSlotCount) continue;
    Slot& slot = slots_[member.service() - 1][i];
    // It answers the assignment that took the slot away, or a later one.
    if (slot.owner.SameProcess(member) && released.epoch() >= slot.target.epoch) slot.released = true;
  }
}

void Ownership::Leave(const v1::Member& member) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it != replicas_.end() && it->second.member.incarnation() == member.incarnation()) it->second.leaving = true;
}

void Ownership::NoteRecords(v1::ServiceKind service, uint32_t i) {
  Slot& slot = slots_[service - 1][i];
  const auto it = replicas_.find({service, slot.owner.replica});
  if (it == replicas_.end() || !it->second.keeps_records) return;
  slot.records_epoch = slot.owner.epoch;
  if (it->second.held.empty()) {
    it->second.held.assign(kSlotCount, 0);
    it->second.history = it->second.held;
  }
  it->second.held[i] = slot.owner.epoch;
  it->second.history[i] = 0;
}

void Ownership::Cleared(const v1::Leftovers& leftovers) {
  const v1::Member& source = leftovers.source();
  const auto it = replicas_.find({source.service(), source.replica()});
  if (it == replicas_.end() || it->second.held.empty()) return;
  if (it->second.member.incarnation() != source.incarnation()) return;
  rpc::ForEachHeldSlot(leftovers.held(), [&](uint32_t slot, int64_t epoch, bool) {
    if (slot >= kSlotCount) return;
    for (std::vector<int64_t>* epochs : {&it->second.held, &it->second.history}) {
      if ((*epochs)[slot] == epoch) (*epochs)[slot] = 0;
    }
  });
}

bool Ownership::HadRecords(v1::ServiceKind service, uint32_t i) const {
  const Slot& slot = Get(service, i);
  const auto owner = replicas_.find({service, slot.owner.replica});
  return owner != replicas_.end() && owner->second.keeps_records && (slot.restored || slot.records_epoch > 0);
}

bool Ownership::Holds(const v1::Member& member, uint32_t slot) const {
  const auto it = replicas_.find({member.service(), member.replica()});
  return it != replicas_.end() && it->second.HistoryOf(slot) != 0;
}

std::vector<Ownership::Leftover> Ownership::FindLeftovers(v1::ServiceKind service, uint32_t i) const {
  std::vector<Leftover> leftovers;
  const Slot& slot = Get(service, i);
  // The records that its owner has now are the newest.
  if (slot.owner.epoch == 0 || slot.records_epoch != slot.owner.epoch) return leftovers;
  for (auto it = replicas_.lower_bound({service, ""}); it != replicas_.end() && it->first.first == service; ++it) {
    const Replica& replica = it->second;
    const int64_t epoch = replica.attached ? replica.HistoryOf(i) : 0;
    if (epoch != 0 && !slot.owner.SameProcess(replica.member)) leftovers.push_back({replica.member, epoch});
  }
  return leftovers;
}

bool Ownership::IsPresent(v1::ServiceKind service, const std::string& replica) const {
  return replicas_.contains({service, replica});
}

bool Ownership::AnybodyStays(v1::ServiceKind service) const {
  return std::any_of(replicas_.begin(), replicas_.end(), [service](const auto& entry) {
    return entry.first.first == service && entry.second.attached && !entry.second.leaving;
  });
}

bool Ownership::IsLeaving(v1::ServiceKind service, const std::string& replica) const {
  const auto it = replicas_.find({service, replica});
  return it != replicas_.end() && it->second.leaving;
}

std::pair<int, int> Ownership::Attached(v1::ServiceKind service) const {
  int attached = 0;
  for (const auto& [key, replica] : replicas_) attached += key.first == service && replica.attached ? 1 : 0;
  const auto expected = options_.expected.find(service);
  return {attached, expected == options_.expected.end() ? 0 : expected->second};
}

void Ownership::Expire(absl::Time now) {
  std::erase_if(replicas_, [&](const auto& entry) {
    const Replica& replica = entry.second;
    // What is no member has nothing to come back to.
    if (replica.attached || (replica.active && replica.since + options_.grace > now)) return false;
    expired_.push_back(replica.member.service());
    return true;
  });
}

absl::Time Ownership::FormationEnd(int service, absl::Time first) const {
  const auto [attached, expected] = Attached(static_cast<v1::ServiceKind>(service));
  if (expected == 0) return first + options_.formation;
  return attached >= expected ? absl::InfinitePast() : first + options_.grace;
}

void Ownership::Activate(int service, absl::Time now) {
  bool any_active = false;
  const bool anybody_stays = AnybodyStays(static_cast<v1::ServiceKind>(service));
  absl::Time first = absl::InfiniteFuture();
  for (const auto& [key, replica] : replicas_) {
    if (key.first != service) continue;
    any_active |= replica.active;
    first = std::min(first, replica.since);
  }
  if (!any_active && (first == absl::InfiniteFuture() || FormationEnd(service, first) > now)) return;
  for (auto& [key, replica] : replicas_) {
    if (key.first == service) replica.active = !replica.leaving || !anybody_stays;
  }
}

v1::Assignment Ownership::Wanted() const {
  v1::Assignment wanted;
  for (const auto& [key, replica] : replicas_) {
    if (replica.active) *wanted.add_members() = replica.member;
  }
  return wanted;
}

std::optional<storage::v1::AssignmentRecord> Ownership::Propose(absl::Time now) {
  Expire(now);
  for (int service = 1; service <= kServiceKinds; ++service) Activate(service, now);
  v1::Assignment wanted = Wanted();
  // A replica has seen an epoch that was never saved here: what was saved is lost, and so are the slots' epochs.
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
  }
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
    }
  }
}

std::vector<Ownership::Change> Ownership::TransferReadySlots(absl::Time now) {
  std::vector<Change> changes;
  next_overdue_ = absl::InfiniteFuture();
  for (int service = 1; service <= kServiceKinds; ++service) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      Slot& slot = slots_[service - 1][i];
      if (slot.owner.epoch == slot.target.epoch) {
        slot.released = false;
        continue;
      }
      const auto found = replicas_.find({service, slot.owner.replica});
      const bool lives = found != replicas_.end() && found->second.member.incarnation() == slot.owner.incarnation;
      // To the very process that has it, it begins anew.
      const bool returns = lives && slot.target.SameProcess(found->second.member);
      const absl::Time overdue = slot.since + options_.release_timeout;
      if (lives && !returns && !slot.released && now < overdue) {
        next_overdue_ = std::min(next_overdue_, overdue);
        continue;
      }
      changes.push_back({kind, i, slot.owner.replica});
      slot.owner = slot.target;
      slot.released = false;
    }
  }
  return changes;
}

absl::Time Ownership::NextDeadline() const {
  absl::Time deadline = next_overdue_;
  for (int service = 1; service <= kServiceKinds; ++service) {
    bool any_active = false;
    absl::Time first = absl::InfiniteFuture();
    for (const auto& [key, replica] : replicas_) {
      if (key.first != service) continue;
      any_active |= replica.active;
      first = std::min(first, replica.since);
      if (!replica.attached) deadline = std::min(deadline, replica.since + options_.grace);
    }
    if (!any_active && first != absl::InfiniteFuture()) deadline = std::min(deadline, FormationEnd(service, first));
  }
  return deadline;
}

Ownership::Source Ownership::FindSource(v1::ServiceKind service, uint32_t i) const {
  const Slot& slot = Get(service, i);
  Source source;
  const Replica* holder = nullptr;
  bool awaited = false;
  for (auto it = replicas_.lower_bound({service, ""}); it != replicas_.end() && it->first.first == service; ++it) {
    const Replica& replica = it->second;
    awaited |= replica.awaited;
    if (replica.held.empty() || replica.held[i] == 0 || replica.held[i] <= source.epoch) continue;
    const int64_t held = replica.held[i];
    if (slot.owner.SameProcess(replica.member) && held == slot.owner.epoch) return {slot.owner.replica, held, false};
    // Owners after the one that is known to have stored records may have stored some: then theirs are newer.
    if (held < slot.records_epoch || held >= slot.owner.epoch) continue;
    source = {replica.member.replica(), held, false};
    holder = &replica;
  }
  const bool certain = holder != nullptr && source.epoch == slot.records_epoch && slot.records_epoch > 0;
  source.wait = holder == nullptr ? awaited : !holder->attached || (awaited && !certain);
  return source;
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
