// Measures every part of every bench in a tiny size; processes run on kubesim. The tests check that each figure can be
// measured and that the result is plausible. Counts are exact whatever the machine does; times are not checked.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/obs/log.h"
#include "common/testing/temp_dir.h"
#include "services/jobsvc/core/plugins/registry.h"
#include "tests/bench/frame.h"
#include "tests/bench/jobs/job_figures.h"
#include "tests/bench/plugins/plugin_figures.h"
#include "tests/bench/podgroups/group_figures.h"
#include "tests/bench/queues/queue_figures.h"
#include "tests/bench/replicas/http_get.h"
#include "tests/bench/replicas/replica_figures.h"
#include "tests/bench/suite/figures.h"
#include "tests/bench/suite/suite_run.h"
#include "tests/bench/suite/write_budget.h"

namespace basalt::bench {
namespace {

using Figures = std::vector<Figure>;
using Check = std::function<void(const Figures& figures)>;

constexpr double kMostMs = 60'000;  // A time is infinite if its end never came.

struct Row {
  Part part;
  size_t figures = 0;
  Check check;
};

template <typename Options>
Row RowOf(std::string_view name, absl::StatusOr<Figures> (*measure)(const Options&, const Progress&),
          const std::type_identity_t<Options>& options, size_t figures, Check check) {
  return {PartOf(name, measure, options), figures, std::move(check)};
}

void EachIsPositive(const Figures& figures) {
  for (const Figure& figure : figures) EXPECT_GT(figure.value, 0) << figure.name;
}

void EachCountIsMet(const Figures& figures) {
  for (const Figure& figure : figures) {
    const auto has = [&](std::string_view text) { return figure.name.find(text) != std::string::npos; };
    if (has("a second") || !(has("writes of") || has("writes for"))) continue;
    EXPECT_TRUE(figure.met) << figure.name << ": " << figure.value << (figure.notes.empty() ? "" : figure.notes[0]);
  }
}

class BenchSmokeTest : public ::testing::TestWithParam<Row> {
 protected:
  BenchSmokeTest() { obs::SetLogLevel(obs::Level::kError); }
};

TEST_P(BenchSmokeTest, MeasuresItsFigures) {
  const absl::StatusOr<Figures> figures = GetParam().part.measure([](const std::string&) {});
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), GetParam().figures);
  GetParam().check(*figures);
  EXPECT_NE(Table(*figures).find(figures->back().name), std::string::npos);
  EXPECT_EQ(ToJson(*figures).as_array().size(), figures->size());
}

std::string NameOf(const ::testing::TestParamInfo<Row>& row) { return std::string(row.param.part.name); }

// ---- jobs ----

JobBenchOptions SmallJobs() {
  JobBenchOptions options;
  options.bed.bin_dir = BASALT_BIN_DIR;
  options.bed.nodes = 4;
  options.bed.quiet = absl::Seconds(1);
  options.runs = absl::Seconds(1);
  options.write_pods = {3};
  options.abort_pods = {5};
  options.finished_jobs = 5;
  options.cost_pods = 20;
  options.cost_laps = 1;
  options.memory_jobs = 2;
  options.memory_pods_of_job = 10;
  options.ending_time = absl::Milliseconds(200);
  options.ending_warm = absl::Milliseconds(50);
  options.bare = true;
  options.edited_jobs = 2;
  options.edits = 4;
  return options;
}

void EachPodIsMadeOnce(const Figures& figures) {
  EXPECT_GT(figures[0].value, 3 + 2);
  EXPECT_GE(figures[1].value, figures[0].value + 2 * 3);
  EXPECT_EQ(figures[2].value, 0);
  EXPECT_NE(figures[0].notes[0].find("3 create pods"), std::string::npos) << figures[0].notes[0];
}

void EachEffectIsTimed(const Figures& figures) {
  EachIsPositive(figures);
  for (const Figure& figure : figures) EXPECT_LT(figure.value, kMostMs) << figure.name;
}

