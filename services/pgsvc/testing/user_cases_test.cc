// Cases of upstream's users (docs/spec/user-cases.md), each with its id: pods of Volcano's scheduler (U1 to U21) and of
// KAI's (U51 to U73).
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
using ::testing::IsEmpty;

TEST(UserCasesTest, U1AGroupFollowsFromWhatIsThereAndNotFromTheOrderOfEvents) {
  PlainRig rig;
  rig.MakeSet(kube::kReplicaSets, "web", 0);
  rig.late = [](const kube::v1::Object& object, bool) {
    return object.has_workload() ? absl::Seconds(3) : absl::ZeroDuration();
  };
  rig.MakePlainPod("web-a", rig.OwnerOf(kube::kReplicaSets, "web"));
  rig.Run(absl::Seconds(2));
  rig.Scale(kube::kReplicaSets, "web", 1);
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.PlainGroups(), 1u);
  EXPECT_EQ(rig.PlainGroupOf("web-a"), "podgroup-" + rig.UidOf(kube::kReplicaSets, "web"));
  // Five images in quick succession: each makes a set, and older sets are scaled to zero while pods of theirs remain.
  for (int i = 0; i < 5; ++i) {
    const std::string set = fmt::format("web-{}", i);
    rig.MakeSet(kube::kReplicaSets, set, 1);
    rig.MakePlainPod(set + "-a", rig.OwnerOf(kube::kReplicaSets, set));
    rig.Scale(kube::kReplicaSets, set, 0);
    rig.Run(absl::Milliseconds(300));
    rig.Scale(kube::kReplicaSets, set, 1);
  }
  rig.Run(absl::Seconds(20));
  for (int i = 0; i < 5; ++i) {
    const std::string group = rig.PlainGroupOf(fmt::format("web-{}-a", i));
    EXPECT_NE(rig.UidOf(kube::kPodGroups, group), "") << group;
  }
}

TEST(UserCasesTest, U3OnlyPodsOfOurSchedulerHaveAGroup) {
  PlainRig rig;
  rig.MakeSet(kube::kReplicaSets, "other", 3, "", "default-scheduler");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroups(), 0u);
  // The template is edited: pods of both schedulers exist, and each counts by its own.
  rig.server().Merge(kube::kReplicaSets, "default", "other",
                     *ParseJson(R"({"spec":{"template":{"spec":{"schedulerName":"volcano"}}}})"));
  rig.MakePlainPod("other-new", rig.OwnerOf(kube::kReplicaSets, "other"));
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroups(), 1u);
  EXPECT_NE(rig.PlainGroupOf("other-new"), "");
}

TEST(UserCasesTest, U5APodThatNamesAGroupBelongsThereAndItsOwnerGetsNone) {
  PlainRig rig;
  for (const char* set : {"a", "b"}) {
    rig.MakeSet(kube::kReplicaSets, set, 1);
    rig.MakePlainPod(fmt::format("{}-0", set), rig.OwnerOf(kube::kReplicaSets, set),
                     "  annotations: {scheduling.k8s.io/group-name: mine}\n");
  }
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroups(), 0u) << "also while the named one does not exist";
  rig.server().Create(kube::kPodGroups, *ParseJson(R"({"metadata":{"namespace":"default","name":"mine"},"spec":{}})"));
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroups(), 1u);
}

TEST(UserCasesTest, U7SetsOfOneNameInTwoNamespacesDoNotMeet) {
  PlainRig rig;
  for (const char* ns : {"default", "other"}) {
    rig.MakeSet(kube::kStatefulSets, "db", 1, "", "volcano", ns);
    rig.MakePlainPod("db-0", rig.OwnerOf(kube::kStatefulSets, "db", ns), "", "", ns);
  }
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroups(), 2u);
  rig.Scale(kube::kStatefulSets, "db", 0, "other");
  rig.server().Delete(kube::kPods, "other", "db-0", json::object{{"gracePeriodSeconds", 0}});
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.PlainGroups(), 1u);
  EXPECT_NE(rig.UidOf(kube::kPodGroups, rig.PlainGroupOf("db-0")), "");
}

TEST(UserCasesTest, U9AGroupNamesItsOwnerAsController) {
  PlainRig rig;
  rig.MakePlainPod("bare");
  rig.Run(absl::Seconds(5));
  const json::value group = rig.PlainGroup(rig.PlainGroupOf("bare"));
  const json::value& owner = group.at("metadata").at("ownerReferences").as_array().at(0);
  EXPECT_EQ(FindString(owner, "kind"), "Pod");
  EXPECT_TRUE(owner.at("controller").as_bool());
  EXPECT_TRUE(owner.at("blockOwnerDeletion").as_bool());
  // Somebody removes the owner.
  rig.server().Merge(kube::kPodGroups, "default", rig.PlainGroupOf("bare"),
                     *ParseJson(R"({"metadata":{"ownerReferences":null}})"));
  rig.Run(absl::Seconds(5));
  const json::value again = rig.PlainGroup(rig.PlainGroupOf("bare"));
  const json::value* const owners = FindPath(again, {"metadata", "ownerReferences"});
  ASSERT_NE(owners, nullptr) << "it would be for ever";
  EXPECT_EQ(FindString(owners->as_array().at(0), "uid"), rig.UidOf(kube::kPods, "bare"));
}

