// Measures every figure in a tiny size, on kubesim. The tests check that the figure can be measured and that the result
// is plausible.
#include <gtest/gtest.h>

#include "common/obs/log.h"
#include "tests/bench/queues/queue_figures.h"

namespace basalt::bench {
namespace {

class QueuesSmokeTest : public ::testing::Test {
 protected:
  QueuesSmokeTest() {
    obs::SetLogLevel(obs::Level::kError);
    options_.bed.bin_dir = BASALT_BIN_DIR;
    options_.bed.nodes = 1;
    options_.bed.places_pods = false;
    options_.bed.quiet = absl::Milliseconds(1'500);
    options_.queues = 3;
    options_.groups_of_queue = 10;
    options_.changes = 20;
    options_.small = 2;
    options_.large = 20;
    options_.laps = 1;
    options_.changes_of_lap = 30;
    options_.children = 20;
  }
  // Counts are exact whatever the machine does. Times are not checked.
  static void ExpectCounted(const absl::StatusOr<std::vector<Figure>>& figures, size_t count) {
    ASSERT_TRUE(figures.ok()) << figures.status();
    EXPECT_EQ(figures->size(), count);
    for (const Figure& figure : *figures) {
      const bool is_timed = figure.name.find("a second") != std::string::npos;
      const bool is_counted = !is_timed && (figure.name.find("writes of") != std::string::npos ||
                                            figure.name.find("writes for") != std::string::npos);
      EXPECT_TRUE(figure.met || !is_counted) << figure.name << ": " << figure.value;
    }
  }

  QueueBenchOptions options_;
  const Progress quiet_ = [](const std::string&) {};
};

TEST_F(QueuesSmokeTest, Load) {
  const auto figures = MeasureLoad(options_, quiet_);
  ExpectCounted(figures, 8);
  // The last figure is infinite if a change was never counted.
  EXPECT_LT(figures->back().value, 60'000);
}
TEST_F(QueuesSmokeTest, Restart) { ExpectCounted(MeasureQueueRestart(options_, quiet_), 2); }
TEST_F(QueuesSmokeTest, Size) { ExpectCounted(MeasureSize(options_, quiet_), 8); }
TEST_F(QueuesSmokeTest, Close) { ExpectCounted(MeasureClose(options_, quiet_), 10); }

}  // namespace
}  // namespace basalt::bench
