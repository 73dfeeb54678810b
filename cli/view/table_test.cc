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

TEST(TableTest, CutsLongLinesByCodePoint) {
  EXPECT_EQ(FormatTable({"A"}, std::vector<Row>{{"äöüäöü"}}, {.width = 4}), "A\näöü…\n");
}

TEST(TableTest, TheLastColumnGivesWayFirstThenTheWidest) {
  const Row header = {"NAME", "PHASE", "WHY"};
  const std::vector<Row> rows = {
      {"a-job-with-a-rather-long-name", "Pending", "the scheduler has not admitted its PodGroup yet"}};
  EXPECT_EQ(FormatTable(header, rows, {.width = 70}),
            "NAME                            PHASE     WHY\n"
            "a-job-with-a-rather-long-name   Pending   the scheduler has not admit…\n");
  EXPECT_EQ(FormatTable(header, rows, {.width = 50}),
            "NAME                    PHASE     WHY\n"
            "a-job-with-a-rather-…   Pending   the scheduler h…\n");
  EXPECT_EQ(FormatTable(header, rows), FormatTable(header, rows, {.width = 500})) << "in a pipe nothing is cut";
  for (size_t width = 1; width < 100; ++width) {
    EXPECT_LE(TableWidth(FormatTable(header, rows, {.width = width})), width);
  }
}

TEST(TableTest, ColoursChangeNoWidth) {
  const Row header = {"NAME", "PHASE", "WHY"};
  const std::vector<Row> rows = {{"a", Cell("Failed", Colour::kRed), "x"},
                                 {"b", Cell("Completed", Colour::kGreen), ""}};
  EXPECT_EQ(FormatTable(header, rows, {.colours = true}),
            "NAME   PHASE       WHY\n"
            "a      \x1b[31mFailed\x1b[0m      x\n"
            "b      \x1b[32mCompleted\x1b[0m\n");
  EXPECT_EQ(FormatTable(header, rows),
            "NAME   PHASE       WHY\n"
            "a      Failed      x\n"
            "b      Completed\n");
}

// A terminal would obey control characters.
TEST(TableTest, ControlCharactersOfOthersAreShownAsQuestionMarks) {
  EXPECT_EQ(FormatTable({"A"}, std::vector<Row>{{"x\x1b[31my\n\x7f"}}), "A\nx?[31my??\n");
}

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
