#include "common/history/entries.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/history/history_fixture.h"

namespace basalt::history {
namespace {

TEST(EntriesTest, KeysSortAsEntriesHappened) {
  const std::vector<EntryNumber> numbers = {{0}, {1}, {1, 2}, {1, 300}, {2}, {255, 7}, {256}, {256, 7}};
  for (size_t i = 1; i < numbers.size(); ++i) {
    EXPECT_LT(numbers[i - 1], numbers[i]);
    EXPECT_LT(EntryKey(3, "u", numbers[i - 1]), EntryKey(3, "u", numbers[i]));
  }
  EXPECT_LT(EntryKey(3, "u", {256}), kv::PrefixEnd(EntryPrefix(3, "u")));
  EXPECT_FALSE(EntryKey(3, "uu", {1}).starts_with(EntryPrefix(3, "u"))) << "another object";
}

TEST(EntriesTest, TheOldestAreSurplusAndOfEditsTheOldestFirst) {
  struct Row {
    const char* name;
    std::vector<EntryNumber> entries;
    size_t surplus;
    size_t most_edits;
    const char* drop;
  };
  const std::vector<Row> rows = {
      {"nothing is surplus", {{1}, {2}}, 0, 1, ""},
      {"decisions alone", {{1}, {2}, {3}}, 2, 1, "1 2"},
      {"one edit too many", {{1}, {1, 2}, {1, 3}, {2}}, 1, 1, "1/2"},
      {"as many edits as there may be", {{1}, {1, 2}, {1, 3}, {2}}, 1, 2, "1"},
      {"one edit too many, and more is surplus", {{1}, {1, 2}, {1, 3}, {2}}, 2, 1, "1 1/2"},
      {"edits that may be there go by their age", {{1}, {1, 2}, {1, 3}, {2}}, 3, 1, "1 1/2 1/3"},
      {"more edits too many than are surplus", {{1}, {1, 2}, {1, 3}, {1, 4}}, 2, 0, "1/2 1/3"},
      {"no edit may be there", {{1}, {1, 2}, {2}, {2, 3}}, 2, 0, "1/2 2/3"},
      {"all", {{1}, {1, 2}}, 2, 1, "1 1/2"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(TextOf(Surplus(row.entries, row.surplus, row.most_edits)), row.drop) << row.name;
  }
}

}  // namespace
}  // namespace basalt::history
