#include "common/rpc/metrics_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::HasSubstr;

constexpr absl::Duration kRefresh = absl::Seconds(10);

class MetricsTokenTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) const { std::ofstream(file_) << text; }

  const basalt::testing::TempDir folder_;
  const std::string file_ = folder_ / "token";
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(MetricsTokenTest, AFileWithoutATokenIsNamedWithTheRule) {
  const auto read = [this] { return MetricsToken::FromFile(file_, kRefresh).status(); };
  EXPECT_THAT(read(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/token: cannot be read")));
  Write(" \n\t");
  EXPECT_THAT(read(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/token: has no token")));
}

TEST_F(MetricsTokenTest, OnlyTheTokenOfTheSchemeBearerIsTaken) {
  Write("\n s3cret\n");
  const auto token = MetricsToken::FromFile(file_, kRefresh);
  ASSERT_THAT(token, IsOk());
  for (const char* shown : {"Bearer s3cret", "bearer s3cret"}) EXPECT_TRUE((*token)->IsIn(shown, now_)) << shown;
  for (const char* shown : {"", "Bearer", "Bearer ", "Bearer s3cres", "Bearer s3cret ", "Bearer s3cre",
                            "Bearer s3crett", "Basic s3cret", "s3cret"}) {
    EXPECT_FALSE((*token)->IsIn(shown, now_)) << shown;
  }
}

TEST_F(MetricsTokenTest, TheFileIsReadAnewAndABrokenOneLeavesTheTokenOfBefore) {
  Write("first");
  const auto token = MetricsToken::FromFile(file_, kRefresh);
  ASSERT_THAT(token, IsOk());
  EXPECT_TRUE((*token)->IsIn("Bearer first", now_));
  Write("second");
  EXPECT_TRUE((*token)->IsIn("Bearer first", now_ + kRefresh / 2));
  now_ += kRefresh;
  EXPECT_FALSE((*token)->IsIn("Bearer first", now_));
  EXPECT_TRUE((*token)->IsIn("Bearer second", now_));
  Write("");
  EXPECT_TRUE((*token)->IsIn("Bearer second", now_ + kRefresh));
  EXPECT_FALSE((*token)->IsIn("Bearer ", now_ + kRefresh));
}

}  // namespace
}  // namespace basalt::rpc
