#include "services/pgsvc/core/grouping/group_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

struct Member {
  std::string pod;
  Grouping grouping;
};

Grouping PlanOf(const std::vector<Member>& members) {
  GroupPlan plan;
  for (const Member& member : members) plan.Add(member.pod, member.grouping);
  return plan.Group();
}

Member MemberOf(const std::string& pod, const std::string& priority, bool fits_no_leaf) {
  Member member{.pod = pod, .grouping = {.name = "g"}};
  member.grouping.priority_class = priority;
  member.grouping.minimum = {.count = 1, .of_sub_groups = true};
  member.grouping.sub_groups.push_back({.name = "worker", .minimum = {.count = 2}});
  member.grouping.warnings = {"of all", "of " + pod};
  if (fits_no_leaf) {
    AddDefaultSubGroup(member.grouping);
  } else {
    member.grouping.pod_sub_group = "worker";
  }
  return member;
}

TEST(GroupPlanTest, IsTheSameInWhicheverOrderPodsCome) {
  std::vector<Member> members = {MemberOf("a", "train", false), MemberOf("b", "build", false),
                                 MemberOf("c", "inference", true)};
  do {
    const Grouping plan = PlanOf(members);
    EXPECT_EQ(TextOf(plan), "g sub 2: worker{2} default{0}");
    EXPECT_EQ(plan.priority_class, "train");
    EXPECT_EQ(plan.warnings, (std::vector<std::string>{"of a", "of all", "of b", "of c"}));
  } while (std::next_permutation(members.begin(), members.end(),
                                 [](const Member& a, const Member& b) { return a.pod < b.pod; }));
}

TEST(GroupPlanTest, HasASubGroupForPodsThatFitNoOtherOnlyWhereThereAreSuch) {
  EXPECT_EQ(TextOf(PlanOf({MemberOf("a", "train", false)})), "g sub 1: worker{2}");
  EXPECT_EQ(TextOf(PlanOf({MemberOf("a", "train", true)})), "g sub 2: worker{2} default{0}");
}

TEST(GroupPlanTest, APodOfASubGroupThatTheFirstOneDoesNotKnowBelongsToTheDefaultOne) {
  Member other = MemberOf("b", "train", false);
  other.grouping.sub_groups = {{.name = "segment-0", .minimum = {.count = 2}}};
  other.grouping.pod_sub_group = "segment-0";
  for (const bool is_first : {true, false}) {
    std::vector<Member> members = {MemberOf("a", "train", false), other};
    if (!is_first) std::swap(members[0], members[1]);
    const Grouping plan = PlanOf(members);
    EXPECT_EQ(TextOf(plan), "g sub 2: worker{2} default{0}");
    EXPECT_NE(std::find(plan.warnings.begin(), plan.warnings.end(),
                        "pods of subgroup segment-0 belong to none of the subgroups that pod a asks for"),
              plan.warnings.end());
  }
}

}  // namespace
}  // namespace basalt::pgsvc::testing
