// Measures every figure in a tiny size, on kubesim. The tests check that the figure can be measured and that the result
// is plausible.
#include <gtest/gtest.h>

#include "common/obs/log.h"
#include "tests/bench/jobs/job_figures.h"

namespace basalt::bench {
namespace {

class JobsSmokeTest : public ::testing::Test {
 protected:
  JobsSmokeTest() {
    obs::SetLogLevel(obs::Level::kError);
    options_.bed.bin_dir = BASALT_BIN_DIR;
    options_.bed.nodes = 4;
    options_.bed.quiet = absl::Seconds(1);
    options_.runs = absl::Seconds(1);
    options_.write_pods = {3};
    options_.abort_pods = {5};
    options_.finished_jobs = 5;
    options_.cost_pods = 20;
    options_.cost_laps = 1;
    options_.memory_jobs = 2;
    options_.memory_pods_of_job = 10;
    options_.ending_time = absl::Milliseconds(200);
    options_.ending_warm = absl::Milliseconds(50);
    options_.bare = true;
    options_.edited_jobs = 2;
    options_.edits = 4;
  }

  JobBenchOptions options_;
};

void Ignore(const std::string&) {}

TEST_F(JobsSmokeTest, AJobMakesEachPodOnce) {
  const auto figures = MeasureWrites(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 3u);
  EXPECT_GT((*figures)[0].value, 3 + 2);
  EXPECT_GE((*figures)[1].value, (*figures)[0].value + 2 * 3);
  EXPECT_EQ((*figures)[2].value, 0);
  EXPECT_NE((*figures)[0].notes[0].find("3 create pods"), std::string::npos) << (*figures)[0].notes[0];
}

TEST_F(JobsSmokeTest, ARestartWritesNothing) {
  const auto figures = MeasureRestart(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 2u);
  for (const Figure& figure : *figures) EXPECT_TRUE(figure.met) << figure.name << ": " << figure.notes[0];
}

TEST_F(JobsSmokeTest, AnAbortIsCounted) {
  const auto figures = MeasureAbort(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 1u);
  EXPECT_GT(figures->front().value, 3);
}

TEST_F(JobsSmokeTest, PodsCostCpu) {
  const auto figures = MeasureCost(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 5u);
  for (const Figure& figure : *figures) EXPECT_GT(figure.value, 0) << figure.name;
}

TEST_F(JobsSmokeTest, RunningPodsTakeMemory) {
  const auto figures = MeasureMemory(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 1u);
  EXPECT_GT(figures->front().value, 10);
}

TEST_F(JobsSmokeTest, TheFirstEffectOfEachEditIsTimed) {
  const auto figures = MeasureEdits(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 5u);
  for (const Figure& figure : *figures) {
    EXPECT_GT(figure.value, 0) << figure.name;
    EXPECT_LT(figure.value, 60'000) << figure.name;
  }
}

TEST_F(JobsSmokeTest, TheEndOfEachJobIsTimed) {
  const auto figures = MeasureEnding(options_, Ignore);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 4u);
  for (const size_t median : {0, 2}) {
    EXPECT_GT((*figures)[median].value, 0);
    EXPECT_GE((*figures)[median + 1].value, (*figures)[median].value);
    EXPECT_LT((*figures)[median + 1].value, 60'000);
  }
}

}  // namespace
}  // namespace basalt::bench
