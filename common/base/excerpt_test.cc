#include "common/base/excerpt.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

TEST(ExcerptTest, ControlCharactersAreNotPrinted) {
  const struct {
    std::string_view text, printed;
  } rows[] = {
      {"plain é 漢 🙂", "plain é 漢 🙂"},
      {"\x1b[2J\x1b]0;t\x07\r\n\t", "?[2J?]0;t????"},
      {std::string_view("a\0b", 3), "a?b"},
      {"\x7f", "?"},
      {"a\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f\xc2\xa0z", "a????\xc2\xa0z"},
      {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", "\xe2\x80\xa7????\xe2\x80\xaf"},
      {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5??\xe2\x81\xaa"},
      {"\x9b", "?"},
      {"\xc0\x9b", "??"},
      {"\xed\xa0\x80", "???"},
      {"\xf4\x90\x80\x80", "????"},
      {"\xe2\x80", "??"},
      {"", ""}};
  for (const auto& row : rows) EXPECT_EQ(Printable(row.text), row.printed) << row.printed;
}

TEST(ExcerptTest, IsCutBetweenCharactersAndPrintable) {
  EXPECT_EQ(Excerpt("aé", 2), "a");
  EXPECT_EQ(Excerpt("aé", 3), "aé");
  EXPECT_EQ(Excerpt("\xc2\x9b", 1), "");
  EXPECT_EQ(Excerpt("\xc2\x9b-", 2), "?");
}

TEST(ExcerptTest, JsonStaysTheSameValue) {
  EXPECT_EQ(PrintableJson("{\n \"a\": \"é\xc2\x9b\xe2\x80\xae\x7f\"\n}"), "{\n \"a\": \"é\\u009b\\u202e\\u007f\"\n}");
}

TEST(ExcerptTest, OnlyWholeCharactersAreUtf8) {
  EXPECT_TRUE(IsUtf8("aé漢🙂"));
  for (const char* text : {"\xff", "\xe2\x80", "a\xc3", "\xc0\x80", "\xed\xbf\xbf", "\xf5\x80\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(text));
  }
}

}  // namespace
}  // namespace basalt
