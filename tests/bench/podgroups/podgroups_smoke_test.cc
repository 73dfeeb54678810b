// Measures every figure in a tiny size, on kubesim. The tests check that the figure can be measured and that the result
// is plausible.
#include <gtest/gtest.h>

#include "common/obs/log.h"
#include "tests/bench/podgroups/group_figures.h"

namespace basalt::bench {
namespace {

class PodGroupsSmokeTest : public ::testing::Test {
 protected:
  PodGroupsSmokeTest() {
    obs::SetLogLevel(obs::Level::kError);
    options_.bed.bin_dir = BASALT_BIN_DIR;
    options_.bed.nodes = 4;
    options_.bed.quiet = absl::Seconds(1);
    options_.bare_pods = {20};
    options_.sets = 3;
    options_.pods_of_set = 4;
    options_.gangs = 2;
    options_.pods_of_gang = 3;
    options_.pods_of_large = 30;
    options_.others = 50;
  }
  // Counts are exact whatever the machine does. Times are not checked.
  static void ExpectCounted(const absl::StatusOr<std::vector<Figure>>& figures, size_t count) {
    ASSERT_TRUE(figures.ok()) << figures.status();
    EXPECT_EQ(figures->size(), count);
    for (const Figure& figure : *figures) {
      if (figure.unit.empty() && figure.name.find("CPU") == std::string::npos) {
        EXPECT_TRUE(figure.met) << figure.name << ": " << figure.value << ", " << figure.notes.front();
      }
    }
  }

  GroupBenchOptions options_;
  const Progress quiet_ = [](const std::string&) {};
};

TEST_F(PodGroupsSmokeTest, BarePods) { ExpectCounted(MeasureBarePods(options_, quiet_), 8); }
TEST_F(PodGroupsSmokeTest, Sets) { ExpectCounted(MeasureSets(options_, quiet_), 4); }
TEST_F(PodGroupsSmokeTest, Gangs) { ExpectCounted(MeasureGangs(options_, quiet_), 2); }
TEST_F(PodGroupsSmokeTest, Large) { ExpectCounted(MeasureLarge(options_, quiet_), 10); }
TEST_F(PodGroupsSmokeTest, PodsOfOthers) { ExpectCounted(MeasureOthers(options_, quiet_), 2); }

}  // namespace
}  // namespace basalt::bench
