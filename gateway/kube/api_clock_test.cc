#include "gateway/kube/api_clock.h"

#include <gtest/gtest.h>

#include "common/time/sim_time.h"

namespace basalt::gateway {
namespace {

constexpr int64_t kNov6 = 784111777000;  // 1994-11-06T08:49:37Z

TEST(HttpDateTest, ReadsTheFixedFormOnly) {
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), kNov6);
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  for (const std::string_view text :
       {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nvo 1994 08:49:37 GMT", "Sun, 06 ovD 1994 08:49:37 GMT", "Sun, 36 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(ParseHttpDate(text), -1) << text;
  }
}

TEST(ApiClockTest, BeforeTheFirstAnswerItIsTheLocalClock) {
  SimTime time(absl::FromUnixMillis(5000));
  ApiClock clock(time);
  EXPECT_EQ(clock.NowMs(), 5000);
  EXPECT_FALSE(clock.known());
  clock.Observe("garbage");
  EXPECT_FALSE(clock.known());
}

TEST(ApiClockTest, StaysWithinASecondOfTheServerWhateverTheLocalSkew) {
  for (const int64_t skew_ms : {-3'600'000, -700, 0, 400, 86'400'000}) {
    SimTime time(absl::FromUnixMillis(kNov6 + 250 + skew_ms));
    ApiClock clock(time);
    int64_t last = 0;
    // Answers at odd moments; the header is the server's time cut to seconds.
    for (int i = 0; i < 50; ++i) {
      const int64_t server_ms = absl::ToUnixMillis(time.Now()) - skew_ms;
      const absl::Time cut = absl::FromUnixSeconds(server_ms / 1000);
      clock.Observe(absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", cut, absl::UTCTimeZone()));
      EXPECT_NEAR(static_cast<double>(clock.NowMs()), static_cast<double>(server_ms), 1000);
      EXPECT_GE(clock.NowMs(), last);
      last = clock.NowMs();
      time.Advance(absl::Milliseconds(337));
    }
  }
}

TEST(ApiClockTest, FollowsAServerWhoseClockWasSetBack) {
  SimTime time(absl::FromUnixMillis(kNov6));
  ApiClock clock(time);
  clock.Observe("Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_GE(clock.NowMs(), kNov6);
  clock.Observe("Sun, 06 Nov 1994 07:49:37 GMT");
  EXPECT_NEAR(static_cast<double>(clock.NowMs()), static_cast<double>(kNov6 - 3'600'000), 1000);
}

}  // namespace
}  // namespace basalt::gateway
