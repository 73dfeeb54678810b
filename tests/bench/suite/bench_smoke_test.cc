// Measures every figure in a tiny size. The tests check that the figure can be measured, that the result is plausible,
// and that a job's writes keep their budget.
#include <gtest/gtest.h>

#include "common/obs/log.h"
#include "common/testing/temp_dir.h"
#include "tests/bench/suite/figures.h"
#include "tests/bench/suite/suite_run.h"
#include "tests/bench/suite/write_budget.h"

namespace basalt::bench {
namespace {

class BenchSmokeTest : public ::testing::Test {
 protected:
  BenchSmokeTest() { obs::SetLogLevel(obs::Level::kError); }
};

TEST_F(BenchSmokeTest, EventsTravelTheWholePathAndEndInTheStatusOfTheirJobs) {
  const testing::TempDir dir;
  SuiteRunOptions options;
  options.shape = {.jobs = 20, .pods_per_job = 20};
  options.laps = 2;
  options.binary = BASALT_SUITE_BENCH;
  options.data_dir = dir.path();
  const absl::StatusOr<SuiteResult> run = RunSuite(options);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->counts_agree);
  EXPECT_GT(run->status_writes, 0);
  ASSERT_EQ(run->laps.size(), 2u);
  for (const Lap& lap : run->laps) {
    EXPECT_GT(lap.wall, absl::ZeroDuration());
    EXPECT_GT(lap.gateway.Of("gateway"), absl::ZeroDuration());
    EXPECT_GT(lap.jobsvc.Of("jobsvc"), absl::ZeroDuration());
  }
  EXPECT_GT(run->gateway_growth.allocated_bytes, 0);
  EXPECT_GT(run->jobsvc_growth.allocated_bytes, 0);
}

TEST_F(BenchSmokeTest, MeasuresEveryFigure) {
  FigureOptions options;
  options.binary = BASALT_SUITE_BENCH;
  options.laps = 1;
  options.rounds = 1;
  options.pods = 400;
  options.raw_time = absl::Milliseconds(50);
  options.budgets = {2};
  const absl::StatusOr<std::vector<Figure>> figures = MeasureFigures(options, {}, [](const std::string&) {});
  ASSERT_TRUE(figures.ok()) << figures.status();
  // With so few pods, memory may even shrink, as the process frees memory from before the first pod.
  for (const Figure& figure : *figures) EXPECT_NE(figure.value, 0) << figure.name;
  EXPECT_NE(Table(*figures).find("pipeline"), std::string::npos);
  EXPECT_EQ(ToJson(*figures).as_array().size(), figures->size());
}

TEST_F(BenchSmokeTest, AJobKeepsItsBudgetOfWrites) {
  for (const int pods : {10, 100}) {
    SCOPED_TRACE(pods);
    const WriteBudget budget = CountWrites(pods);
    EXPECT_TRUE(budget.completed);
    EXPECT_EQ(budget.refused, 0);
    EXPECT_EQ(budget.by_kind.at("create pods"), pods);
    EXPECT_EQ(budget.started, pods);
    EXPECT_EQ(budget.ended, pods);
    EXPECT_LE(budget.start_spread, absl::Seconds(2));
    EXPECT_LE(budget.end_spread, absl::Milliseconds(2500));
    EXPECT_LE(budget.writes, budget.goal());
    EXPECT_GT(budget.writes, pods + 2 + 2 * budget.plugin_objects);
  }
}

}  // namespace
}  // namespace basalt::bench
