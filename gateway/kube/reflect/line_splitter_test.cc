#include "gateway/kube/reflect/line_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::gateway {
namespace {

TEST(LineSplitterTest, ChunksMayBeCutAnywhere) {
  const std::string text = "first\n\nsecond line\nthird\n";
  const std::vector<std::string> expected = {"first", "second line", "third"};
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = a; b <= text.size(); ++b) {
      LineSplitter splitter(100);
      std::vector<std::string> lines;
      const auto keep = [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      };
      for (const std::string& chunk : {text.substr(0, a), text.substr(a, b - a), text.substr(b)}) {
        EXPECT_TRUE(splitter.Feed(chunk, keep).ok());
      }
      EXPECT_EQ(lines, expected) << a << " " << b;
      EXPECT_EQ(splitter.pending(), 0U);
    }
  }
}

TEST(LineSplitterTest, ALineWithinAChunkIsNotCopied) {
  const std::string text = "one\ntwo\nrest";
  LineSplitter splitter(100);
  EXPECT_TRUE(splitter
                  .Feed(text,
                        [&](std::string_view line) {
                          EXPECT_GE(line.data(), text.data());
                          EXPECT_LT(line.data(), text.data() + text.size());
                          return true;
                        })
                  .ok());
  EXPECT_EQ(splitter.pending(), 4U);
}

TEST(LineSplitterTest, StopsWhereTheCalleeSaysSo) {
  LineSplitter splitter(100);
  int lines = 0;
  EXPECT_TRUE(splitter.Feed("a\nb\nc", [&](std::string_view) { return ++lines < 2; }).ok());
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(splitter.pending(), 0U);
}

TEST(LineSplitterTest, ALineOverTheBoundIsNamed) {
  for (const size_t cut : {1U, 5U, 10U, 11U, 12U}) {
    LineSplitter splitter(10);
    absl::Status status;
    int lines = 0;
    const std::string text = "exactly10!\nelevenbytes\n";
    for (size_t at = 0; at < text.size() && status.ok(); at += cut) {
      status = splitter.Feed(text.substr(at, cut), [&](std::string_view line) {
        EXPECT_EQ(line, "exactly10!");
        ++lines;
        return true;
      });
    }
    EXPECT_EQ(lines, 1) << cut;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << cut;
    EXPECT_NE(status.message().find("eleven"), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace basalt::gateway
