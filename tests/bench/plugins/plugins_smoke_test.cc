// Every figure in a tiny size: that it can be measured, and that what comes out can be true.
#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/registry.h"
#include "tests/bench/plugins/plugin_figures.h"

namespace basalt::bench {
namespace {

TEST(PluginsSmokeTest, EachPluginHasAFigureOfItsOwn) {
  const absl::StatusOr<std::vector<Figure>> figures =
      MeasurePlugins({.workers = 3, .rounds = 2, .laps = 1}, [](const std::string&) {});
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), jobsvc::KnownPlugins().size() + 1);
  for (const Figure& figure : *figures) {
    EXPECT_GE(figure.value, 0) << figure.name;
    EXPECT_EQ(figure.runs.size(), 1u) << figure.name;
  }
}

}  // namespace
}  // namespace basalt::bench
