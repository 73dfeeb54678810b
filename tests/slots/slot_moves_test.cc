// Tests which replica gets which slots when replicas join, leave, crash and come back, with which records, and which
// replica may write.
#include <set>
#include <string>

#include "tests/slots/slot_moves_fixture.h"

namespace basalt::slots {
namespace {

TEST_F(SlotMovesTest, AReplicaThatJoinsTakesItsShareWithAllRecords) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  ASSERT_TRUE(EachSlotIsOpenOnce());
  const auto before = Counts();
  Start("jobsvc-2");
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "within a tenth of a second";
  EXPECT_LE(At("jobsvc-2").open.size(), static_cast<size_t>(1.2 * kSlotCount / 3));
  EXPECT_GE(At("jobsvc-2").open.size(), static_cast<size_t>(0.8 * kSlotCount / 3));
  time_.Advance(absl::Seconds(1));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
  EXPECT_EQ(metrics_->GetCounter("basalt_gateway_slots_without_records_total", "").Value(), 0);
  for (const std::string& key : keys_) {
    if (!At("jobsvc-2").counts.contains(key)) continue;
    EXPECT_EQ(LinesOf(key, "jobsvc-2"), static_cast<size_t>(CountOf(key))) << "history follows";
    EXPECT_EQ(LinesOf(key, "jobsvc-0") + LinesOf(key, "jobsvc-1"), 0u) << "and is dropped where it was";
  }
  EXPECT_EQ(Topology().moves_size(), 0);
}

TEST_F(SlotMovesTest, TheSlotsThatStayAreNotDisturbed) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  At("jobsvc-0").acted.clear();
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  EXPECT_TRUE(At("jobsvc-0").acted.empty()) << "no pass for what has not changed";
}

TEST_F(SlotMovesTest, WhoLeavesHandsOverEverythingAndIsDismissed) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  bool left = false;
  hosts_["jobsvc-1"]->replica->Leave([&] { left = true; });
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(At("jobsvc-1").open.empty());
  EXPECT_TRUE(EachSlotIsOpenOnce());
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(left) << "before its patience ends";
  Kill("jobsvc-1");
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
  EXPECT_EQ(Topology().members_size(), 2);
}

TEST_F(SlotMovesTest, TheLastOneLeavesAtOnceAndItsSlotsWaitForIt) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  bool left = false;
  hosts_["jobsvc-0"]->replica->Leave([&] { left = true; });
  time_.Advance(absl::Milliseconds(50));
  EXPECT_TRUE(left);
  Kill("jobsvc-0");
  time_.Advance(absl::Seconds(1));
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(1));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, ACrashWithinTheGraceMovesNothing) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  const std::set<uint32_t> had = At("jobsvc-1").open;
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(4));
  EXPECT_EQ(At("jobsvc-0").open.size() + had.size(), kSlotCount);
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(At("jobsvc-1").open, had);
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, WhoeverIsGoneForLongerLosesItsSlotsAndItsDiskIsNotBelieved) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  const std::set<uint32_t> had = At("jobsvc-1").open;
  Kill("jobsvc-1");
  time_.Advance(absl::Milliseconds(5500));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "grace and half a second";
  TouchAll();
  time_.Advance(absl::Seconds(1));
  const auto before = Counts();
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(At("jobsvc-1").open, had);
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before)) << "jobsvc-0's records count, not those of the old disk";
}

TEST_F(SlotMovesTest, SlotsThatGoOnWithoutTheRecordsOfAnAbsentOwnerAreCounted) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  const size_t had = At("jobsvc-1").open.size();
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(6));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  EXPECT_EQ(metrics_->GetCounter("basalt_gateway_slots_without_records_total", "").Value(), static_cast<double>(had));
}

TEST_F(SlotMovesTest, WithItsDiskLostASlotBeginsWithNothing) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-0");
  disks_["jobsvc-0"] = nullptr;
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(4));
  EXPECT_TRUE(At("jobsvc-0").open.empty()) << "its token was on that disk: the name is another's for the grace period";
  time_.Advance(absl::Seconds(4));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  for (const std::string& key : keys_) EXPECT_EQ(CountOf(key), 1) << key;
}

TEST_F(SlotMovesTest, ASourceOutOfReachDelaysItsSlotsOnlyAndNotForEver) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  network_.Partition("jobsvc-0", "jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(At("jobsvc-1").open.empty());
  const gateway::v1::Topology topology = Topology();
  ASSERT_EQ(topology.moves_size(), 1);
  EXPECT_EQ(topology.moves(0).stage(), gateway::v1::Move::STAGE_TRANSFERRING);
  EXPECT_EQ(topology.moves(0).from(), "jobsvc-0");
  EXPECT_EQ(topology.moves(0).to(), "jobsvc-1");
  TouchAll();
  time_.Advance(absl::Milliseconds(200));
  for (const std::string& key : keys_) {
    if (!At("jobsvc-0").open.contains(SlotOf(key))) continue;
    EXPECT_EQ(CountOf(key), 2) << key;
  }
  time_.Advance(absl::Seconds(6));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "rebuilt from Kubernetes";
  EXPECT_GT(metrics_->GetCounter("basalt_gateway_slots_without_records_total", "").Value(), 400);
}

TEST_F(SlotMovesTest, ASourceThatDiesMeanwhileComesBackWithItsRecords) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  const auto before = Counts();
  network_.Partition("jobsvc-0", "jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-0");
  network_.HealAll();
  time_.Advance(absl::Seconds(1));
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, NewRecordsOutliveAFetchThatIsGivenUp) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  network_.Partition("jobsvc-0", "jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Milliseconds(200));
  // The grace period of jobsvc-0 ends while jobsvc-1 still waits for an answer.
  Kill("jobsvc-0");
  time_.Advance(absl::Milliseconds(5500));
  EXPECT_EQ(At("jobsvc-1").open.size(), kSlotCount);
  TouchAll();
  time_.Advance(absl::Seconds(10));
  const auto before = Counts();
  Kill("jobsvc-1");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(NothingIsForgottenSince(before));
}

TEST_F(SlotMovesTest, AnOwnerThatWasAsleepAcrossTheMoveCannotWrite) {
  CountingController& asleep = Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  std::string key;
  for (const std::string& candidate : keys_) {
    if (asleep.counts.contains(candidate)) key = candidate;
  }
  SimLoop& loop = hosts_.at("jobsvc-0")->loop;
  loop.Pause();
  gateway::v1::WriteRequest write;
  write.mutable_resource()->set_plural("jobs");
  write.set_name(key);
  write.mutable_patch()->set_type(gateway::v1::Patch::TYPE_MERGE);
  asleep.context().Write(key, write, [](auto) {});
  network_.Partition("jobsvc-0", "gateway");
  time_.Advance(absl::Milliseconds(5600));
  EXPECT_EQ(At("jobsvc-1").open.size(), kSlotCount);
  // jobsvc-0 sends the write before it learns that its stream has ended.
  network_.HealAll();
  loop.Resume();
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(kube_.writes.empty());
  EXPECT_GE(metrics_->GetCounter("basalt_gateway_writes_fenced_total", "").Value(), 1);
}

}  // namespace
}  // namespace basalt::slots
