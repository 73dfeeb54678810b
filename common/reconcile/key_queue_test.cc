#include "common/reconcile/key_queue.h"

#include <gtest/gtest.h>

#include "common/exec/sim_loop.h"

namespace basalt {
namespace {

using Keys = std::vector<std::string>;

class KeyQueueTest : public ::testing::Test {
 protected:
  KeyQueueTest()
      : loop_(time_, "test"),
        queue_(
            loop_, [this] { return time_.Now() + offset_; }, [this] { ++work_; }) {
    queue_.Resume(1);
  }

  SimTime time_;
  SimLoop loop_;
  absl::Duration offset_;
  int work_ = 0;
  KeyQueue queue_;
};

TEST_F(KeyQueueTest, KeysComeOnceInTheOrderInWhichTheyBecameDirty) {
  for (const char* key : {"b", "a", "b", "c"}) queue_.Add(key, 1);
  EXPECT_EQ(work_, 1) << "told once, when there was something to take";
  EXPECT_EQ(queue_.Take(2), (Keys{"b", "a"}));
  queue_.Add("b", 1);
  EXPECT_EQ(queue_.Take(9), (Keys{"c", "b"}));
  EXPECT_FALSE(queue_.HasWork());
}

TEST_F(KeyQueueTest, APausedGroupKeepsItsKeysUntilItIsResumed) {
  queue_.Add("a", 1);
  queue_.Add("x", 2);
  queue_.Pause(1);
  EXPECT_FALSE(queue_.HasWork());
  EXPECT_EQ(queue_.Take(9), Keys{});
  EXPECT_EQ(queue_.dirty(), 2U);
  queue_.Add("b", 1);
  queue_.Resume(1);
  queue_.Resume(2);
  EXPECT_EQ(queue_.Take(9), (Keys{"a", "b", "x"}));
}

TEST_F(KeyQueueTest, ADroppedGroupForgetsKeysAndWakeUps) {
  queue_.Add("a", 1);
  queue_.AddAt("b", 1, time_.Now() + absl::Seconds(1));
  queue_.Drop(1);
  queue_.Resume(1);
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(queue_.Take(9), Keys{});
  EXPECT_EQ(queue_.dirty(), 0U);
}

TEST_F(KeyQueueTest, AllKeysOfAGroupAreTakenAtOncePausedOrNot) {
  for (const char* key : {"b", "a"}) queue_.Add(key, 1);
  queue_.Add("x", 2);
  EXPECT_EQ(queue_.TakeGroup(1), (Keys{"a", "b"}));
  EXPECT_FALSE(queue_.HasWork());
  EXPECT_EQ(queue_.TakeGroup(2), Keys{"x"});
  EXPECT_EQ(queue_.dirty(), 0U);
  queue_.Resume(2);
  EXPECT_EQ(queue_.Take(9), Keys{});
  queue_.Add("a", 1);
  EXPECT_EQ(queue_.Take(9), Keys{"a"});
}

TEST_F(KeyQueueTest, AKeyDroppedAndAddedAgainComesOnce) {
  queue_.Add("a", 1);
  queue_.Drop(1);
  queue_.Resume(1);
  queue_.Add("a", 1);
  EXPECT_EQ(queue_.Take(9), Keys{"a"});
  EXPECT_FALSE(queue_.HasWork());
}

TEST_F(KeyQueueTest, TheEarliestWakeUpWinsAndAPassDoesNotClearIt) {
  const absl::Time start = time_.Now();
  queue_.AddAt("a", 1, start + absl::Seconds(10));
  queue_.AddAt("a", 1, start + absl::Seconds(5));
  queue_.AddAt("a", 1, start + absl::Seconds(20));
  queue_.Add("a", 1);
  EXPECT_EQ(queue_.Take(9), Keys{"a"});
  time_.Advance(absl::Milliseconds(4999));
  EXPECT_FALSE(queue_.HasWork());
  time_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(queue_.Take(9), Keys{"a"});
  EXPECT_EQ(queue_.WakeTime("a", 1), std::nullopt);
  time_.Advance(absl::Minutes(1));
  EXPECT_FALSE(queue_.HasWork());
}

TEST_F(KeyQueueTest, WakeUpsFollowTheirOwnClockWhenItIsSetForward) {
  queue_.AddAt("a", 1, time_.Now() + absl::Seconds(60));
  offset_ = absl::Seconds(50);
  queue_.ClockChanged();
  time_.Advance(absl::Seconds(9));
  EXPECT_FALSE(queue_.HasWork());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(queue_.Take(9), Keys{"a"});
}

TEST_F(KeyQueueTest, WaitsAreAsLongAsBeforeWhenTheirClockIsSetBack) {
  queue_.AddAt("a", 1, time_.Now() + absl::Seconds(60));
  queue_.AddAt("b", 1, time_.Now() + absl::Seconds(90));
  offset_ = -absl::Hours(1);
  queue_.ClockChanged();
  queue_.AddAt("b", 1, time_.Now() + offset_ + absl::Seconds(70));
  time_.Advance(absl::Seconds(59));
  EXPECT_FALSE(queue_.HasWork());
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(queue_.Take(9), Keys{"a"});
  time_.Advance(absl::Seconds(10));
  EXPECT_EQ(queue_.Take(9), Keys{"b"});
  time_.Advance(absl::Hours(2));
  EXPECT_FALSE(queue_.HasWork()) << "each once";
}

TEST_F(KeyQueueTest, AWakeUpOfAPausedGroupWaitsForTheGroup) {
  queue_.AddAt("x", 2, time_.Now() + absl::Seconds(1));
  time_.Advance(absl::Seconds(2));
  EXPECT_FALSE(queue_.HasWork());
  queue_.Resume(2);
  EXPECT_EQ(queue_.Take(9), Keys{"x"});
}

}  // namespace
}  // namespace basalt
