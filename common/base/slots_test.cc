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

struct WeightCase {
  std::string_view member;
  uint32_t slot;
  uint64_t weight;
};

TEST(SlotsTest, TheWeightOfAMemberForASlotStaysTheSameForEver) {
  for (const WeightCase& c :
       {WeightCase{"jobsvc-0", 0, 0x7c3e6491c7c060a5}, WeightCase{"jobsvc-0", 1023, 0x5faa50a5c867876c},
        WeightCase{"jobsvc-1", 0, 0x4bff11bd62ddd38d}, WeightCase{"pgsvc-2", 439, 0x388439cf6667e961},
        WeightCase{"", 7, 0x9559efa30f5d9071}}) {
    EXPECT_EQ(RendezvousWeight(c.member, c.slot), c.weight) << c.member << " " << c.slot;
  }
}

TEST(SlotsTest, OwnersOfAllSlotsAreThoseOfEach) {
  EXPECT_TRUE(RendezvousOwners({}).empty());
  const std::vector<std::string_view> members = {"jobsvc-0", "jobsvc-1", "jobsvc-2"};
  const std::vector<size_t> owners = RendezvousOwners(members);
  ASSERT_EQ(owners.size(), kSlotCount);
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_EQ(owners[slot], RendezvousOwner(members, slot));
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
