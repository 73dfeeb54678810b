#include "cli/view/table.h"

#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

TEST(TableTest, PadsToTheWidestCellAndLeavesNoTrailingSpace) {
  EXPECT_EQ(FormatTable({"NAME", "PHASE", "WHY"}, {{"a", "Running", ""}, {"longer", "Ok", "it waits"}}),
            "NAME     PHASE     WHY\n"
            "a        Running\n"
            "longer   Ok        it waits\n");
}

TEST(TableTest, CutsLongLinesByCodePoint) { EXPECT_EQ(FormatTable({"A"}, {{"äöüäöü"}}, 4), "A\näöü…\n"); }

TEST(TableTest, AgesReadLikeKubectls) {
  const std::pair<int64_t, std::string_view> cases[] = {
      {-5, "0s"},           {59'000, "59s"},           {119'000, "119s"},         {120'000, "2m"},
      {200'000, "3m20s"},   {600'000, "10m"},          {3 * 3600'000, "3h"},      {11'100'000, "3h5m"},
      {9 * 3600'000, "9h"}, {50 * 3600'000LL, "2d2h"}, {240 * 3600'000LL, "10d"},
  };
  for (const auto& [milliseconds, text] : cases) EXPECT_EQ(FormatAge(milliseconds), text) << milliseconds;
}

}  // namespace
}  // namespace basalt::cli
