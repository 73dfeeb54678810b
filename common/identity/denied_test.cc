#include "common/identity/denied.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/status_matchers.h"

namespace basalt::identity {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DeniedTest, EachLineIsAnIdentityACommentOrEmpty) {
  const auto denied =
      ParseDenied("# lost laptop\nspiffe://a/cluster/c/role/operator/ann\r\n\n  spiffe://a/ns/b/sa/c  ");
  ASSERT_THAT(denied, IsOk());
  EXPECT_THAT(*denied, ElementsAre("spiffe://a/cluster/c/role/operator/ann", "spiffe://a/ns/b/sa/c"));
  EXPECT_THAT(*ParseDenied(""), ElementsAre());
  EXPECT_THAT(*ParseDenied("user:ann@example.com\nuser:corp%2Fbob"),
              ElementsAre("user:ann@example.com", "user:corp%2Fbob"));
}

// A line with another spelling would deny nobody.
TEST(DeniedTest, AUserIsSpelledInOneWay) {
  for (const char* text : {"user:corp/bob", "user:corp%2fbob"}) {
    EXPECT_THAT(ParseDenied(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has to be written as 'user:corp%2Fbob'")));
  }
}

TEST(DeniedTest, AnotherLineIsNamed) {
  for (const char* text : {"spiffe://a/b\nann", "# a\nspiffe://a/b spiffe://c/d", "\nspiffe:/a"}) {
    const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2: "));
    EXPECT_THAT(ParseDenied(text), refused) << text;
  }
}

}  // namespace
}  // namespace basalt::identity
