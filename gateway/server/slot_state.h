#pragma once

// How far a slot is on its way to its owner: one value, and the table of what leads from where to where. The picture is
// in docs/contracts.md, Hand-over of slots; the rules are those of correctness 4 and 5. Pure; `Ownership` keeps the
// values.

namespace basalt::gateway {

enum class SlotState {
  kUnowned,      // The slot is nobody's, and is to be nobody's.
  kReleasing,    // Another owner, or nobody, is assigned. The owner before may write until it has released the slot.
  kDraining,     // The owner may write, and is told nothing yet: a write of an earlier owner may be under way.
  kWaiting,      // The stream of the owner is waited for, or that of whoever has the newest records, or may have some.
  kHandingOver,  // The owner was told to fetch the records from another replica.
  kOpen,         // The owner's stream tells it what is in the slot.
};

enum class SlotEvent {
  kRestored,        // The assignment with which a leader begins names an owner.
  kAssigned,        // A new assignment names another owner, or nobody.
  kTransferred,     // Who was assigned is the owner now.
  kVacated,         // Nobody was assigned, and nobody is the owner now.
  kDrained,         // No write of an earlier owner is under way.
  kGranted,         // The owner was told who has the records.
  kTaken,           // The owner has said that it has the records, or that they cannot be had.
  kOpened,          // The owner's stream begins the slot.
  kOwnerDetached,   // The owner's stream has ended.
  kSourceDetached,  // The stream of the replica that has the records has ended.
};

// An event that the table does not have for the state leaves the slot where it is.
SlotState NextState(SlotState state, SlotEvent event);

}  // namespace basalt::gateway
