#include "common/reconcile/pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace basalt {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

TEST(PaceTest, AWriteThatIsUndoneIsSentLessAndLessOften) {
  Pace pace;
  EXPECT_FALSE(pace.Blocks(kStart, "a"));
  absl::Time now = kStart;
  absl::Duration wait = absl::Seconds(1);
  for (int i = 1; i <= 10; ++i) {
    pace.Note(now, "a");
    EXPECT_EQ(pace.IsFought(now), i >= Pace::kOften) << i;
    EXPECT_TRUE(pace.Blocks(now, "a"));
    EXPECT_EQ(pace.Until("a") - now, wait) << i;
    now = pace.Until("a");
    EXPECT_FALSE(pace.Blocks(now, "a"));
    wait = std::min(wait * 2, absl::Minutes(1));
  }
  EXPECT_EQ(wait, absl::Minutes(1));
}

TEST(PaceTest, AnotherStateIsNotUndoneAndWaitsTheLeast) {
  Pace pace;
  absl::Time now = kStart;
  for (int i = 0; i < 5; ++i) {
    pace.Note(now, "a");
    now = pace.Until("a");
  }
  pace.Note(now, "a");
  EXPECT_EQ(pace.Until("b"), now + Pace::kLeast);
  pace.Note(now + Pace::kLeast, "b");
  EXPECT_FALSE(pace.IsFought(now + Pace::kLeast));
  EXPECT_EQ(pace.Until("b"), now + 2 * Pace::kLeast);
}

TEST(PaceTest, AWriteThatHasLastedBeginsAnew) {
  Pace pace;
  for (int i = 0; i < 5; ++i) pace.Note(kStart, "a");
  ASSERT_TRUE(pace.IsFought(kStart));
  const absl::Time later = pace.Until("a") + Pace::kMost;
  EXPECT_TRUE(pace.IsFought(later - absl::Seconds(1)));
  EXPECT_FALSE(pace.IsFought(later));
  pace.Note(later, "a");
  EXPECT_FALSE(pace.IsFought(later));
}

TEST(PaceTest, AClockThatIsSetBackHoldsNothingUp) {
  Pace pace;
  pace.Note(kStart, "a");
  EXPECT_FALSE(pace.Blocks(kStart - absl::Hours(1), "a"));
}

}  // namespace
}  // namespace basalt
