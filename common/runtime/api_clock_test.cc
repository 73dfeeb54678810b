#include "common/runtime/api_clock.h"

#include <gtest/gtest.h>

namespace basalt::runtime {
namespace {

const absl::Time kLocal = absl::FromUnixSeconds(1000);
const absl::Time kApi = absl::FromUnixSeconds(5000);

TEST(ApiClockTest, RunsOnWithTheLocalClock) {
  ApiClock clock;
  EXPECT_EQ(clock.Now(kLocal), kLocal) << "nothing better is known";
  clock.Update(kApi, kLocal);
  EXPECT_EQ(clock.Now(kLocal + absl::Seconds(5)), kApi + absl::Seconds(5));
}

TEST(ApiClockTest, ALocalClockThatIsAheadHoldsNothingUpOnceTheServersIsKnown) {
  for (const absl::Duration ahead : {absl::Milliseconds(1), absl::Seconds(4), absl::Hours(1)}) {
    ApiClock clock;
    clock.Now(kApi + ahead);  // A replica that has just started reads the clock before the first report.
    clock.Update(kApi, kApi + ahead);
    EXPECT_EQ(clock.Now(kApi + ahead), kApi) << ahead;
    EXPECT_EQ(clock.Now(kApi + ahead + absl::Milliseconds(10)), kApi + absl::Milliseconds(10)) << ahead;
  }
}

TEST(ApiClockTest, ADelayedMessageDoesNotSetItBack) {
  ApiClock clock;
  clock.Update(kApi, kLocal);
  clock.Update(kApi, kLocal + absl::Seconds(20));  // The message was on its way for 20 s.
  EXPECT_EQ(clock.Now(kLocal + absl::Seconds(20)), kApi + absl::Seconds(20));
}

TEST(ApiClockTest, FollowsALocalClockThatIsTooFastAndNeverGoesBack) {
  ApiClock clock;
  clock.Update(kApi, kLocal);
  absl::Time before = clock.Now(kLocal);
  // The local clock gains 1 s in 10.
  for (int i = 1; i <= 60; ++i) {
    const absl::Time local = kLocal + absl::Seconds(11) * i;
    const absl::Time api = kApi + absl::Seconds(10) * i;
    clock.Update(api, local);
    const absl::Time now = clock.Now(local);
    EXPECT_GE(now, before);
    EXPECT_LE(now - api, absl::Seconds(8)) << "within what it gains in two windows";
    before = now;
  }
}

TEST(ApiClockTest, FollowsAnApiServerWhoseClockIsSetBack) {
  ApiClock clock;
  clock.Update(kApi, kLocal);
  clock.Now(kLocal);
  for (int i = 1; i <= 7; ++i) {
    const absl::Time local = kLocal + absl::Seconds(10) * i;
    clock.Update(kApi + absl::Seconds(10) * i - absl::Minutes(20), local);
    clock.Now(local);
  }
  EXPECT_EQ(clock.Now(kLocal + absl::Seconds(71)), kApi + absl::Seconds(71) - absl::Minutes(20));
}

}  // namespace
}  // namespace basalt::runtime
