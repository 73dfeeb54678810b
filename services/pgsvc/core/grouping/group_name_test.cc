#include "services/pgsvc/core/grouping/group_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/name_rules.h"
#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(GroupNameTest, ANameStaysAsItIs) {
  for (const std::string& name :
       {std::string("a"), std::string("pg-j-0123"), std::string("0"), std::string("a--b"), std::string(63, 'a')}) {
    EXPECT_EQ(GroupNameOf(name), name);
    EXPECT_EQ(SubGroupNameOf(name), name);
  }
  EXPECT_EQ(GroupNameOf("pg-a.b.example.com-u"), "pg-a.b.example.com-u");
  EXPECT_EQ(GroupNameOf(std::string(253, 'a')), std::string(253, 'a'));
}

TEST(GroupNameTest, AnotherTextIsNormalisedAndEndsWithItsHash) {
  struct Case {
    const char* text;
    const char* group;
    const char* sub_group;
  };
  // The hashes are FNV-1's of 32 bits, calculated independently.
  const Case cases[] = {
      {"GPU_Group", "gpu-group-11298509", "gpu-group-11298509"},
      {"", "g-811c9dc5", "g-811c9dc5"},
      {"___", "g-10028b12", "g-10028b12"},
      {"-a-", "a-3de04158", "a-3de04158"},
      {"A", "a-050c5d5e", "a-050c5d5e"},
      {"a b", "a-b-859c976c", "a-b-859c976c"},
      {"A.b", "a.b-7f4cdbde", "a-b-7f4cdbde"},
      {"a..b", "a--b-95730f54", "a--b-95730f54"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(GroupNameOf(test.text), test.group);
    EXPECT_EQ(SubGroupNameOf(test.text), test.sub_group);
  }
}

TEST(GroupNameTest, ALongTextIsCutBeforeItsHash) {
  EXPECT_THAT(SubGroupNameOf(std::string(64, 'a')), MatchesRegex("a{54}-[0-9a-f]{8}"));
  EXPECT_EQ(SubGroupNameOf(std::string(64, 'a')).size(), kube::kMaxLabel);
  EXPECT_THAT(GroupNameOf(std::string(254, 'a')), StartsWith(std::string(244, 'a') + "-"));
  EXPECT_EQ(GroupNameOf(std::string(254, 'a')).size(), kube::kMaxSubdomain);
  EXPECT_NE(GroupNameOf(std::string(254, 'a')), GroupNameOf(std::string(255, 'a')));
  EXPECT_EQ(GroupNameOf(std::string(254, 'a')), GroupNameOf(std::string(254, 'a')));
}

TEST(GroupNameTest, AnyTextBecomesAName) {
  for (const std::string& text :
       {std::string("\xc3\xa4\xc3\xb6"), std::string("\n"), std::string(".a."), std::string("a.-b"),
        std::string("a-.B"), std::string(300, '.'), std::string(300, '-'),
        std::string(243, 'a') + "." + std::string(99, 'b'), std::string(53, 'a') + "-" + std::string(99, 'b'),
        std::string(1, '\0'), std::string(100'000, 'Z')}) {
    EXPECT_TRUE(kube::IsDnsSubdomain(GroupNameOf(text))) << GroupNameOf(text);
    EXPECT_TRUE(kube::IsDnsLabel(SubGroupNameOf(text))) << SubGroupNameOf(text);
  }
}

TEST(GroupNameTest, ANameByRulesHasTheUidOfAnOwner) {
  const std::string uid = "12345678-90ab-4cde-8f01-234567890abc";
  for (const std::string& name : {"pg-a-" + uid, "pg-a-b-" + uid, "pg-" + uid, "pg-a-" + uid + "-group-0"}) {
    EXPECT_TRUE(IsNameByRules(name)) << name;
  }
  for (const std::string& name : {"pg-a" + uid, "pg-a-" + uid + "0", "a-" + uid, std::string("pg--a"), std::string()}) {
    EXPECT_FALSE(IsNameByRules(name)) << name;
  }
}

TEST(GroupNameTest, GroupsOfLongOwnersAreShortened) {
  const std::string name(240, 'n');
  const std::string uid = "12345678-90ab-4cde-8f01-234567890abc";
  const Objects objects(fmt::format("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {}, uid: {}}}\n", name, uid));
  EXPECT_THAT(objects.Of().name, MatchesRegex("pg-n{240}--[0-9a-f]{8}"));
  EXPECT_EQ(objects.Of().name.size(), kube::kMaxSubdomain);
}

}  // namespace
}  // namespace basalt::pgsvc::testing
