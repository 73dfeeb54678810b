// Groups that hold room in a queue for nothing: of a workload that wants no pods.
#include <gtest/gtest.h>

#include <string>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/plain_rig.h"

namespace basalt::pgsvc {
namespace {

void MergeText(NamespaceRig& rig, const kube::Kind& kind, const std::string& name, const std::string& patch,
               const std::string& subresource = "") {
  rig.server().Merge(kind, "default", name, *ParseJson(patch), subresource);
}

void DeleteNow(NamespaceRig& rig, const std::string& pod) {
  rig.server().Delete(kube::kPods, "default", pod, json::object{{"gracePeriodSeconds", 0}});
}

struct Stop {
  const char* what;
  const char* stopped;
  const char* resumed;
};

constexpr Stop kStops[] = {{"suspended", R"({"spec":{"suspend":true}})", R"({"spec":{"suspend":false}})"},
                           {"of no parallel pods", R"({"spec":{"parallelism":0}})", R"({"spec":{"parallelism":2}})"}};

TEST(UnwantedGroupsTest, ABatchJobThatWantsNoPodsHasNoGroup) {
  for (const Stop& stop : kStops) {
    SCOPED_TRACE(stop.what);
    PlainRig rig;
    rig.Make(kube::kBatchJobs, NamespaceRig::ForVolcano(NamespaceRig::JobOf("j")));
    for (const char* pod : {"j-a", "j-b"}) rig.MakePlainPod(pod, rig.OwnerOf(kube::kBatchJobs, "j"));
    rig.Run(absl::Seconds(5));
    ASSERT_EQ(rig.PlainGroups(), 1u);
    MergeText(rig, kube::kPods, "j-a", R"({"status":{"phase":"Succeeded"}})", "status");
    MergeText(rig, kube::kBatchJobs, "j", stop.stopped);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.PlainGroups(), 1u) << "a pod is left";
    DeleteNow(rig, "j-b");
    rig.Run(absl::Seconds(5));
    EXPECT_EQ(rig.PlainGroups(), 0u);
    MergeText(rig, kube::kBatchJobs, "j", stop.resumed);
    rig.Run(absl::Seconds(5));
    EXPECT_EQ(rig.PlainGroups(), 0u) << "no pod wants one";
    rig.MakePlainPod("j-c", rig.OwnerOf(kube::kBatchJobs, "j"));
    rig.Run(absl::Seconds(5));
    EXPECT_EQ(rig.PlainGroups(), 1u);
    EXPECT_EQ(rig.PlainGroupOf("j-c"), "podgroup-" + rig.UidOf(kube::kBatchJobs, "j"));
  }
}

TEST(UnwantedGroupsTest, ABatchJobThatWantsNoPodsHasNoGroupInTheRichProfile) {
  for (const Stop& stop : kStops) {
    SCOPED_TRACE(stop.what);
    RichRig rig;
    rig.Start();
    rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: '2'}"));
    for (const char* pod : {"j-a", "j-b"}) rig.MakePod(pod, &kube::kBatchJobs, "j");
    rig.Run(absl::Seconds(5));
    ASSERT_EQ(rig.Groups(), 1u);
    MergeText(rig, kube::kPods, "j-a", R"({"status":{"phase":"Succeeded"}})", "status");
    DeleteNow(rig, "j-b");
    rig.Run(absl::Minutes(2));
    EXPECT_EQ(rig.Groups(), 1u) << "the job is not done";
    MergeText(rig, kube::kBatchJobs, "j", stop.stopped);
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.Groups(), 0u);
    MergeText(rig, kube::kBatchJobs, "j", stop.resumed);
    rig.MakePod("j-c", &kube::kBatchJobs, "j");
    rig.Run(absl::Seconds(5));
    EXPECT_EQ(rig.Groups(), 1u);
    EXPECT_EQ(rig.GroupOf("j-c"), "pg-j-" + rig.UidOf(kube::kBatchJobs, "j"));
  }
}

}  // namespace
}  // namespace basalt::pgsvc
