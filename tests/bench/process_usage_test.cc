#include "tests/bench/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace basalt::bench {
namespace {

TEST(ProcessUsageTest, UserAndSystemTimeAndThePeakAreRead) {
  const auto usage =
      ParseProcessUsage("12 (a) b (c)) S 1 1 1 0 -1 4194304 9 0 0 0 150 50 7 7 20 0 9 0 1 1 1",
                        "Name:\tx\nVmPeak:\t 900 kB\nVmHWM:\t  64 kB\nVmRSS:\t 60 kB\nRssAnon:\t 8 kB\n", 100);
  ASSERT_TRUE(usage.ok()) << usage.status();
  EXPECT_EQ(usage->cpu, absl::Seconds(2));
  EXPECT_EQ(usage->peak_bytes, 65536);
  EXPECT_EQ(usage->anonymous_bytes, 8192);
}

TEST(ProcessUsageTest, TextsOfNoProcessAreRefused) {
  EXPECT_EQ(ParseProcessUsage("", "", 100).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseProcessUsage("12 (a) S 1", "\nVmHWM: 1 kB", 100).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseProcessUsage("12 (a) S 1 1 1 0 -1 4194304 9 0 0 0 150 50", "\nVmHWM: 1 kB", 100).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadProcessUsage(0).status().code(), absl::StatusCode::kNotFound);
}

TEST(ProcessUsageTest, ThisProcessHasUsedMemory) {
  const auto usage = ReadProcessUsage(getpid());
  ASSERT_TRUE(usage.ok()) << usage.status();
  EXPECT_GT(usage->peak_bytes, 0);
}

}  // namespace
}  // namespace basalt::bench