TEST(UserCasesTest, U9AGroupOfOursWithoutOwnerAndPodsGoes) {
  PlainRig rig;
  rig.MakePlainPod("bare");
  rig.Run(absl::Seconds(5));
  const std::string group = rig.PlainGroupOf("bare");
  rig.Kill();
  rig.server().Merge(kube::kPodGroups, "default", group, *ParseJson(R"({"metadata":{"ownerReferences":null}})"));
  rig.server().Delete(kube::kPods, "default", "bare", json::object{{"gracePeriodSeconds", 0}});
  rig.server().Create(kube::kPodGroups,
                      *ParseJson(R"({"metadata":{"name":"podgroup-of-a-user","namespace":"default"}})"));
  rig.Start();
  rig.Run(absl::Seconds(20));
  EXPECT_NE(rig.UidOf(kube::kPodGroups, group), "") << "somebody may be about to give it an owner";
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.UidOf(kube::kPodGroups, group), "");
  EXPECT_NE(rig.UidOf(kube::kPodGroups, "podgroup-of-a-user"), "") << "whoever made it";
}

TEST(UserCasesTest, U11MinimalResourcesAreThoseOfSoManyPods) {
  PlainRig rig;
  rig.MakeSet(kube::kReplicaSets, "web", 4, ", annotations: {scheduling.volcano.sh/group-min-member: '3'}");
  rig.MakePlainPod("web-a", rig.OwnerOf(kube::kReplicaSets, "web"));
  rig.Run(absl::Seconds(5));
  const json::value group = rig.PlainGroup(rig.PlainGroupOf("web-a"));
  EXPECT_EQ(FindString(group.at("spec").at("minResources"), "cpu"), "300m") << ToText(group.at("spec"));
  EXPECT_EQ(FindInt(group.at("spec"), "minMember"), 3);
}

TEST(UserCasesTest, U13TheGroupHasThePriorityClassOfThePod) {
  PlainRig rig;
  rig.server().Create(kube::kPriorityClasses, *ParseJson(R"({"metadata":{"name":"high"},"value":9})"));
  rig.MakePlainPod("a", "", "", ", priorityClassName: high");
  rig.MakePlainPod("b");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(FindString(rig.PlainGroup(rig.PlainGroupOf("a")).at("spec"), "priorityClassName"), "high");
  EXPECT_EQ(FindString(rig.PlainGroup(rig.PlainGroupOf("b")).at("spec"), "priorityClassName"), "");
}

TEST(UserCasesTest, U15AGroupOfAnotherOperatorIsLeftAlone) {
  PlainRig rig;
  rig.server().Create(kube::kPodGroups, *ParseJson(R"({"metadata":{"namespace":"default","name":"ray-r-pg",
    "ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster","name":"r","uid":"u-r","controller":true}]},
    "spec":{"minMember":3}})"));
  rig.server().Merge(kube::kPodGroups, "default", "ray-r-pg", *ParseJson(R"({"status":{"phase":"Inqueue"}})"));
  rig.server().ClearLog();
  rig.Run(absl::Minutes(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
  EXPECT_NE(rig.UidOf(kube::kPodGroups, "ray-r-pg"), "");
}

TEST(UserCasesTest, U17AGroupThatTheSchedulerCallsCompletedLivesUntilTheJobIsDone) {
  PlainRig rig;
  rig.Make(kube::kBatchJobs,
           "metadata: {name: j}\nspec: {parallelism: 1, completions: 2, template: {spec: {schedulerName: volcano, "
           "restartPolicy: Never, containers: [{name: c, image: i}]}}}\n");
  rig.MakePlainPod("j-a", rig.OwnerOf(kube::kBatchJobs, "j"));
  rig.Run(absl::Seconds(5));
  const std::string group = rig.PlainGroupOf("j-a");
  rig.server().Merge(kube::kPods, "default", "j-a", *ParseJson(R"({"status":{"phase":"Succeeded"}})"), "status");
  rig.server().Merge(kube::kPodGroups, "default", group, *ParseJson(R"({"status":{"phase":"Completed"}})"));
  rig.Run(absl::Minutes(1));
  EXPECT_NE(rig.UidOf(kube::kPodGroups, group), "");
  rig.MakePlainPod("j-b", rig.OwnerOf(kube::kBatchJobs, "j"));
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.PlainGroupOf("j-b"), group);
}

