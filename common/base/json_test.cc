#include "common/base/json.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

TEST(JsonTest, FindsWhatIsThereAndNothingElse) {
  const json::value v = *ParseJson(R"({"a":{"b":"x","n":3.0}})");
  EXPECT_EQ(FindString(*FindPath(v, {"a"}), "b"), "x");
  EXPECT_EQ(FindInt(*FindPath(v, {"a"}), "n"), 3);
  EXPECT_EQ(FindPath(v, {"a", "b", "c"}), nullptr);
}

TEST(JsonTest, RefusesBrokenDeepAndTrailingText) {
  for (const std::string& text :
       {std::string("{"), std::string("{} x"), std::string(200, '[') + std::string(200, ']')}) {
    EXPECT_EQ(ParseJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace basalt
