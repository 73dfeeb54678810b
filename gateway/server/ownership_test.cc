#include "gateway/server/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

constexpr v1::ServiceKind kJob = v1::SERVICE_KIND_JOB;

v1::Member Replica(const std::string& name, const std::string& incarnation = "a",
                   v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
  v1::Member member;
  member.set_service(service);
  member.set_replica(name);
  member.set_incarnation(incarnation);
  return member;
}

class OwnershipTest : public ::testing::Test {
 protected:
  std::map<std::string, int> Share(const Ownership& ownership) {
    std::map<std::string, int> share;
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) ++share[ownership.Get(kJob, slot).replica];
    return share;
  }
  absl::Time now = absl::FromUnixSeconds(1'000'000);
};

TEST_F(OwnershipTest, ReplicasThatStartTogetherShareTheSlots) {
  Ownership ownership;
  ownership.Attach(Replica("r-0"), 0, now);
  EXPECT_FALSE(ownership.Settle(now).assignment);
  ownership.Attach(Replica("r-1"), 0, now + absl::Milliseconds(300));
  EXPECT_EQ(ownership.NextDeadline(), now + absl::Milliseconds(500));
  const auto changes = ownership.Settle(now + absl::Milliseconds(500));
  EXPECT_TRUE(changes.assignment);
  EXPECT_EQ(changes.slots.size(), kSlotCount);
  EXPECT_GT(Share(ownership)["r-0"], 400);
  EXPECT_GT(Share(ownership)["r-1"], 400);
  EXPECT_EQ(ownership.assignment().epoch(), 1);
}

TEST_F(OwnershipTest, AReplicaThatComesLaterIsASpareUntilNobodyIsLeft) {
  Ownership ownership;
  ownership.Attach(Replica("r-0"), 0, now);
  now += absl::Seconds(1);
  ownership.Settle(now);
  ownership.Attach(Replica("r-1"), 0, now);
  EXPECT_FALSE(ownership.Settle(now + absl::Seconds(1)).assignment);
  ownership.Detach(Replica("r-0"), now);
  EXPECT_EQ(ownership.NextDeadline(), now + absl::Seconds(5));
  EXPECT_TRUE(ownership.Settle(now + absl::Seconds(4)).slots.empty());
  EXPECT_EQ(ownership.Settle(now + absl::Seconds(5)).slots.size(), kSlotCount);
  EXPECT_EQ(Share(ownership)["r-1"], static_cast<int>(kSlotCount));
}

TEST_F(OwnershipTest, AReplicaThatIsBackWithinTheGraceKeepsSlotsAndEpoch) {
  Ownership ownership({.formation = absl::ZeroDuration()});
  ownership.Attach(Replica("r-0"), 0, now);
  ownership.Settle(now);
  ownership.Detach(Replica("r-0"), now);
  ownership.Attach(Replica("r-0"), 1, now + absl::Seconds(4));
  const auto changes = ownership.Settle(now + absl::Seconds(9));
  EXPECT_FALSE(changes.assignment);
  EXPECT_TRUE(changes.slots.empty());
}

TEST_F(OwnershipTest, AnotherIncarnationIsAnotherOwner) {
  Ownership ownership({.formation = absl::ZeroDuration()});
  ownership.Attach(Replica("r-0", "a"), 0, now);
  ownership.Settle(now);
  v1::Owner owner;
  *owner.mutable_member() = Replica("r-0", "a");
  owner.set_slot(7);
  owner.set_slot_epoch(1);
  EXPECT_TRUE(ownership.Check(owner).ok());
  ownership.Detach(Replica("r-0", "a"), now);
  ownership.Attach(Replica("r-0", "b"), 1, now);
  EXPECT_EQ(ownership.Settle(now).slots.size(), kSlotCount);
  EXPECT_EQ(ownership.Get(kJob, 7).epoch, 2);
  const absl::Status stale = ownership.Check(owner);
  EXPECT_EQ(stale.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(stale.message()), HasSubstr("belongs to 'r-0' (b) in epoch 2, not to 'r-0' (a) in epoch 1"));
}

