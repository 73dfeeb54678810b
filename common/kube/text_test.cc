#include "common/kube/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace basalt::kube {
namespace {

struct TimeCase {
  std::string_view text;
  int64_t ms;
  std::string_view printed;
};

TEST(KubeTimeTest, ReadsAndPrintsRfc3339) {
  const std::vector<TimeCase> cases = {
      {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"},
      {"2026-01-02T15:04:05Z", 1767366245000, "2026-01-02T15:04:05Z"},
      {"2024-02-29T23:59:59Z", 1709251199000, "2024-02-29T23:59:59Z"},
      {"2000-03-01T00:00:00.123456Z", 951868800123, "2000-03-01T00:00:00Z"},
      {"2026-01-02T15:04:05+02:00", 1767359045000, "2026-01-02T13:04:05Z"},
      {"2026-01-02T15:04:05-00:30", 1767368045000, "2026-01-02T15:34:05Z"},
      {"1969-12-31T23:59:59.500Z", -500, "1969-12-31T23:59:59Z"},
      {"0001-01-01T00:00:00Z", -62135596800000, "0001-01-01T00:00:00Z"},
  };
  for (const TimeCase& c : cases) {
    const absl::StatusOr<int64_t> ms = ParseTime(c.text);
    ASSERT_TRUE(ms.ok()) << c.text << ": " << ms.status();
    EXPECT_EQ(*ms, c.ms) << c.text;
    EXPECT_EQ(FormatTime(*ms), c.printed);
  }
  EXPECT_EQ(FormatMicroTime(951868800123), "2000-03-01T00:00:00.123000Z");
  EXPECT_EQ(FormatMicroTime(-500), "1969-12-31T23:59:59.500000Z");
}

TEST(KubeTimeTest, EveryDayOfFourCenturiesReturns) {
  for (int64_t day = -11000; day < 146097; ++day) {
    const int64_t ms = day * 86'400'000;
    const absl::StatusOr<int64_t> again = ParseTime(FormatTime(ms));
    ASSERT_TRUE(again.ok()) << day;
    ASSERT_EQ(*again, ms) << day;
  }
}

TEST(KubeTimeTest, RefusesWhatIsNoTime) {
  for (const std::string_view text :
       {"", "x", "2026-01-02", "2026-01-02T15:04:05", "2026-13-02T15:04:05Z", "2026-02-29T15:04:05Z",
        "2026-01-02T24:04:05Z", "2026-01-02T15:04:60Z", "2026-01-02T15:04:05.Z", "2026-01-02T15:04:05Zx",
        "2026-01-02 15:04:05Z", "2026-01-02T15:04:05+0200", "2026-01-02T15:04:05+02", "-026-01-02T15:04:05Z"}) {
    EXPECT_EQ(ParseTime(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

struct DurationCase {
  std::string_view text;
  int64_t nanos;
  std::string_view printed;
};

TEST(GoDurationTest, ReadsAndPrintsLikeGo) {
  const std::vector<DurationCase> cases = {
      {"0", 0, "0s"},
      {"-0", 0, "0s"},
      {"0s", 0, "0s"},
      {"10m", 600'000'000'000, "10m0s"},
      {"1h", 3'600'000'000'000, "1h0m0s"},
      {"1h30m", 5'400'000'000'000, "1h30m0s"},
      {"90s", 90'000'000'000, "1m30s"},
      {"17.579010043s", 17'579'010'043, "17.579010043s"},
      {"500ms", 500'000'000, "500ms"},
      {"0.5s", 500'000'000, "500ms"},
      {".5s", 500'000'000, "500ms"},
      {"5.s", 5'000'000'000, "5s"},
      {"1.5us", 1500, "1.5\u00b5s"},
      {"1\u00b5s", 1000, "1\u00b5s"},
      {"1\u03bcs", 1000, "1\u00b5s"},
      {"7ns", 7, "7ns"},
      {"-1.5h", -5'400'000'000'000, "-1h30m0s"},
      {"+5m", 300'000'000'000, "5m0s"},
      {"100h2ms", 360'000'002'000'000, "100h0m0.002s"},
      {"9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s"},
      {"-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s"},
      {"0.3333333333333333333h", 1'200'000'000'000 - 1, "19m59.999999999s"},
  };
  for (const DurationCase& c : cases) {
    const absl::StatusOr<absl::Duration> duration = ParseGoDuration(c.text);
    ASSERT_TRUE(duration.ok()) << c.text << ": " << duration.status();
    EXPECT_EQ(absl::ToInt64Nanoseconds(*duration), c.nanos) << c.text;
    EXPECT_EQ(FormatGoDuration(*duration), c.printed) << c.text;
  }
}

TEST(GoDurationTest, RefusesWhatGoRefuses) {
  for (const std::string_view text : {"", "-", "3", "s", ".s", "1d", "1h 2m", "1h-2m", "9223372036854775808ns",
                                      "3000000h", "1.1.1s", "ten", "99999999999999999999999999999999999999999s"}) {
    EXPECT_EQ(ParseGoDuration(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(PhaseTest, EveryPhaseReturnsAndOthersAreRefused) {
  for (int i = v1::JobPhase_MIN; i <= v1::JobPhase_MAX; ++i) {
    const auto phase = static_cast<v1::JobPhase>(i);
    EXPECT_EQ(ParseJobPhase(JobPhaseName(phase)), phase);
  }
  for (int i = v1::PodPhase_MIN; i <= v1::PodPhase_MAX; ++i) {
    const auto phase = static_cast<v1::PodPhase>(i);
    EXPECT_EQ(ParsePodPhase(PodPhaseName(phase)), phase);
  }
  EXPECT_EQ(JobPhaseName(v1::JOB_PHASE_TERMINATING), "Terminating");
  EXPECT_EQ(PodPhaseName(v1::POD_PHASE_SUCCEEDED), "Succeeded");
  EXPECT_EQ(ParseJobPhase("Completed"), v1::JOB_PHASE_COMPLETED);
  EXPECT_FALSE(ParseJobPhase("completed").has_value());
  EXPECT_FALSE(ParsePodPhase("Completed").has_value());
  EXPECT_EQ(JobPhaseName(static_cast<v1::JobPhase>(99)), "");
}

}  // namespace
}  // namespace basalt::kube
