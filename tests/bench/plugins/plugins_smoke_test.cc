// Measures every figure in a tiny size. The tests check that the figure can be measured and that the result is
// plausible.
#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/core/plugins/registry.h"
#include "tests/bench/plugins/plugin_figures.h"

namespace basalt::bench {
namespace {

// Returns the bytes of a pod, with which the figure's note begins: "1 144 bytes".
int BytesOf(const Figure& figure) {
  std::string digits;
  for (const char c : figure.notes[0]) {
    if (c == 'b') break;
    if (c != ' ') digits += c;
  }
  return std::stoi(digits);
}

TEST(PluginsSmokeTest, EachPluginHasAFigureOfItsOwn) {
  const absl::StatusOr<std::vector<Figure>> figures =
      MeasurePlugins({.workers = 3, .rounds = 2, .laps = 1}, [](const std::string&) {});
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), jobsvc::KnownPlugins().size() + 1);
  for (const Figure& figure : *figures) {
    EXPECT_EQ(figure.runs.size(), 1u) << figure.name;
    ASSERT_EQ(figure.notes.size(), 1u) << figure.name;
    if (&figure == &figures->front()) continue;
    EXPECT_GT(BytesOf(figure), BytesOf(figures->front())) << figure.name;
  }
}

}  // namespace
}  // namespace basalt::bench
