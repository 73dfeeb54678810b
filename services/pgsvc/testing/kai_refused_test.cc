// Pods of KAI's when the API server refuses a write, or somebody else has written first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/kinds.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KaiRigTest, AGroupThatIsRefusedIsTriedAgainAndTold) {
  NamespaceRig rig;
  rig.Start();
  rig.Refuse([](const auto& request) { return request.has_create() && request.resource().plural() == "podgroups"; },
             422, "Invalid", "the webhook says no");
  rig.MakePod("a");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Events(), ElementsAre("a PodGroupError: the webhook says no"));
  rig.server().refuse = nullptr;
  rig.Run(absl::Minutes(2));
  EXPECT_NE(rig.GroupOf("a"), "");
}

TEST(KaiRigTest, AConflictIsTriedAgainWithoutAnEvent) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  int conflicts = 0;
  rig.server().refuse = [&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (!request.has_patch() || request.resource().plural() != "podgroups" || ++conflicts > 2) return false;
    error.set_code(409);
    error.set_reason("Conflict");
    return true;
  };
  rig.Annotate(kube::kBatchJobs, "j", "kai.scheduler/batch-min-member", "2");
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(conflicts, 3);
  EXPECT_THAT(rig.Spec(rig.GroupOf("j-a")), HasSubstr(R"("minMember":2)"));
  EXPECT_THAT(rig.Events(), IsEmpty());
}

TEST(KaiRigTest, APodThatCannotBePatchedHoldsUpNobodyAndIsTold) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  rig.Refuse([](const auto& request) { return request.resource().plural() == "pods" && request.name() == "j-a"; }, 422,
             "Invalid", "the webhook says no");
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Minutes(1));
  rig.MakePod("j-b", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(1));
  EXPECT_NE(rig.GroupOf("j-b"), "");
  rig.Annotate(kube::kBatchJobs, "j", "kai.scheduler/batch-min-member", "2");
  rig.Run(absl::Seconds(2));
  EXPECT_THAT(rig.Spec(rig.GroupOf("j-b")), HasSubstr(R"("minMember":2)"));
  EXPECT_THAT(rig.Events(), ElementsAre("j-a PodGroupError: the webhook says no"));
  rig.server().refuse = nullptr;
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.GroupOf("j-a"), rig.GroupOf("j-b"));
}

TEST(KaiRigTest, AConflictOfAPodIsTriedAgainWithoutAnEvent) {
  NamespaceRig rig;
  rig.Start();
  int conflicts = 0;
  rig.server().refuse = [&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
    if (request.resource().plural() != "pods" || ++conflicts > 2) return false;
    error.set_code(409);
    error.set_reason("Conflict");
    return true;
  };
  rig.MakePod("a");
  rig.Run(absl::Seconds(30));
  EXPECT_EQ(conflicts, 3);
  EXPECT_NE(rig.GroupOf("a"), "");
  EXPECT_THAT(rig.Events(), IsEmpty());
}

// Somebody has made the group, and no watch has shown it yet.
TEST(KaiRigTest, AGroupThatIsThereAlreadyIsNoError) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  rig.late = [](const kube::v1::Object& object, bool) {
    return object.has_kai_pod_group() ? absl::Seconds(10) : absl::ZeroDuration();
  };
  const std::string group = "pg-j-" + rig.UidOf(kube::kBatchJobs, "j");
  rig.Make(kube::kKaiPodGroups,
           fmt::format("metadata: {{name: {}}}\nspec: {{minMember: 1, queue: default-queue}}", group),
           &kube::kBatchJobs, "j");
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("j-a"), group);
  EXPECT_THAT(rig.Events(), IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
