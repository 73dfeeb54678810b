#pragma once

// How far a slot is on its way to its owner: one value, and the table of its transitions. docs/contracts.md, Hand-over
// of slots, has the picture; the rules are those of correctness 4 and 5. Pure; `Ownership` keeps the values.

namespace basalt::gateway {

enum class SlotState {
  kUnowned,    // The slot has no owner and no target.
  kReleasing,  // Another owner, or nobody, is assigned. The former owner may write until it has released the slot.
  kDraining,   // The owner may write, but receives nothing yet: a write of an earlier owner may be under way.
  // The slot waits for the stream of the owner, or of a replica that has the newest records or may have some.
  kWaiting,
  kHandingOver,  // The owner was sent a grant to fetch the records from another replica.
  kOpen,         // The owner's stream sends it the content of the slot.
};

enum class SlotEvent {
  kRestored,        // The assignment with which a leader begins names an owner.
  kAssigned,        // A new assignment names another owner, or nobody.
  kTransferred,     // The assigned member is the owner now.
  kVacated,         // Nobody was assigned, and the slot has no owner now.
  kDrained,         // No write of an earlier owner is under way.
  kGranted,         // The owner was sent a grant, which names the source of the records.
  kTaken,           // The owner has reported that it has the records, or that they cannot be had.
  kOpened,          // The owner's stream begins the slot.
  kOwnerDetached,   // The owner's stream has ended.
  kSourceDetached,  // The stream of the replica that has the records has ended.
};

// An event without a transition from the state leaves the state unchanged.
SlotState NextState(SlotState state, SlotEvent event);

}  // namespace basalt::gateway
