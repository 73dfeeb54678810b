#include <gtest/gtest.h>

#include <optional>

#include "common/obs/health.h"
#include "common/obs/log_limit.h"
#include "common/obs/metrics.h"
#include "common/time/sim_time.h"

namespace basalt::obs {
namespace {

TEST(MetricsTest, TextShowsEverySeriesOnceAndARemovedOneNoMore) {
  auto metrics = MakeMetrics();
  metrics->GetCounter("jobs_total", "Jobs.", {{"phase", "Completed"}}).Add(2);
  metrics->GetCounter("jobs_total", "Jobs.", {{"phase", "Completed"}}).Add();
  metrics->GetGauge("lag", "Lag.").Set(7);
  EXPECT_NE(metrics->Text().find("jobs_total{phase=\"Completed\"} 3"), std::string::npos) << metrics->Text();
  EXPECT_NE(metrics->Text().find("lag 7"), std::string::npos);
  metrics->Remove("jobs_total", {{"phase", "Completed"}});
  EXPECT_EQ(metrics->Text().find("phase=\"Completed\""), std::string::npos);
}

TEST(HealthTest, IsReadyWhenEveryTargetIs) {
  Health health;
  health.AddTarget("gateway", "not attached yet");
  health.AddTarget("store", "opening");
  health.SetReady("store");
  EXPECT_FALSE(health.IsReady());
  EXPECT_EQ(health.Targets()[0].why, "not attached yet");
  health.SetReady("gateway");
  EXPECT_TRUE(health.IsReady());
}

TEST(HealthTest, TellsSinceWhenAStateLastsWhateverItsWordsAre) {
  SimTime time;
  Health health(&time);
  health.AddTarget("watch jobs", "not listed yet");
  const absl::Time start = time.Now();
  time.Advance(absl::Seconds(5));
  health.AddTarget("watch jobs", "connection refused");
  EXPECT_EQ(health.Targets()[0].since, start);
  health.Set("watch jobs", {.ready = false, .state = "forbidden", .why = "no list for you", .cure = "grant list"});
  EXPECT_EQ(health.Targets()[0].since, start + absl::Seconds(5));
  EXPECT_EQ(health.Targets()[0].cure, "grant list");
  EXPECT_FALSE(health.IsReady());
  health.Remove("watch jobs");
  EXPECT_TRUE(health.IsReady());
}

TEST(LogLimitTest, OneLineComesThroughInAWhileAndSaysHowManyDidNot) {
  LogLimit limit(absl::Seconds(1));
  const absl::Time start = absl::UnixEpoch();
  EXPECT_EQ(limit.Take(start), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take(start + absl::Milliseconds(999)), std::nullopt);
  EXPECT_EQ(limit.Take(start + absl::Seconds(1)), 3);
  EXPECT_EQ(limit.Take(start + absl::Seconds(5)), 0);
}

}  // namespace
}  // namespace basalt::obs
