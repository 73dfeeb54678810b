#include "gateway/kube/api_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/http/date.h"
#include "common/time/sim_time.h"

namespace basalt::gateway {
namespace {

constexpr int64_t kNov6 = 784111777000;  // 1994-11-06T08:49:37Z

std::string DateOf(int64_t ms) { return http::FormatDate(absl::FromUnixMillis(ms)); }

// An API server whose clock differs from ours.
class ApiClockTest : public ::testing::Test {
 protected:
  int64_t ServerMs() const { return absl::ToUnixMillis(time_.Now()) + off_ms_; }
  void Answer(int status = 200) { clock_.Observe(status, DateOf(ServerMs())); }
  bool IsRight() { return std::abs(clock_.NowMs() - ServerMs()) <= 1000; }

  SimTime time_{absl::FromUnixMillis(kNov6 + 250)};
  ApiClock clock_{time_};
  int64_t off_ms_ = 0;
};

constexpr int64_t kHour = 3'600'000;

TEST_F(ApiClockTest, BeforeTheFirstAnswerItIsTheLocalClock) {
  EXPECT_EQ(clock_.NowMs(), kNov6 + 250);
  EXPECT_FALSE(clock_.known());
  clock_.Observe(200, "garbage");
  EXPECT_FALSE(clock_.known());
  Answer();
  EXPECT_TRUE(clock_.known()) << "it is what the local clock says";
}

TEST_F(ApiClockTest, ALocalClockThatIsAheadHoldsNothingUpOnceTheServersIsKnown) {
  off_ms_ = -900;
  EXPECT_EQ(clock_.NowMs(), kNov6 + 250) << "looked at before the first answer";
  Answer();
  ASSERT_TRUE(clock_.known());
  EXPECT_LT(clock_.NowMs(), kNov6 + 250);
  EXPECT_TRUE(IsRight());
}

TEST_F(ApiClockTest, StaysWithinASecondOfTheServerWhateverTheLocalSkew) {
  for (const int64_t skew_ms : {-kHour, int64_t{-700}, int64_t{0}, int64_t{400}, 14 * kHour}) {
    SimTime time(absl::FromUnixMillis(kNov6 + 250 + skew_ms));
    ApiClock clock(time);
    int64_t last = 0;
    // Answers arrive at odd moments; the header is the server's time cut to seconds.
    for (int i = 0; i < 50; ++i) {
      const int64_t server_ms = absl::ToUnixMillis(time.Now()) - skew_ms;
      clock.Observe(200, DateOf(server_ms));
      EXPECT_EQ(clock.known(), i >= 2 || std::abs(skew_ms) < 1000) << skew_ms << " " << i;
      if (clock.known()) {
        EXPECT_NEAR(static_cast<double>(clock.NowMs()), static_cast<double>(server_ms), 1000);
        EXPECT_GE(clock.NowMs(), last);
        last = clock.NowMs();
      }
      time.Advance(absl::Milliseconds(337));
    }
  }
}

TEST_F(ApiClockTest, AProxyThatAnswers502WithTomorrowsDateMovesNothing) {
  Answer();
  for (const int status : {502, 503, 429, 404, 302, 100}) {
    for (const int64_t off : {24 * kHour, 2 * kHour, int64_t{1500}}) {
      off_ms_ = off;
      for (int i = 0; i < 10; ++i) Answer(status);
      off_ms_ = 0;
      EXPECT_TRUE(IsRight()) << status << " " << off;
    }
  }
}

TEST_F(ApiClockTest, OneGoodAnswerWithAWrongDateMovesNothing) {
  Answer();
  for (int i = 0; i < 10; ++i) {
    off_ms_ = 5 * kHour;
    Answer();
    Answer();
    off_ms_ = 0;
    EXPECT_TRUE(IsRight());
    Answer();
    EXPECT_TRUE(IsRight());
  }
  // Several dates that do not agree with each other count no more than one.
  for (const int hours : {3, -4, 5, 6, -2, 3}) {
    off_ms_ = hours * kHour;
    Answer();
  }
  off_ms_ = 0;
  EXPECT_TRUE(IsRight());
}

TEST_F(ApiClockTest, AServerWhoseClockWasSetIsFollowedOnceThreeAnswersAgree) {
  Answer();
  for (const int64_t off : {-kHour, kHour, 14 * kHour, -14 * kHour}) {
    off_ms_ = off;
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(IsRight()) << off;
      Answer();
      time_.Advance(absl::Milliseconds(700));
    }
    EXPECT_TRUE(IsRight()) << off;
  }
}

TEST_F(ApiClockTest, ADateThatIsFarFromTheLocalClockIsNeverBelieved) {
  for (const int64_t off : {24 * kHour, -24 * kHour, 24 * 365 * kHour}) {
    off_ms_ = off;
    for (int i = 0; i < 10; ++i) Answer();
    EXPECT_FALSE(clock_.known());
    EXPECT_EQ(clock_.NowMs(), absl::ToUnixMillis(time_.Now()));
  }
}

}  // namespace
}  // namespace basalt::gateway
