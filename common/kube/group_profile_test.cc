#include "common/kube/group_profile.h"

#include <gtest/gtest.h>

#include "common/kube/object_key.h"

namespace basalt::kube {
namespace {

TEST(GroupProfileTest, TheRoutingKeySaysByWhichRulesPodsAreGrouped) {
  for (const GroupProfile profile : {GroupProfile::kRich, GroupProfile::kKai}) {
    const std::string key = NamespaceKey("default", profile);
    EXPECT_EQ(ProfileOf(key), profile);
    EXPECT_EQ(NamespaceOf(key), "default");
  }
  EXPECT_EQ(ProfileOf(ObjectKey("default", "web")), GroupProfile::kCompat);
}

TEST(GroupProfileTest, GroupsOfOneNameAreShownApart) {
  EXPECT_EQ(ShownGroupKey("default", "web", GroupProfile::kCompat), "default/web");
  EXPECT_EQ(ShownGroupKey("default", "web", GroupProfile::kRich), "default/web/rich");
  EXPECT_EQ(ShownGroupKey("default", "web", GroupProfile::kKai), "default/web/kai");
  for (const GroupProfile profile : {GroupProfile::kCompat, GroupProfile::kRich, GroupProfile::kKai}) {
    const std::string key = ShownGroupKey("default", "kai", profile);
    EXPECT_EQ(ProfileOfShown(key), profile);
    EXPECT_EQ(SplitKey(key).ns, "default");
    EXPECT_EQ(SplitKey(key).name, "kai");
  }
}

}  // namespace
}  // namespace basalt::kube
