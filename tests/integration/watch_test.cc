// A watch at any replica returns all jobs, and continues at another replica without a gap.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/slots.h"
#include "common/testing/status_matchers.h"
#include "tests/integration/follower.h"
#include "tests/integration/replicas.h"

namespace basalt::integration {
namespace {

using basalt::testing::IsOk;

class WatchTest : public ::testing::Test {
 protected:
  explicit WatchTest(const Options& options = {}) : replicas_(options) {}
  void SubmitMore(int count) {
    for (int i = 0; i < count; ++i) {
      names_.push_back(fmt::format("job-{:03}", names_.size()));
      ASSERT_TRUE(Eventually([&] {
        const size_t replica = names_.size() % kReplicas;
        const absl::Status status = replicas_.Submit(replica == away_ ? 0 : replica, names_.back()).status();
        return status.ok() || status.code() == absl::StatusCode::kAlreadyExists;
      }));
    }
  }
  bool IsFinished(const std::string& name) const {
    const auto known = follower_.objects().find(name);
    return known != follower_.objects().end() &&
           known->second.object().status().phase() == kube::v1::JOB_PHASE_COMPLETED;
  }
  bool AllFinished() const {
    return std::all_of(names_.begin(), names_.end(), [this](const std::string& name) { return IsFinished(name); });
  }
  bool ReadUntilAllFinished() {
    return AllFinished() || follower_.ReadUntil([this](const auto&) { return AllFinished(); });
  }
  // Expects that the objects that the client knows from the watch are the existing jobs.
  void ExpectToKnowAll() {
    const auto all = replicas_.ListFrom(0, 0);
    ASSERT_THAT(all, IsOk());
    EXPECT_EQ(all->size(), follower_.objects().size());
    for (const job::v1::Job& job : *all) {
      const auto known = follower_.objects().find(job.object().meta().name());
      ASSERT_NE(known, follower_.objects().end()) << job.object().meta().name();
      EXPECT_EQ(known->second.object().meta().uid(), job.object().meta().uid());
      EXPECT_EQ(known->second.object().status().phase(), job.object().status().phase());
    }
  }
  std::set<uint32_t> SlotsOfJobsAt(size_t replica) const {
    std::set<uint32_t> slots;
    for (const std::string& name : names_) {
      if (replicas_.OwnerOf("default/" + name) == replica) slots.insert(SlotOf("default/" + name));
    }
    return slots;
  }

