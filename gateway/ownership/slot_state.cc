#include "gateway/ownership/slot_state.h"

namespace basalt::gateway {
namespace {

struct SlotTransition {
  SlotState from;
  SlotEvent event;
  SlotState to;
};

constexpr SlotTransition kSlotTransitions[] = {
    {SlotState::kUnowned, SlotEvent::kRestored, SlotState::kDraining},
    {SlotState::kUnowned, SlotEvent::kAssigned, SlotState::kReleasing},

    {SlotState::kReleasing, SlotEvent::kTransferred, SlotState::kDraining},
    {SlotState::kReleasing, SlotEvent::kVacated, SlotState::kUnowned},

    {SlotState::kDraining, SlotEvent::kAssigned, SlotState::kReleasing},
    {SlotState::kDraining, SlotEvent::kDrained, SlotState::kWaiting},

    {SlotState::kWaiting, SlotEvent::kAssigned, SlotState::kReleasing},
    {SlotState::kWaiting, SlotEvent::kGranted, SlotState::kHandingOver},
    {SlotState::kWaiting, SlotEvent::kOpened, SlotState::kOpen},

    {SlotState::kHandingOver, SlotEvent::kAssigned, SlotState::kReleasing},
    {SlotState::kHandingOver, SlotEvent::kTaken, SlotState::kWaiting},
    // The owner turned out to have the newest records itself, or no replica to have any.
    {SlotState::kHandingOver, SlotEvent::kOpened, SlotState::kOpen},
    {SlotState::kHandingOver, SlotEvent::kOwnerDetached, SlotState::kWaiting},
    {SlotState::kHandingOver, SlotEvent::kSourceDetached, SlotState::kWaiting},

    {SlotState::kOpen, SlotEvent::kAssigned, SlotState::kReleasing},
    {SlotState::kOpen, SlotEvent::kOwnerDetached, SlotState::kWaiting},
};

}  // namespace

SlotState NextState(SlotState state, SlotEvent event) {
  for (const SlotTransition& transition : kSlotTransitions) {
    if (transition.from == state && transition.event == event) return transition.to;
  }
  return state;
}

}  // namespace basalt::gateway
