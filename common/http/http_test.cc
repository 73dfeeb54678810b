#include "common/http/http.h"

#include <gtest/gtest.h>

#include "common/http/date.h"

namespace basalt::http {
namespace {

TEST(HeadersTest, AreFoundWithoutRegardToCase) {
  const Headers headers = {{"Content-Type", "a"}, {"x-Other", "b"}, {"X-OTHER", "c"}};
  EXPECT_EQ(FindHeader(headers, "content-type"), "a");
  EXPECT_EQ(FindHeader(headers, "X-Other"), "b");
  EXPECT_EQ(FindHeader(headers, "absent"), "");
}

TEST(DateTest, OnlyADateIsRead) {
  const absl::Time time = absl::FromUnixSeconds(784111777);
  EXPECT_EQ(FormatDate(time + absl::Milliseconds(999)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(ParseDate("Sun, 06 Nov 1994 08:49:37 GMT"), time);
  for (const char* const text : {"", "garbage", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 36 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(ParseDate(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace basalt::http
