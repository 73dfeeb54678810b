// A watch of queues at any replica returns all queues with their counts, and continues at another replica without a
// gap.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/testing/status_matchers.h"
#include "tests/integration/follower.h"
#include "tests/integration/replicas.h"

namespace basalt::integration {
namespace {

using basalt::testing::IsOk;

class QueueWatchTest : public ::testing::Test {
 protected:
  // Submits jobs that keep running. Each job has a group in the default queue.
  void SubmitMore(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_THAT(replicas_.Submit(0, fmt::format("job-{:03}", submitted_++), "600"), IsOk());
    }
  }
  // Returns true if the client knows the number of submitted jobs.
  bool KnowsCount() const {
    const auto queue = follower_.objects().find("default");
    return queue != follower_.objects().end() && queue->second.pod_groups().running() == submitted_;
  }
  bool ReadUntilCountIsKnown() {
    return KnowsCount() || follower_.ReadUntil([this](const auto&) { return KnowsCount(); });
  }

  Replicas replicas_;
  Follower<FollowedQueues> follower_;
  int submitted_ = 0;
};

TEST_F(QueueWatchTest, ReplicasThatRestartAndSlotsThatMoveLeaveNoGap) {
  ASSERT_TRUE(replicas_.ok());
  SubmitMore(3);
  follower_.Open(replicas_.queue(0));
  ASSERT_TRUE(follower_.ReadUntilSynced());
  ASSERT_TRUE(ReadUntilCountIsKnown());
  EXPECT_EQ(follower_.objects().size(), 2U) << "root and default";
  for (size_t replica = 0; replica < kReplicas; ++replica) {
    // Another replica serves the watch.
    ASSERT_TRUE(follower_.ReadUntilNewestToken());
    follower_.Open(replicas_.queue((replica + 1) % kReplicas));
    replicas_.Stop(kQueuesvc, replica);
    SubmitMore(1);
    replicas_.Start(kQueuesvc, replica);
    ASSERT_TRUE(ReadUntilCountIsKnown()) << "after the restart of " << replica;
    replicas_.Leave(kQueuesvc, replica);
    SubmitMore(1);
    ASSERT_TRUE(ReadUntilCountIsKnown()) << replica << " has left";
    replicas_.Start(kQueuesvc, replica);
    SubmitMore(1);
    ASSERT_TRUE(ReadUntilCountIsKnown()) << replica << " has come back";
  }
  EXPECT_EQ(follower_.objects().size(), 2U);
  EXPECT_TRUE(follower_.resets().empty());
}

}  // namespace
}  // namespace basalt::integration
