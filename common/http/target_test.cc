#include "common/http/target.h"

#include <gtest/gtest.h>

namespace basalt::http {
namespace {

TEST(TargetTest, SplitsAndUnescapes) {
  const Target target = ParseTarget("/api/v1//namespaces/a%2Fb/pods?labelSelector=a%3Db%2Cc&watch&x=1+2&x=%zz#frag");
  EXPECT_EQ(target.segments, (std::vector<std::string>{"api", "v1", "namespaces", "a/b", "pods"}));
  EXPECT_EQ(target.Query("labelSelector"), "a=b,c");
  EXPECT_TRUE(target.HasQuery("watch"));
  EXPECT_EQ(target.Query("watch"), "");
  EXPECT_EQ(target.Query("x"), "1 2");
  ASSERT_EQ(target.query.size(), 4U);
  EXPECT_EQ(target.query[3].second, "%zz");
  EXPECT_FALSE(target.HasQuery("absent"));
  EXPECT_TRUE(ParseTarget("").segments.empty());
  EXPECT_TRUE(ParseTarget("/").segments.empty());
  EXPECT_EQ(ParseTarget("/a%").segments[0], "a%");
}

TEST(TargetTest, EscapingIsUndoneByParsing) {
  const std::string odd = "a b/c?d&e=f%+\xc3\xa9#~";
  const Target target = ParseTarget("/" + Escape(odd) + "?k=" + Escape(odd));
  EXPECT_EQ(target.segments[0], odd);
  EXPECT_EQ(target.Query("k"), odd);
  EXPECT_EQ(Escape(std::string_view("abc").substr(0, 0)), "");
}

}  // namespace
}  // namespace basalt::http
