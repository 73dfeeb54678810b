#include "services/jobsvc/control/cluster/cluster_queues.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

kube::v1::Queue MakeQueue(const std::string& name, const std::string& state, const std::string& parent = "") {
  kube::v1::Queue queue;
  queue.mutable_meta()->set_name(name);
  queue.set_state(state);
  queue.set_parent(parent);
  return queue;
}

class ClusterQueuesTest : public ::testing::Test {
 protected:
  ClusterQueuesTest() {
    queues_.MoveJob("ns/a", "", "red");
    queues_.MoveJob("ns/b", "", "red");
    queues_.MoveJob("ns/c", "", "blue");
  }
  std::vector<std::string> Come(const kube::v1::Queue& queue) { return queues_.Receive(queue, false, ++now_ms_); }
  std::vector<std::string> Go(const kube::v1::Queue& queue) { return queues_.Receive(queue, true, ++now_ms_); }

  ClusterQueues queues_;
  int64_t now_ms_ = 0;
};

TEST_F(ClusterQueuesTest, TheFirstQueueConcernsAllJobs) {
  EXPECT_THAT(Come(MakeQueue("green", "Open")), UnorderedElementsAre("ns/a", "ns/b", "ns/c"));
  EXPECT_EQ(queues_.SinceMs("green"), 0) << "it is as it was found";
}

TEST_F(ClusterQueuesTest, AChangeConcernsTheJobsThatNameTheQueue) {
  Come(MakeQueue("green", "Open"));
  EXPECT_THAT(Come(MakeQueue("red", "Open")), ElementsAre("ns/a", "ns/b"));
  EXPECT_THAT(Come(MakeQueue("red", "Open")), IsEmpty()) << "nothing has changed";
  EXPECT_EQ(queues_.SinceMs("red"), 0);
  EXPECT_THAT(Come(MakeQueue("red", "Closed")), ElementsAre("ns/a", "ns/b"));
  EXPECT_EQ(queues_.SinceMs("red"), now_ms_);
  EXPECT_THAT(Go(MakeQueue("red", "Closed")), ElementsAre("ns/a", "ns/b"));
  EXPECT_EQ(queues_.Find("red").queue, nullptr);
  EXPECT_EQ(queues_.SinceMs("red"), now_ms_) << "since when it is gone";
  EXPECT_THAT(Come(MakeQueue("red", "Open")), ElementsAre("ns/a", "ns/b"));
  EXPECT_EQ(queues_.SinceMs("red"), now_ms_) << "since when it is back";
}

TEST_F(ClusterQueuesTest, AJobThatNamesAnotherQueueFollowsThatOne) {
  Come(MakeQueue("green", "Open"));
  queues_.MoveJob("ns/a", "red", "blue");
  EXPECT_THAT(Come(MakeQueue("red", "Open")), ElementsAre("ns/b"));
  queues_.MoveJob("ns/b", "red", "");
  EXPECT_THAT(Go(MakeQueue("red", "Open")), IsEmpty());
  EXPECT_THAT(Come(MakeQueue("blue", "Open")), ElementsAre("ns/a", "ns/c"));
}

TEST_F(ClusterQueuesTest, TheFirstChildAndTheLastConcernTheJobsOfTheParent) {
  Come(MakeQueue("red", "Open"));
  EXPECT_FALSE(queues_.Find("red").has_children);
  EXPECT_THAT(Come(MakeQueue("x", "Open", "red")), ElementsAre("ns/a", "ns/b"));
  EXPECT_TRUE(queues_.Find("red").has_children);
  EXPECT_THAT(Come(MakeQueue("y", "Open", "red")), IsEmpty());
  EXPECT_THAT(Come(MakeQueue("x", "Open", "blue")), ElementsAre("ns/c")) << "it was moved";
  EXPECT_THAT(Go(MakeQueue("y", "Open", "red")), ElementsAre("ns/a", "ns/b"));
  EXPECT_FALSE(queues_.HasChildren("red"));
  EXPECT_TRUE(queues_.HasChildren("blue"));
}

TEST_F(ClusterQueuesTest, ABoundedNumberOfQueuesThatAreGoneIsRemembered) {
  Come(MakeQueue("red", "Open"));
  Come(MakeQueue("red", "Closed"));
  for (size_t i = 0; i < 3 * ClusterQueues::kMostGone; ++i) {
    const kube::v1::Queue queue = MakeQueue(fmt::format("q-{}", i), "Open");
    Come(queue);
    Go(queue);
  }
  EXPECT_EQ(queues_.remembered(), ClusterQueues::kMostGone + 1);
  EXPECT_EQ(queues_.SinceMs("red"), 2) << "a queue that is there is never forgotten";
  EXPECT_EQ(queues_.SinceMs(fmt::format("q-{}", 3 * ClusterQueues::kMostGone - 1)), now_ms_);
  EXPECT_EQ(queues_.SinceMs("q-0"), 0) << "the longest gone are forgotten first";
}

}  // namespace
}  // namespace basalt::jobsvc