TEST(UserCasesTest, U21AGroupForEachPodCostsTwoWritesAndGoesWithThePod) {
  PlainRig rig;
  constexpr int kPods = 500;
  for (int i = 0; i < kPods; ++i) {
    rig.MakePlainPod(
        fmt::format("step-{}", i),
        fmt::format("apiVersion: example.com/v1, kind: Step, name: s-{0}, uid: 00000000-0000-4000-8000-{0:012d}", i));
  }
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.PlainGroups(), size_t{kPods});
  EXPECT_EQ(rig.server().WritesButEvents(), 2 * kPods);
  rig.server().ClearLog();
  for (int i = 0; i < kPods; ++i) {
    rig.server().Delete(kube::kPods, "default", fmt::format("step-{}", i), json::object{{"gracePeriodSeconds", 0}});
  }
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.PlainGroups(), 0u) << "also where what owns the pods stays";
  EXPECT_EQ(rig.server().WritesButEvents(), kPods);
}

// ---- KAI ----

TEST(UserCasesTest, U57KaisWebhookTakesWhatIsWritten) {
  static constexpr kube::Kind kPyTorchJobs{"kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"};
  static constexpr kube::Kind kSets{"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"};
  PlainRig rig;
  rig.Define(kPyTorchJobs);
  rig.Define(kSets);
  for (const int workers : {0, 1, 5}) {
    const std::string name = fmt::format("t{}", workers);
    rig.Make(kPyTorchJobs,
             fmt::format("metadata: {{name: {}}}\n"
                         "spec:\n"
                         "  runPolicy: {{schedulingPolicy: {{minAvailable: 1}}}}\n"
                         "  pytorchReplicaSpecs:\n"
                         "    Master: {{replicas: 1}}\n"
                         "    Worker:\n"
                         "      replicas: {}\n"
                         "      template: {{metadata: {{annotations: {{kai.scheduler/segment-size: '2'}}}}}}\n",
                         name, workers));
    rig.MakePod(name + "-master-0", &kPyTorchJobs, name,
                "labels: {training.kubeflow.org/replica-type: master, training.kubeflow.org/replica-index: '0'}");
  }
  rig.Make(kSets,
           "metadata: {name: l}\nspec: {startupPolicy: LeaderCreated, leaderWorkerTemplate: {size: 5, subGroupPolicy: "
           "{subGroupSize: 2}}}\n");
  rig.MakePod("l-0", &kSets, "l",
              "labels: {leaderworkerset.sigs.k8s.io/group-index: '0', leaderworkerset.sigs.k8s.io/worker-index: '0'}, "
              "annotations: {leaderworkerset.sigs.k8s.io/size: '5', leaderworkerset.sigs.k8s.io/subgroup-size: '2'}");
  rig.Run(absl::Seconds(10));
  EXPECT_THAT(rig.Events(), IsEmpty());
  for (const char* pod : {"t0-master-0", "t1-master-0", "t5-master-0", "l-0"}) EXPECT_NE(rig.GroupOf(pod), "") << pod;
  EXPECT_THAT(rig.Spec(rig.GroupOf("t0-master-0")), HasSubstr(R"({"name":"worker","minMember":0})"));
}

TEST(UserCasesTest, U63ManyPodsOfOneOwnerAtOnceAreNoReasonForAWarning) {
  PlainRig rig;
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  constexpr int kPods = 200;
  for (int i = 0; i < kPods; ++i) rig.MakePod(fmt::format("j-{}", i), &kube::kBatchJobs, "j");
  rig.Run(absl::Minutes(1));
  EXPECT_THAT(rig.Events(), IsEmpty());
  EXPECT_EQ(rig.server().WritesButEvents(), 1 + kPods);
}

TEST(UserCasesTest, U61WhoOptsOutIsLeftAloneAlsoWhenTheOptOutComesLater) {
  PlainRig rig;
  ASSERT_NE(rig.MakeDatabase(), "");
  rig.Annotate(kube::kStatefulSets, "db", "kai.scheduler/skip-podgrouper", "true");
  rig.Run(absl::Seconds(5));
  rig.server().ClearLog();
  rig.Annotate(kube::kPods, "db-0", "pod-group-name", "mine");
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.GroupOf("db-0"), "mine");
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

TEST(UserCasesTest, U71AMinimumOfZeroIsElastic) {
  PlainRig rig;
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: '0'}"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(rig.GroupOf("j-a")), HasSubstr(R"("minMember":0)"));
}

}  // namespace
}  // namespace basalt::pgsvc