TEST_F(OwnershipTest, OnlyTheSlotsOfTheLostReplicaMove) {
  Ownership ownership({.formation = absl::ZeroDuration()});
  for (const char* name : {"r-0", "r-1", "r-2"}) ownership.Attach(Replica(name), 0, now);
  ownership.Settle(now);
  const int lost = Share(ownership)["r-1"];
  ownership.Detach(Replica("r-1"), now);
  const auto changes = ownership.Settle(now + absl::Seconds(6));
  EXPECT_EQ(static_cast<int>(changes.slots.size()), lost);
  for (const auto& change : changes.slots) {
    EXPECT_EQ(change.from, "r-1");
    EXPECT_EQ(ownership.Get(kJob, change.slot).epoch, 2);
  }
  int old_epoch = 0;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) old_epoch += ownership.Get(kJob, slot).epoch == 1;
  EXPECT_EQ(old_epoch, static_cast<int>(kSlotCount) - lost) << "a change elsewhere refuses nothing";
}

TEST_F(OwnershipTest, TheEpochIsAboveEveryOneReported) {
  Ownership ownership({.formation = absl::ZeroDuration()});
  ownership.Attach(Replica("r-0"), 41, now);
  ownership.Settle(now);
  EXPECT_EQ(ownership.assignment().epoch(), 42);
  ownership.Attach(Replica("q-0", "a", v1::SERVICE_KIND_QUEUE), 99, now);
  ownership.Settle(now);
  EXPECT_EQ(ownership.assignment().epoch(), 100);
  EXPECT_EQ(ownership.Get(kJob, 0).epoch, 42) << "its owner did not change";
}

TEST_F(OwnershipTest, WithRebalanceASlotMovesOnlyWhenItsLivingOwnerReleasesIt) {
  Ownership ownership({.formation = absl::ZeroDuration(), .rebalance = true});
  ownership.Attach(Replica("r-0"), 0, now);
  ownership.Settle(now);
  ownership.Attach(Replica("r-1"), 0, now);
  auto changes = ownership.Settle(now);
  EXPECT_TRUE(changes.assignment);
  EXPECT_TRUE(changes.slots.empty());
  v1::Released released;
  released.set_epoch(2);
  for (uint32_t slot = 0; slot < 100; ++slot) released.add_slots(slot);
  ownership.Release(Replica("r-0"), released);
  changes = ownership.Settle(now);
  EXPECT_GT(changes.slots.size(), 20u);
  for (const auto& change : changes.slots) EXPECT_LT(change.slot, 100u);
  released.set_epoch(1);
  released.add_slots(500);
  ownership.Release(Replica("r-0"), released);
  EXPECT_TRUE(ownership.Settle(now).slots.empty()) << "of an older assignment";
}

TEST_F(OwnershipTest, ANewStreamHoldsNothingThatIsToMove) {
  Ownership ownership({.formation = absl::ZeroDuration(), .rebalance = true});
  ownership.Attach(Replica("r-0"), 0, now);
  ownership.Settle(now);
  ownership.Attach(Replica("r-1"), 0, now);
  ownership.Settle(now);
  EXPECT_EQ(Share(ownership)["r-1"], 0);
  ownership.Detach(Replica("r-0"), now);
  EXPECT_TRUE(ownership.Settle(now).slots.empty());
  ownership.Attach(Replica("r-0"), 2, now);
  const size_t moved = ownership.Settle(now).slots.size();
  EXPECT_EQ(static_cast<int>(moved), Share(ownership)["r-1"]);
  EXPECT_GT(moved, 400u);
}

TEST_F(OwnershipTest, AnOwnerThatDoesNotReleaseLosesTheSlotInTheEnd) {
  Ownership ownership({.formation = absl::ZeroDuration(), .rebalance = true});
  ownership.Attach(Replica("r-0"), 0, now);
  ownership.Settle(now);
  ownership.Attach(Replica("r-1"), 0, now);
  ownership.Settle(now);
  EXPECT_EQ(ownership.NextDeadline(), now + absl::Seconds(30));
  EXPECT_TRUE(ownership.Settle(now + absl::Seconds(29)).slots.empty());
  EXPECT_GT(ownership.Settle(now + absl::Seconds(30)).slots.size(), 400u);
  EXPECT_EQ(ownership.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(OwnershipTest, AnOwnerThatCanBeNobodyIsInvalid) {
  Ownership ownership;
  v1::Owner owner;
  EXPECT_EQ(ownership.Check(owner).code(), absl::StatusCode::kInvalidArgument);
  owner.mutable_member()->set_service(kJob);
  EXPECT_THAT(std::string(ownership.Check(owner).message()), HasSubstr("belongs to nobody"));
}

}  // namespace
}  // namespace basalt::gateway
