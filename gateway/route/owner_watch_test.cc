#include "gateway/route/owner_watch.h"

#include <gtest/gtest.h>

namespace basalt::gateway {
namespace {

TEST(OwnerWatchTest, NamesAKindAsAnOwnerReferenceDoes) {
  const auto torch = OwnerKindOf("objects/kubeflow.org/v1/PyTorchJob");
  ASSERT_TRUE(torch.ok()) << torch.status();
  EXPECT_EQ(torch->group, "kubeflow.org");
  EXPECT_EQ(torch->version, "v1");
  EXPECT_EQ(torch->kind, "PyTorchJob");
  const auto pod = OwnerKindOf("objects/v1/Pod");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->group, "");
  EXPECT_EQ(pod->version, "v1");
}

TEST(OwnerWatchTest, ATextThatIsNoKindIsRefused) {
  for (const char* watch : {"", "objects/", "objects/v1", "objects/v1/", "objects//Pod", "objects/a//Pod",
                            "objects/a/b/c/Pod", "objects/a b/v1/Pod", "objects/../v1/Pod", "objects/a/../Pod",
                            "objects/v1/Foo_Bar", "objects/v1/..%2f", "pods"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OwnerKindOf(watch).status())) << watch;
  }
}

TEST(OwnerWatchTest, SecretsAreToldToNobody) {
  EXPECT_TRUE(absl::IsPermissionDenied(OwnerKindOf("objects/v1/Secret").status()));
  EXPECT_TRUE(OwnerKindOf("objects/example.com/v1/Secret").ok());
}

}  // namespace
}  // namespace basalt::gateway