void EachEndIsTimed(const Figures& figures) {
  for (const size_t median : {0, 2}) {
    EXPECT_GT(figures[median].value, 0);
    EXPECT_GE(figures[median + 1].value, figures[median].value);
    EXPECT_LT(figures[median + 1].value, kMostMs);
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, BenchSmokeTest,
                         ::testing::Values(RowOf("Writes", &MeasureWrites, SmallJobs(), 3, &EachPodIsMadeOnce),
                                           RowOf("Restart", &MeasureRestart, SmallJobs(), 2, &EachCountIsMet),
                                           RowOf("Abort", &MeasureAbort, SmallJobs(), 1,
                                                 [](const Figures& figures) { EXPECT_GT(figures[0].value, 3); }),
                                           RowOf("Cost", &MeasureCost, SmallJobs(), 5, &EachIsPositive),
                                           RowOf("Memory", &MeasureMemory, SmallJobs(), 1,
                                                 [](const Figures& figures) { EXPECT_GT(figures[0].value, 10); }),
                                           RowOf("Edits", &MeasureEdits, SmallJobs(), 5, &EachEffectIsTimed),
                                           RowOf("Ending", &MeasureEnding, SmallJobs(), 4, &EachEndIsTimed)),
                         NameOf);

// ---- podgroups ----

GroupBenchOptions SmallGroups() {
  GroupBenchOptions options;
  options.bed.bin_dir = BASALT_BIN_DIR;
  options.bed.nodes = 4;
  options.bed.quiet = absl::Seconds(1);
  options.bare_pods = {20};
  options.sets = 3;
  options.pods_of_set = 4;
  options.gangs = 2;
  options.pods_of_gang = 3;
  options.pods_of_large = 30;
  options.others = 50;
  return options;
}

INSTANTIATE_TEST_SUITE_P(PodGroups, BenchSmokeTest,
                         ::testing::Values(RowOf("Bare", &MeasureBarePods, SmallGroups(), 8, &EachCountIsMet),
                                           RowOf("Sets", &MeasureSets, SmallGroups(), 4, &EachCountIsMet),
                                           RowOf("Gangs", &MeasureGangs, SmallGroups(), 2, &EachCountIsMet),
                                           RowOf("Large", &MeasureLarge, SmallGroups(), 10, &EachCountIsMet),
                                           RowOf("Others", &MeasureOthers, SmallGroups(), 2, &EachCountIsMet)),
                         NameOf);

// ---- queues ----

QueueBenchOptions SmallQueues() {
  QueueBenchOptions options;
  options.bed.bin_dir = BASALT_BIN_DIR;
  options.bed.nodes = 1;
  options.bed.places_pods = false;
  options.bed.quiet = absl::Milliseconds(1'500);
  options.queues = 3;
  options.groups_of_queue = 10;
  options.changes = 20;
  options.small = 2;
  options.large = 20;
  options.laps = 1;
  options.changes_of_lap = 30;
  options.children = 20;
  return options;
}

void EachChangeIsCounted(const Figures& figures) {
  EachCountIsMet(figures);
  EXPECT_LT(figures.back().value, kMostMs);
}

INSTANTIATE_TEST_SUITE_P(Queues, BenchSmokeTest,
                         ::testing::Values(RowOf("Load", &MeasureLoad, SmallQueues(), 8, &EachChangeIsCounted),
                                           RowOf("Restart", &MeasureQueueRestart, SmallQueues(), 2, &EachCountIsMet),
                                           RowOf("Size", &MeasureSize, SmallQueues(), 8, &EachCountIsMet),
                                           RowOf("Close", &MeasureClose, SmallQueues(), 10, &EachCountIsMet)),
                         NameOf);

// ---- plugins ----

// Returns the bytes of a pod, with which the figure's note begins: "1 144 bytes".
int BytesOf(const Figure& figure) {
  std::string digits;
  for (const char c : figure.notes[0]) {
    if (c == 'b') break;
    if (c != ' ') digits += c;
  }
  return std::stoi(digits);
}

void EachPluginAddsBytes(const Figures& figures) {
  for (const Figure& figure : figures) {
    EXPECT_EQ(figure.runs.size(), 1u) << figure.name;
    ASSERT_EQ(figure.notes.size(), 1u) << figure.name;
    if (&figure == &figures.front()) continue;
    EXPECT_GT(BytesOf(figure), BytesOf(figures.front())) << figure.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, BenchSmokeTest,
                         ::testing::Values(RowOf("Pods", &MeasurePlugins, {.workers = 3, .rounds = 2, .laps = 1},
                                                 jobsvc::KnownPlugins().size() + 1, &EachPluginAddsBytes)),
                         NameOf);

// ---- replicas ----

GatewayLoadOptions SmallLoad(int pods_per_job = 10) {
  return {.binary = BASALT_BIN_DIR "/replicas_bench",
          .shape = {.jobs = 60, .pods_per_job = pods_per_job},
          .laps = 1,
          .replicas = {1, 2},
          .bursts = 1,
          .paced_events = 200};
}

void KeysAreKeptAndSentLater(const Figures& figures) {
  EXPECT_TRUE(figures.front().met) << figures.front().value;
  EXPECT_GT(figures.back().value, 0);
}

void WorkIsShared(const Figures& figures) {
  const Figure& keys = figures[1];
  EXPECT_GT(keys.value, 0.5) << keys.name;
  EXPECT_LT(keys.value, 2) << keys.name;
  EXPECT_TRUE(figures.back().met) << figures.back().name << ": " << figures.back().value;
}

void SlotsThatMoveAreTimed(const Figures& figures) {
  EachIsPositive(figures);
  EXPECT_GE(figures[2].value, 1000) << "before the grace period is over nobody else gets a slot";
}

INSTANTIATE_TEST_SUITE_P(
    Replicas, BenchSmokeTest,
    ::testing::Values(
        RowOf("FanOut", &MeasureFanOut, SmallLoad(), 3,
              [](const Figures& figures) {
                EXPECT_GT(figures[0].value, 0);
                EXPECT_GT(figures[1].value, 0);
              }),
        // The pods are more than the stream to a replica holds.
        RowOf("Burst", &MeasureBurst, SmallLoad(100), 3, &KeysAreKeptAndSentLater),
        RowOf("Restart", &MeasureReplicaRestart,
              {.bin_dir = BASALT_BIN_DIR, .shape = {.jobs = 40, .pods_per_job = 10}, .runs = 1}, 2, &EachIsPositive),
        // There are three measures of three services, and one join.
        RowOf("Share", &MeasureShare,
              {.bin_dir = BASALT_BIN_DIR, .jobs = 60, .queues = 20, .replicas = {1, 2}, .rest = absl::Seconds(1)}, 10,
              &WorkIsShared),
        RowOf("Moves", &MeasureMoves,
              {.bin_dir = BASALT_BIN_DIR,
               .jobs = 20,
               .per_second = 10,
               .rounds = 1,
               .upgrades = 1,
               .crashes = 1,
               .take_overs = 1,
               .grace = absl::Seconds(1),
               .lease_duration = absl::Seconds(2)},
              5, &SlotsThatMoveAreTimed),
        RowOf("Tls", &MeasureTls, {.bin_dir = BASALT_BIN_DIR, .jobs = 30, .rounds = 1, .replicas = 4, .storms = 2}, 2,
              &EachIsPositive)),
    NameOf);

TEST(ReplicasMetricTest, AllSeriesOfAMetricAreAddedUp) {
  const std::string text =
      "# HELP a_total Of a.\na_total{worker=\"0\"} 3\na_total{worker=\"1\"} 4.5\na_total_more 100\nb_total 7\n";
  EXPECT_EQ(SumOf(text, "a_total"), 7.5);
  EXPECT_EQ(SumOf(text, "b_total"), 7);
  EXPECT_EQ(SumOf(text, "c_total"), 0);
}

// ---- suite ----

FigureOptions SmallSuite() {
  return {.binary = BASALT_BIN_DIR "/suite_bench",
          .laps = 1,
          .rounds = 1,
          .pods = 400,
          .raw_time = absl::Milliseconds(50),
          .budgets = {2}};
}

// With so few pods, memory may even shrink, as the process frees memory from before the first pod.
void NoneIsZero(const Figures& figures) {
  for (const Figure& figure : figures) EXPECT_NE(figure.value, 0) << figure.name;
}

INSTANTIATE_TEST_SUITE_P(Suite, BenchSmokeTest,
                         ::testing::Values(RowOf("Pipeline", &MeasurePipeline, SmallSuite(), 8, &NoneIsZero),
                                           RowOf("JobSize", &MeasureJobSize, SmallSuite(), 6, &NoneIsZero),
                                           RowOf("Writes", &MeasureBudgets, SmallSuite(), 1, &NoneIsZero)),
                         NameOf);

TEST(SuiteRunTest, EventsTravelTheWholePathAndEndInTheirJobs) {
  obs::SetLogLevel(obs::Level::kError);
  const testing::TempDir dir;
  const absl::StatusOr<SuiteResult> run = RunSuite({.shape = {.jobs = 20, .pods_per_job = 20},
                                                    .laps = 2,
                                                    .binary = BASALT_BIN_DIR "/suite_bench",
                                                    .data_dir = dir.path()});
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

TEST(SuiteWritesTest, AJobKeepsItsBudgetOfWrites) {
  obs::SetLogLevel(obs::Level::kError);
  for (const int pods : {10, 100}) {
    SCOPED_TRACE(pods);
    const WriteBudget budget = CountWrites(pods);
    EXPECT_TRUE(budget.completed);
    EXPECT_EQ(budget.tally.refused, 0);
    EXPECT_EQ(budget.tally.by_kind.at("create pods"), pods);
    EXPECT_EQ(budget.starts.count, pods);
    EXPECT_EQ(budget.ends.count, pods);
    EXPECT_LE(budget.starts.length(), absl::Seconds(2));
    EXPECT_LE(budget.ends.length(), absl::Milliseconds(2500));
    EXPECT_LE(budget.writes(), budget.goal());
    EXPECT_GT(budget.writes(), pods + 2 + 2 * WriteBudget::kPluginObjects);
  }
}

}  // namespace
}  // namespace basalt::bench
