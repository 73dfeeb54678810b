// Moves slots from owner to owner.
#include <algorithm>
#include <utility>

#include "gateway/ownership/ownership.h"

namespace basalt::gateway {

std::vector<Ownership::Change> Ownership::TransferReadySlots(absl::Time now) {
  std::vector<Change> changes;
  next_overdue_ = absl::InfiniteFuture();
  for (int service = 1; service <= kServiceKinds; ++service) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      Slot& slot = slots_[service - 1][i];
      if (slot.state != SlotState::kReleasing) continue;
      const auto found = replicas_.find({service, slot.owner.replica});
      const bool lives = found != replicas_.end() && found->second.member.incarnation() == slot.owner.incarnation;
      // A slot that returns to the very process that has it begins anew.
      const bool returns = lives && slot.target.SameProcess(found->second.member);
      const absl::Time overdue = slot.since + options_.release_timeout;
      if (lives && !returns && !slot.released && now < overdue) {
        next_overdue_ = std::min(next_overdue_, overdue);
        continue;
      }
      changes.push_back({kind, i, slot.owner.replica});
      slot.owner = slot.target;
      slot.released = false;
      slot.moving = true;
      slot.source.clear();
      slot.lost.clear();
      Apply(slot, slot.owner.replica.empty() ? SlotEvent::kVacated : SlotEvent::kTransferred);
    }
  }
  return changes;
}

void Ownership::NoteDrained(v1::ServiceKind service, uint32_t i) { Apply(slots_[service - 1][i], SlotEvent::kDrained); }

void Ownership::NoteGranted(v1::ServiceKind service, uint32_t i, const Source& source) {
  Slot& slot = slots_[service - 1][i];
  slot.source = source.replica;
  slot.source_epoch = source.epoch;
  Apply(slot, SlotEvent::kGranted);
}

void Ownership::NoteTaken(v1::ServiceKind service, uint32_t i, bool lost) {
  Slot& slot = slots_[service - 1][i];
  if (lost) slot.lost.emplace_back(slot.source, slot.source_epoch);
  slot.source.clear();
  Apply(slot, SlotEvent::kTaken);
  NoteRecords(service, i);
}

bool Ownership::NoteOpened(v1::ServiceKind service, uint32_t i) {
  Slot& slot = slots_[service - 1][i];
  slot.source.clear();
  Apply(slot, SlotEvent::kOpened);
  return std::exchange(slot.moving, false);
}

}  // namespace basalt::gateway