  Replicas replicas_;
  Follower<FollowedJobs> follower_;
  size_t away_ = kReplicas;  // The replica that is absent. kReplicas if none is.
  std::vector<std::string> names_;
};

TEST_F(WatchTest, EveryReplicaTellsOfAllJobsAndAnotherGoesOnByToken) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(12);
  follower_.Open(replicas_.job(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  ASSERT_TRUE(ReadUntilAllFinished());
  // The token comes with the last state or within a second after it.
  ASSERT_TRUE(follower_.ReadUntilNewestToken());
  for (size_t replica = 1; replica < kReplicas; ++replica) {
    follower_.Open(replicas_.job(replica));
    ASSERT_TRUE(follower_.ReadUntilSynced());
    // New states may come: the group of a finished job is deleted after the job's end.
    EXPECT_EQ(follower_.repeated(), 0) << "told before";
  }
  ASSERT_THAT(replicas_.Delete(0, names_[0]), IsOk());
  ASSERT_TRUE(follower_.ReadUntil([&](const auto&) { return !follower_.objects().contains(names_[0]); }));
  names_.erase(names_.begin());
  follower_.Close();
  ASSERT_THAT(replicas_.Delete(1, names_[0]), IsOk());
  follower_.Open(replicas_.job(1));
  ASSERT_TRUE(follower_.ReadUntil([&](const auto&) { return !follower_.objects().contains(names_[0]); }))
      << "gone while nobody was there";
  names_.erase(names_.begin());
  SubmitMore(6);
  ASSERT_TRUE(ReadUntilAllFinished());
  ExpectToKnowAll();
  EXPECT_TRUE(follower_.resets().empty());
}

TEST_F(WatchTest, AReplicaThatComesBackOnItsDiskLeavesNoGap) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(12);
  follower_.Open(replicas_.job(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  for (const size_t replica : {1, 2}) {
    replicas_.Stop(kJobsvc, replica);
    replicas_.Start(kJobsvc, replica);
    SubmitMore(6);
    ASSERT_TRUE(ReadUntilAllFinished()) << "after the restart of " << replica;
  }
  // The replica that serves the watch restarts, too.
  replicas_.Stop(kJobsvc, 0);
  replicas_.Start(kJobsvc, 0);
  follower_.Open(replicas_.job(1));
  SubmitMore(6);
  ASSERT_TRUE(ReadUntilAllFinished());
  ExpectToKnowAll();
  EXPECT_TRUE(follower_.resets().empty());
}

TEST_F(WatchTest, SlotsThatMoveTakeAlongWhatWasTold) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(12);
  follower_.Open(replicas_.job(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  ASSERT_TRUE(ReadUntilAllFinished());
  ASSERT_TRUE(follower_.ReadUntilNewestToken());
  for (const size_t replica : {1, 2}) {
    replicas_.Leave(kJobsvc, replica);
    away_ = replica;
    SubmitMore(6);
    ASSERT_TRUE(ReadUntilAllFinished()) << replica << " has left";
    replicas_.Start(kJobsvc, replica);
    away_ = kReplicas;
    SubmitMore(6);
    ASSERT_TRUE(ReadUntilAllFinished()) << replica << " has come back";
  }
  ExpectToKnowAll();
  EXPECT_TRUE(follower_.resets().empty());
}

TEST_F(WatchTest, AWatchGoesOnAcrossAChangeOfLeaderAndByItsTokenAfterIt) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(12);
  follower_.Open(replicas_.job(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  const std::string leader = replicas_.Topology().gateway();
  replicas_.StopLeadingGateway();
  SubmitMore(6);
  ASSERT_TRUE(ReadUntilAllFinished()) << "the stream that was open";
  ASSERT_TRUE(follower_.ReadUntilNewestToken());
  follower_.Open(replicas_.job(1));
  SubmitMore(6);
  ASSERT_TRUE(ReadUntilAllFinished());
  ExpectToKnowAll();
  EXPECT_TRUE(follower_.resets().empty());
  EXPECT_NE(replicas_.Topology().gateway(), leader);
}

// The disk is lost, and with it the token of the replica. Another process can use the replica's name once the grace
// period is over.
class LostDiskTest : public WatchTest {
 protected:
  LostDiskTest() : WatchTest({.grace = absl::Seconds(3)}) {}
};

TEST_F(LostDiskTest, LostRecordsAreAResetOfThoseSlotsAndASnapshot) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(18);
  follower_.Open(replicas_.job(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  ASSERT_TRUE(ReadUntilAllFinished());
  const std::set<uint32_t> lost = SlotsOfJobsAt(1);
  ASSERT_FALSE(lost.empty());
  replicas_.Stop(kJobsvc, 1);
  replicas_.LoseDisk(1);
  replicas_.Start(kJobsvc, 1);
  // A slot is reported when it is open again. The watch may therefore send several resets, each with its snapshot.
  ASSERT_TRUE(follower_.ReadUntil([&](const auto& response) {
    return response.type() == job::v1::WatchJobsResponse::TYPE_SYNCED && follower_.resets().size() >= lost.size();
  }));
  EXPECT_EQ(follower_.resets(), lost);
  SubmitMore(6);
  ASSERT_TRUE(ReadUntilAllFinished());
  ExpectToKnowAll();
}

}  // namespace
}  // namespace basalt::integration
