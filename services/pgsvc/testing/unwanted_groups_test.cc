// Groups that take capacity of a queue for nothing: those of a workload that wants no pods, and those made beside the
// group that was meant.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/plain_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::HasSubstr;

constexpr kube::Kind kLeaderWorkerSets{"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"};

void MergeText(NamespaceRig& rig, const kube::Kind& kind, const std::string& name, const std::string& patch,
               const std::string& subresource = "") {
  rig.server().Merge(kind, "default", name, *ParseJson(patch), subresource);
}

void DeleteNow(NamespaceRig& rig, const std::string& pod) {
  rig.server().Delete(kube::kPods, "default", pod, json::object{{"gracePeriodSeconds", 0}});
}

void MoveTo(NamespaceRig& rig, const std::string& pod, const std::string& group) {
  rig.Annotate(kube::kPods, pod, std::string(kube::kGroupNameKey), json::value(group));
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

// The end is observed after the last pod has gone: nothing else leads to the deletion.
TEST(UnwantedGroupsTest, ABatchJobThatHasEndedHasNoGroupOnceItsPodsAreDeleted) {
  PlainRig rig;
  rig.Make(kube::kBatchJobs, NamespaceRig::ForVolcano(NamespaceRig::JobOf("j")));
  rig.MakePlainPod("j-a", rig.OwnerOf(kube::kBatchJobs, "j"));
  rig.Run(absl::Seconds(5));
  DeleteNow(rig, "j-a");
  rig.Run(absl::Minutes(1));
  ASSERT_EQ(rig.PlainGroups(), 1u) << "the Job wants pods";
  MergeText(rig, kube::kBatchJobs, "j", R"({"status":{"conditions":[{"type":"Complete","status":"True"}]}})", "status");
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.PlainGroups(), 0u);
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

TEST(UnwantedGroupsTest, AGroupWhosePodHasMovedToAnotherGoes) {
  PlainRig rig;
  rig.MakePlainPod("driver");
  rig.Run(absl::Seconds(1));
  const std::string first = rig.PlainGroupOf("driver");
  ASSERT_NE(rig.UidOf(kube::kPodGroups, first), "");
  rig.Make(kube::kPodGroups, "metadata: {name: spark-x}\nspec: {minMember: 1}");
  MoveTo(rig, "driver", "spark-x");
  rig.Run(absl::Seconds(20));
  EXPECT_NE(rig.UidOf(kube::kPodGroups, first), "") << "the pod may come back";
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.UidOf(kube::kPodGroups, first), "");
  EXPECT_EQ(rig.PlainGroups(), 1u);
  // The pod comes back although its group is gone.
  rig.Annotate(kube::kPods, "driver", std::string(kube::kGroupNameKey), nullptr);
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroupOf("driver"), first);
  EXPECT_EQ(rig.PlainGroups(), 2u);
}

TEST(UnwantedGroupsTest, AGroupWhosePodsHaveAllMovedGoesThoughTheirOwnerWantsPods) {
  PlainRig rig;
  rig.MakeSet(kube::kReplicaSets, "web", 2);
  for (const char* pod : {"web-a", "web-b"}) rig.MakePlainPod(pod, rig.OwnerOf(kube::kReplicaSets, "web"));
  rig.Run(absl::Seconds(5));
  rig.Make(kube::kPodGroups, "metadata: {name: mine}\nspec: {minMember: 1}");
  for (const char* pod : {"web-a", "web-b"}) MoveTo(rig, pod, "mine");
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.PlainGroups(), 1u);
}

// A quota or a webhook may refuse the pods.
TEST(UnwantedGroupsTest, AGroupWhoseOwnerWantsPodsThatDoNotComeStays) {
  PlainRig rig;
  rig.MakeSet(kube::kReplicaSets, "web", 2);
  rig.MakePlainPod("web-a", rig.OwnerOf(kube::kReplicaSets, "web"));
  rig.Run(absl::Seconds(5));
  DeleteNow(rig, "web-a");
  rig.Run(absl::Minutes(10));
  EXPECT_EQ(rig.PlainGroups(), 1u);
  rig.Kill();
  rig.Start();
  rig.Run(absl::Minutes(10));
  EXPECT_EQ(rig.PlainGroups(), 1u);
}

