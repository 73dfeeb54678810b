#include <gtest/gtest.h>

#include "common/obs/health.h"
#include "common/obs/metrics.h"

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

}  // namespace
}  // namespace basalt::obs
