// Flags of pgsvc reach what they are for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/kube/names.h"
#include "tests/e2e/groups_world.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSet[] = "/apis/apps/v1/namespaces/default/statefulsets/kai-statefulsets";

class FlagsTest : public GroupsTest {
 protected:
  FlagsTest()
      : GroupsTest(
            {.scheduler = "volcano",
             .groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups",
             .name_key = kube::kGroupNameKey},
            {.service_flags = {
                 {"pgsvc", {"--inherit_owner_annotations=false", "--follow_workloads=false", "--workers=3"}}}}) {}

  bool Scale(int replicas) {
    return Eventually(absl::Seconds(30), [&] {
      json::value set = world_.KubeGet(kSet);
      if (set.is_null()) return false;
      set.at("spec").at("replicas") = replicas;
      const auto answer = world_.Call("PUT", kSet, ToText(set));
      return answer.ok() && answer->status == 200;
    });
  }
};

TEST_F(FlagsTest, GroupsNeitherInheritNorFollowAndThereAreThreeWorkers) {
  const std::string group =
      "podgroup-" + CreateWorkload("StatefulSet", "statefulsets", R"("serviceName":"s",)",
                                   fmt::format(R"(,"annotations":{{"{}":"2"}})", kube::kGroupMinMemberKey));
  EXPECT_EQ(GroupsOf("kai-statefulsets-", 2), std::set<std::string>{group});
  EXPECT_THAT(Spec(group), HasSubstr(R"("minMember":1)")) << "nothing is inherited";
  ASSERT_TRUE(Scale(0));
  ASSERT_TRUE(Eventually(absl::Seconds(60), [&] { return Items(kPods).empty(); }));
  ASSERT_TRUE(Scale(1));
  EXPECT_EQ(GroupsOf("kai-statefulsets-", 1), std::set<std::string>{group});
  EXPECT_EQ(OurWrites(), 1u + 3u) << "one group and three bindings: it did not go with its pods";
  const std::string metrics = FetchText(world_.suite().pages("pgsvc"), "/metrics");
  EXPECT_THAT(metrics, HasSubstr(R"(basalt_tracked_objects{worker="2"})"));
  EXPECT_THAT(metrics, Not(HasSubstr(R"(basalt_tracked_objects{worker="3"})")));
}

}  // namespace
}  // namespace basalt::e2e