TEST(UnwantedGroupsTest, AGroupOfPodsWithoutAWorkloadThatIsShownGoesWithTheLast) {
  PlainRig rig;
  rig.server().Create(kube::kConfigMaps, *ParseJson(R"({"metadata":{"namespace":"default","name":"owner"}})"));
  const std::string owner =
      "apiVersion: v1, kind: ConfigMap, name: owner, uid: " + rig.UidOf(kube::kConfigMaps, "owner");
  rig.MakePlainPod("a", owner);
  rig.Run(absl::Seconds(5));
  ASSERT_EQ(rig.PlainGroups(), 1u);
  DeleteNow(rig, "a");
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PlainGroups(), 1u);
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.PlainGroups(), 0u);
}

// A job may be called podgroup: its group is named like one of a plain pod.
TEST(UnwantedGroupsTest, TheGroupOfAJobWaitsForItsPodsWhateverItsName) {
  PlainRig rig;
  rig.Make(kube::kJobs, "metadata: {name: podgroup}\nspec: {minAvailable: 1}");
  const std::string name = "podgroup-" + rig.UidOf(kube::kJobs, "podgroup");
  rig.Make(kube::kPodGroups, "metadata: {name: " + name + "}\nspec: {minMember: 7}", &kube::kJobs, "podgroup");
  rig.Run(absl::Minutes(10));
  EXPECT_EQ(rig.PlainGroups(), 1u);
}

TEST(UnwantedGroupsTest, PodsOfAStatefulSetOfALeaderWorkerSetGetNoGroupOfOurs) {
  PlainRig rig;
  rig.Define(kLeaderWorkerSets);
  rig.Make(kLeaderWorkerSets, "metadata: {name: lws}\nspec: {replicas: 1}");
  rig.Make(kube::kStatefulSets,
           NamespaceRig::ForVolcano(NamespaceRig::Workload("lws", "", "serviceName: lws\n  replicas: 2")),
           &kLeaderWorkerSets, "lws");
  // The StatefulSet of the workers belongs to the pod of the leader.
  rig.MakePlainPod("lws-0", rig.OwnerOf(kube::kStatefulSets, "lws"));
  rig.Make(kube::kStatefulSets,
           NamespaceRig::ForVolcano(NamespaceRig::Workload("lws-0", "", "serviceName: lws\n  replicas: 1")),
           &kube::kPods, "lws-0");
  rig.MakePlainPod("lws-0-1", rig.OwnerOf(kube::kStatefulSets, "lws-0"));
  rig.Run(absl::Seconds(2));
  EXPECT_EQ(rig.PlainGroups(), 0u);
  rig.Make(kube::kPodGroups, "metadata: {name: lws-0-x}\nspec: {minMember: 2}");
  for (const char* pod : {"lws-0", "lws-0-1"}) MoveTo(rig, pod, "lws-0-x");
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.PlainGroups(), 1u);
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
  EXPECT_TRUE(rig.Events().empty());
}

TEST(UnwantedGroupsTest, APodThatALeaderWorkerSetPutsIntoNoGroupIsWarnedOf) {
  PlainRig rig;
  rig.Define(kLeaderWorkerSets);
  rig.Make(kLeaderWorkerSets, "metadata: {name: lws}\nspec: {replicas: 1}");
  rig.Make(kube::kStatefulSets,
           NamespaceRig::ForVolcano(NamespaceRig::Workload("lws", "", "serviceName: lws\n  replicas: 1")),
           &kLeaderWorkerSets, "lws");
  rig.MakePlainPod("lws-0", rig.OwnerOf(kube::kStatefulSets, "lws"));
  rig.Run(absl::Minutes(5));
  EXPECT_EQ(rig.PlainGroups(), 0u);
  EXPECT_THAT(rig.Events(), ::testing::ElementsAre(HasSubstr("LeaderWorkerSet lws")));
}

}  // namespace
}  // namespace basalt::pgsvc
