#include "common/kube/label_selector.h"

#include <gtest/gtest.h>

#include <map>

namespace basalt::kube {
namespace {

bool Matches(std::string_view text, const std::map<std::string, std::string, std::less<>>& labels) {
  const absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(text);
  EXPECT_TRUE(selector.ok()) << text << ": " << selector.status();
  return selector.ok() && selector->Matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto it = labels.find(key);
    return it == labels.end() ? std::nullopt : std::optional<std::string_view>(it->second);
  });
}

TEST(LabelSelectorTest, EachOperatorMatchesAsTheApiServerDoes) {
  const std::map<std::string, std::string, std::less<>> labels = {
      {"team", "ml"}, {"stage", "a"}, {"size", "7"}, {"example.com/x", ""}};
  for (const std::string_view text :
       {"", " ", "team", "team=ml", "team == ml", "team!=hr", "none!=x", "!none", "stage in (a, b)", "stage notin (b)",
        "none notin (b)", "size>6", "size<8", "example.com/x=", "team=ml,stage in (a,b),!old"}) {
    EXPECT_TRUE(Matches(text, labels)) << text;
  }
  for (const std::string_view text : {"none", "team=hr", "team!=ml", "!team", "stage in (b)", "stage notin (a)",
                                      "size>7", "size<7", "team>1", "team=ml,none"}) {
    EXPECT_FALSE(Matches(text, labels)) << text;
  }
}

TEST(LabelSelectorTest, CountsKeysAndValues) {
  EXPECT_EQ(LabelSelector::Parse("")->terms(), 0U);
  EXPECT_EQ(LabelSelector::Parse("team=ml,stage in (a,b),!old")->terms(), 6U);
}

TEST(LabelSelectorTest, AnUnreadableSelectorIsRefused) {
  for (const std::string_view text :
       {"team=ml,", "=x", "a b", "a in b", "a in (b", "a=b=c", "-a=b", "a=-b", "a>x", "/a=b", "!", "a~b"}) {
    const absl::Status status = LabelSelector::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("unable to parse requirement: "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace basalt::kube
