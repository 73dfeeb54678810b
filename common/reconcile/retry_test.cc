#include "common/reconcile/retry.h"

#include <gtest/gtest.h>

#include "common/base/random.h"

namespace basalt {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

TEST(RetryTest, EachFailureWaitsLongerThanTheOneBefore) {
  SeededRandom random(1);
  Retry retry;
  EXPECT_FALSE(retry.Blocks(kStart));
  EXPECT_FALSE(retry.since());
  absl::Time now = kStart;
  absl::Duration most = absl::Milliseconds(200);
  for (int i = 0; i < 10; ++i) {
    retry.Fail(now, random);
    EXPECT_TRUE(retry.Blocks(now));
    EXPECT_GE(retry.until() - now, most / 2) << i;
    EXPECT_LE(retry.until() - now, most) << i;
    EXPECT_EQ(retry.since(), kStart);
    EXPECT_FALSE(retry.Blocks(retry.until())) << "due";
    now = retry.until();
    most = std::min(most * 2, absl::Seconds(30));
  }
  EXPECT_EQ(most, absl::Seconds(30));
}

TEST(RetryTest, TriesThatWereUnderWayTogetherAreOneStep) {
  SeededRandom random(1);
  Retry retry;
  retry.Fail(kStart, random);
  const absl::Time until = retry.until();
  for (int i = 0; i < 20; ++i) retry.Fail(kStart + absl::Milliseconds(1), random);
  EXPECT_EQ(retry.until(), until);
  EXPECT_FALSE(retry.Lasts(kStart));
}

TEST(RetryTest, ASuccessBeginsAnew) {
  SeededRandom random(1);
  Retry retry;
  absl::Time now = kStart;
  while (!retry.Lasts(now)) {
    now = std::max(now, retry.until());
    retry.Fail(now, random);
  }
  retry.Succeed();
  EXPECT_FALSE(retry.Blocks(now));
  EXPECT_FALSE(retry.since());
  retry.Fail(now, random);
  EXPECT_LE(retry.until() - now, absl::Milliseconds(200));
}

// The clock is the API server's, which may be set back by any amount.
TEST(RetryTest, AClockThatIsSetBackHoldsNothing) {
  SeededRandom random(1);
  Retry retry;
  retry.Fail(kStart, random);
  EXPECT_FALSE(retry.Blocks(kStart - absl::Hours(1)));
}

TEST(RetryTest, APostponedTryIsDueThen) {
  Retry retry;
  retry.Postpone(kStart + absl::Seconds(2));
  EXPECT_TRUE(retry.Blocks(kStart));
  EXPECT_FALSE(retry.Blocks(kStart + absl::Seconds(2)));
  EXPECT_FALSE(retry.since());
}

}  // namespace
}  // namespace basalt
