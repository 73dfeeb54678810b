#include "common/time/token_bucket.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

TEST(TokenBucketTest, AllowsTheBurstAndThenSoManyInASecond) {
  TokenBucket bucket({.per_second = 4, .burst = 2});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(bucket.Allows(kStart));
    bucket.Take(kStart);
  }
  EXPECT_FALSE(bucket.Allows(kStart));
  EXPECT_EQ(bucket.Next(), kStart + absl::Milliseconds(250));
  EXPECT_FALSE(bucket.Allows(kStart + absl::Milliseconds(249)));
  EXPECT_TRUE(bucket.Allows(kStart + absl::Milliseconds(250)));
}

TEST(TokenBucketTest, WithoutARateEverythingIsAllowed) {
  TokenBucket bucket({});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(bucket.Allows(kStart));
    bucket.Take(kStart);
  }
}

TEST(TokenBucketTest, AClockThatIsSetBackHoldsNothingUp) {
  TokenBucket bucket({.per_second = 4, .burst = 1});
  bucket.Take(kStart);
  const absl::Time back = kStart - absl::Hours(1);
  EXPECT_FALSE(bucket.Allows(back));
  EXPECT_EQ(bucket.Next(), back + absl::Milliseconds(250));
  EXPECT_TRUE(bucket.Allows(back + absl::Milliseconds(250)));
}

}  // namespace
}  // namespace basalt
