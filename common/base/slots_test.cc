#include "common/base/slots.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace basalt {
namespace {

struct FnvCase {
  std::string_view key;
  uint32_t hash;
};

TEST(SlotsTest, Fnv1MeetsTheVectorsOfTheJobSpec) {
  for (const FnvCase& c : {FnvCase{"", 0x811c9dc5}, FnvCase{"a", 0x050c5d7e}, FnvCase{"default/job1", 0xdb71798d},
                           FnvCase{"default/train-resnet", 0x0d00a3cf}, FnvCase{"ns-1/mpi-job", 0x60233165},
                           FnvCase{"kube-system/x", 0x62e085f1}}) {
    EXPECT_EQ(Fnv1(c.key), c.hash) << c.key;
  }
}

TEST(SlotsTest, AJoiningMemberTakesOnlyItsShareAndNothingElseMoves) {
  const std::vector<std::string_view> three = {"jobsvc-0", "jobsvc-1", "jobsvc-2"};
  const std::vector<std::string_view> four = {"jobsvc-0", "jobsvc-1", "jobsvc-2", "jobsvc-3"};
  size_t moved = 0;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    const size_t before = RendezvousOwner(three, slot);
    const size_t after = RendezvousOwner(four, slot);
    if (after != before) {
      EXPECT_EQ(after, 3U) << "slot " << slot;
      ++moved;
    }
  }
  EXPECT_LE(moved, kSlotCount * 12 / 40);
  EXPECT_GE(moved, kSlotCount * 8 / 40);
}

}  // namespace
}  // namespace basalt
