#include "kubesim/actors/scheduler/kai_gangs.h"

#include <gtest/gtest.h>

namespace basalt::actors {
namespace {

KaiGang Gang(std::string_view spec) { return KaiGang::Of(json::object{{"spec", ParseJson(spec).value()}}); }

TEST(KaiGangTest, AGroupWithoutSubgroupsCountsPods) {
  EXPECT_TRUE(Gang("{}").IsSatisfied({{"default", 1}}));
  EXPECT_FALSE(Gang("{}").IsSatisfied({}));
  EXPECT_TRUE(Gang(R"({"minMember":0})").IsSatisfied({}));
  EXPECT_FALSE(Gang(R"({"minMember":3})").IsSatisfied({{"default", 2}, {"stray", 5}}));
  EXPECT_TRUE(Gang("{}").HasLeaf("default"));
  EXPECT_FALSE(Gang("{}").HasLeaf("other"));
}

TEST(KaiGangTest, LeavesCountPodsAndInnerNodesTheirChildren) {
  const KaiGang gang = Gang(R"({"minSubGroup":1,"subGroups":[{"name":"leader","minMember":1},
    {"name":"worker","minSubGroup":1},{"name":"w-0","parent":"worker","minMember":2},
    {"name":"w-1","parent":"worker","minMember":2}]})");
  EXPECT_FALSE(gang.IsSatisfied({}));
  EXPECT_TRUE(gang.IsSatisfied({{"leader", 1}}));
  EXPECT_FALSE(gang.IsSatisfied({{"w-0", 1}, {"w-1", 1}}));
  EXPECT_TRUE(gang.IsSatisfied({{"w-1", 2}}));
  EXPECT_TRUE(gang.HasLeaf("w-0"));
  EXPECT_FALSE(gang.HasLeaf("worker")) << "it holds no pods";
  EXPECT_FALSE(gang.HasLeaf("default")) << "there is no leaf default";
}

TEST(KaiGangTest, WithoutAMinimumAllChildrenCount) {
  const KaiGang gang = Gang(R"({"subGroups":[{"name":"a","minMember":1},{"name":"default","minMember":0}]})");
  EXPECT_FALSE(gang.IsSatisfied({}));
  EXPECT_TRUE(gang.IsSatisfied({{"a", 1}}));
  EXPECT_TRUE(gang.HasLeaf("default"));
  EXPECT_TRUE(Gang(R"({"subGroups":[{"name":"default","minMember":2}]})").IsSatisfied({{"default", 2}}));
}

}  // namespace
}  // namespace basalt::actors
