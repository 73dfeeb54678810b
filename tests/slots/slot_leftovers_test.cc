// Tests the state that follows a moved slot to its new owner: history from every replica that has some, and the last
// states of objects that are gone.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tests/slots/slot_moves_fixture.h"

namespace basalt::slots {
namespace {

TEST_F(SlotMovesTest, HistoryWhosePassageIsCutOffComesWhenItsSourceComesBack) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  Start("jobsvc-1");
  AdvanceUntilOpen("jobsvc-1");
  Kill("jobsvc-0");
  time_.Advance(absl::Seconds(8));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "at jobsvc-1 alone";
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(2));
  EXPECT_TRUE(EachSlotIsOpenOnce()) << "some have gone on without their history";
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(3));
  ExpectAllHistoryAtItsOwner();
}

TEST_F(SlotMovesTest, HistoryIsAskedForAgainByAnOwnerThatDiedOverIt) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  Start("jobsvc-1");
  AdvanceUntilOpen("jobsvc-1");
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(1));
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  ExpectAllHistoryAtItsOwner();
}

TEST_F(SlotMovesTest, SlotsOnAnOldDiskAreFetchedAndCleared) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(2));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-1");
  time_.Advance(absl::Seconds(6));
  TouchAll();
  time_.Advance(absl::Seconds(1));
  Kill("jobsvc-2");
  time_.Advance(absl::Seconds(6));
  Start("jobsvc-1");
  Start("jobsvc-2");
  time_.Advance(absl::Seconds(3));
  EXPECT_TRUE(EachSlotIsOpenOnce());
  ExpectAllHistoryAtItsOwner(2);
}

TEST_F(SlotMovesTest, WhoLeavesStaysUntilItsHistoryIsElsewhere) {
  Start("jobsvc-0");
  Start("jobsvc-1");
  time_.Advance(absl::Seconds(2));
  bool left = false;
  hosts_["jobsvc-1"]->replica->Leave([&] { left = true; });
  for (int i = 0; i < 2000 && !left; ++i) time_.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(left);
  Kill("jobsvc-1");
  disks_["jobsvc-1"] = nullptr;
  ExpectAllHistoryAtItsOwner();
}

TEST_F(SlotMovesTest, TheEndOfAnObjectIsHeardByTheNextOwnerIfNotByTheOneBefore) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  network_.SetOptions({.batch_delay = absl::Milliseconds(300)});
  Start("jobsvc-1");
  time_.Advance(absl::Milliseconds(600));
  for (const std::string& key : keys_) hub_.cache().Remove(kJobs, Job(key.substr(3), ++version_));
  network_.SetOptions({});
  time_.Advance(absl::Seconds(3));
  std::multiset<std::string> ends(At("jobsvc-0").ends.begin(), At("jobsvc-0").ends.end());
  ends.insert(At("jobsvc-1").ends.begin(), At("jobsvc-1").ends.end());
  EXPECT_EQ(ends.size(), keys_.size());
}

TEST_F(SlotMovesTest, HowAnObjectEndedIsHeardByTheNextOwnerAlsoIfNobodyWasThere) {
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(2));
  Kill("jobsvc-0");
  // job-0 goes while the slots are kept for jobsvc-0, and job-1 when they have no owner any more.
  hub_.cache().Remove(kJobs, Job("job-0", ++version_));
  time_.Advance(absl::Seconds(10));
  ASSERT_EQ(Topology().members_size(), 0);
  hub_.cache().Remove(kJobs, Job("job-1", ++version_));
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(3));
  EXPECT_THAT(At("jobsvc-0").shown_ends, ::testing::UnorderedElementsAre("job-0", "job-1"));
  // The ends were acknowledged and are not sent again.
  Kill("jobsvc-0");
  Start("jobsvc-0");
  time_.Advance(absl::Seconds(3));
  EXPECT_TRUE(At("jobsvc-0").shown_ends.empty());
}

}  // namespace
}  // namespace basalt::slots
