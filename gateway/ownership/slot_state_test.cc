#include "gateway/ownership/slot_state.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace basalt::gateway {
namespace {

constexpr SlotState kStates[] = {SlotState::kUnowned, SlotState::kReleasing,   SlotState::kDraining,
                                 SlotState::kWaiting, SlotState::kHandingOver, SlotState::kOpen};
constexpr std::string_view kLetters = "URDWHO";  // In the order of kStates, which is that of SlotState.

struct Row {
  SlotEvent event;
  std::string_view want;  // Where the event leads from each state, in letters.
  std::string_view name;
};

constexpr Row kRows[] = {
    {SlotEvent::kRestored, "DRDWHO", "restored"},
    {SlotEvent::kAssigned, "RRRRRR", "assigned"},
    {SlotEvent::kTransferred, "UDDWHO", "transferred"},
    {SlotEvent::kVacated, "UUDWHO", "vacated"},
    {SlotEvent::kDrained, "URWWHO", "drained"},
    {SlotEvent::kGranted, "URDHHO", "granted"},
    {SlotEvent::kTaken, "URDWWO", "taken"},
    {SlotEvent::kOpened, "URDOOO", "opened"},
    {SlotEvent::kOwnerDetached, "URDWWW", "owner detached"},
    {SlotEvent::kSourceDetached, "URDWWO", "source detached"},
};

TEST(SlotStateTest, EachEventLeadsFromEachStateToOne) {
  ASSERT_EQ(std::size(kStates), kLetters.size());
  for (const Row& row : kRows) {
    std::string got;
    for (const SlotState from : kStates) got += kLetters[static_cast<size_t>(NextState(from, row.event))];
    EXPECT_EQ(got, row.want) << row.name;
  }
}

// Correctness 4: an owner receives nothing about a slot before the writes of earlier owners are over.
TEST(SlotStateTest, NothingButTheEndOfEarlierWritesLeadsToRecordsOrStates) {
  for (const SlotState from : {SlotState::kUnowned, SlotState::kReleasing, SlotState::kDraining}) {
    for (const Row& row : kRows) {
      const bool leads_on = NextState(from, row.event) > SlotState::kDraining;
      EXPECT_EQ(leads_on, from == SlotState::kDraining && row.event == SlotEvent::kDrained) << row.name;
    }
  }
}

TEST(SlotStateTest, ASlotChangesItsOwnerOnlyFromReleasing) {
  for (const SlotEvent event : {SlotEvent::kTransferred, SlotEvent::kVacated}) {
    for (const SlotState from : kStates) {
      if (from == SlotState::kReleasing) continue;
      EXPECT_EQ(NextState(from, event), from);
    }
  }
}

}  // namespace
}  // namespace basalt::gateway
