#include "common/rpc/held_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace basalt::rpc {
namespace {

TEST(HeldSlotsTest, AreGroupedByEpochAndKindAndComeBackAsTheyWere) {
  using Held = std::tuple<uint32_t, int64_t, bool>;
  const std::vector<Held> held = {{1, 7, false}, {2, 8, false}, {3, 7, true}, {4, 7, false}, {5, 8, false}};
  gateway::v1::Hello hello;
  for (const auto& [slot, epoch, only_history] : held)
    AddHeldSlot(slot, epoch, only_history, *hello.mutable_record_inventory());
  EXPECT_EQ(hello.record_inventory_size(), 3) << "of epoch 7, of 8, and history of 7";
  std::vector<Held> visited;
  ForEachHeldSlot(hello.record_inventory(), [&](uint32_t slot, int64_t epoch, bool only_history) {
    visited.emplace_back(slot, epoch, only_history);
  });
  EXPECT_THAT(visited, ::testing::UnorderedElementsAreArray(held));
}

}  // namespace
}  // namespace basalt::rpc
