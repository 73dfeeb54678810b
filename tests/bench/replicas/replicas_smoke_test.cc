// Measures every part in a tiny size. The tests check that the part can be measured and that the result is plausible.
#include <gtest/gtest.h>

#include "common/obs/log.h"
#include "tests/bench/replicas/gateway_load.h"
#include "tests/bench/replicas/http_get.h"
#include "tests/bench/replicas/moves.h"
#include "tests/bench/replicas/restart.h"
#include "tests/bench/replicas/share.h"
#include "tests/bench/replicas/tls.h"

namespace basalt::bench {
namespace {

class ReplicasSmokeTest : public ::testing::Test {
 protected:
  ReplicasSmokeTest() { obs::SetLogLevel(obs::Level::kError); }

  static GatewayLoadOptions Load() {
    GatewayLoadOptions options;
    options.binary = BASALT_REPLICAS_BENCH;
    options.shape = {.jobs = 40, .pods_per_job = 10};
    options.laps = 1;
    options.replicas = {1, 2};
    options.bursts = 1;
    options.paced_events = 200;
    return options;
  }
};

void Ignore(const std::string&) {}

TEST(ExpositionTest, AllSeriesOfAMetricAreAddedUp) {
  const std::string text =
      "# HELP a_total Of a.\na_total{worker=\"0\"} 3\na_total{worker=\"1\"} 4.5\na_total_more 100\nb_total 7\n";
  EXPECT_EQ(SumOf(text, "a_total"), 7.5);
  EXPECT_EQ(SumOf(text, "b_total"), 7);
  EXPECT_EQ(SumOf(text, "c_total"), 0);
}

TEST_F(ReplicasSmokeTest, EventsGoToEveryNumberOfReplicas) {
  const auto figures = MeasureFanOut(Load(), Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 3u);
  EXPECT_GT((*figures)[0].value, 0);
  EXPECT_GT((*figures)[1].value, 0);
}

TEST_F(ReplicasSmokeTest, AReplicaThatReadsNothingHasItsKeysKeptAndGetsThemLater) {
  GatewayLoadOptions options = Load();
  options.shape = {.jobs = 60, .pods_per_job = 100};  // More pods than the stream to a replica holds.
  const auto figures = MeasureBurst(options, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 3u);
  EXPECT_TRUE(figures->front().met) << figures->front().value;
  EXPECT_GT(figures->back().value, 0);
}

TEST_F(ReplicasSmokeTest, AReplicaIsReadyAgainWithItsDiskAndWithout) {
  RestartOptions options;
  options.bin_dir = BASALT_BIN_DIR;
  options.shape = {.jobs = 40, .pods_per_job = 10};
  options.runs = 1;
  const auto figures = MeasureRestart(options, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 2u);
  for (const Figure& figure : *figures) EXPECT_GT(figure.value, 0) << figure.name;
}

TEST_F(ReplicasSmokeTest, TheWorkOfEachReplicaIsSeen) {
  ShareOptions options;
  options.bin_dir = BASALT_BIN_DIR;
  options.jobs = 60;
  options.queues = 20;
  options.replicas = {1, 2};
  options.rest = absl::Seconds(1);
  const auto figures = MeasureShare(options, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 10u);  // Three measures of three services, and one join.
  const Figure& keys = (*figures)[1];
  EXPECT_GT(keys.value, 0.5) << keys.name;
  EXPECT_LT(keys.value, 2) << keys.name;
  EXPECT_TRUE(figures->back().met) << figures->back().name << ": " << figures->back().value;
}

TEST_F(ReplicasSmokeTest, SlotsThatMoveAreTimedAndEveryJobCompletes) {
  MoveOptions options;
  options.bin_dir = BASALT_BIN_DIR;
  options.jobs = 20;
  options.per_second = 10;
  options.rounds = 1;
  options.upgrades = 1;
  options.crashes = 1;
  options.take_overs = 1;
  options.grace = absl::Seconds(1);
  options.lease_duration = absl::Seconds(2);
  const auto figures = MeasureMoves(options, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 5u);
  for (const Figure& figure : *figures) EXPECT_GT(figure.value, 0) << figure.name;
  EXPECT_GE((*figures)[2].value, 1000) << "before the grace period is over nobody else gets a slot";
}

TEST_F(ReplicasSmokeTest, TheCostOfTlsIsSeen) {
  TlsOptions options;
  options.bin_dir = BASALT_BIN_DIR;
  options.jobs = 30;
  options.rounds = 1;
  options.replicas = 4;
  options.storms = 2;
  const auto figures = MeasureTls(options, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 2u);
  for (const Figure& figure : *figures) EXPECT_GT(figure.value, 0) << figure.name;
}

}  // namespace
}  // namespace basalt::bench
