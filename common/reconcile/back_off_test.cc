#include "common/reconcile/back_off.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

TEST(BackOffTest, GrowsByTheFactorUpToTheMostAndStartsOverAfterAReset) {
  SeededRandom random(1);
  BackOff back_off({.first = absl::Seconds(1), .most = absl::Seconds(5), .factor = 2, .jitter = 0});
  std::vector<double> seen;
  for (int i = 0; i < 5; ++i) seen.push_back(absl::ToDoubleSeconds(back_off.Next(random)));
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 4, 5, 5}));
  back_off.Reset();
  EXPECT_EQ(back_off.Next(random), absl::Seconds(1));
}

TEST(BackOffTest, JitterShortensAndNeverLengthens) {
  SeededRandom random(7);
  for (int i = 0; i < 1000; ++i) {
    BackOff back_off({.first = absl::Seconds(1), .jitter = 0.5});
    const absl::Duration wait = back_off.Next(random);
    EXPECT_LE(wait, absl::Seconds(1));
    EXPECT_GE(wait, absl::Milliseconds(500));
  }
}

}  // namespace
}  // namespace basalt
