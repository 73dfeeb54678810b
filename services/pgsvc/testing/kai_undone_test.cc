// Pods of KAI's when somebody else undoes writes, or when news of the pods comes late.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/kube/kinds.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;

TEST(KaiRigTest, WhatSomebodyUndoesIsDoneAgain) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  rig.MakePod("db-0", &kube::kStatefulSets, "db");
  rig.MakePod("bare");
  rig.Run(absl::Seconds(5));
  const std::string group = rig.GroupOf("db-0");
  const std::string bare = rig.GroupOf("bare");
  const std::string before = rig.UidOf(kube::kKaiPodGroups, group);
  ASSERT_NE(before, "");
  rig.server().Delete(kube::kKaiPodGroups, "default", group);
  rig.server().Delete(kube::kKaiPodGroups, "default", bare);
  rig.Annotate(kube::kPods, "db-0", "pod-group-name", "other");
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.UidOf(kube::kKaiPodGroups, group), "");
  EXPECT_NE(rig.UidOf(kube::kKaiPodGroups, group), before);
  EXPECT_NE(rig.UidOf(kube::kKaiPodGroups, bare), "");
  EXPECT_EQ(rig.GroupOf("db-0"), group);
  rig.Annotate(kube::kPods, "db-0", "pod-group-name", nullptr);
  rig.server().Merge(kube::kKaiPodGroups, "default", group,
                     json::object{{"spec", json::object{{"minMember", 7}, {"queue", "other"}}}});
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("db-0"), group);
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("minMember":1,"queue":"other")")) << "the queue is fixed when it is made";
}

// Makes a StatefulSet's pod in its group. Then somebody undoes something each second, for five minutes.
void UndoEachSecond(const std::function<void(NamespaceRig& rig, const std::string& group)>& undo, const char* verb,
                    const char* plural, const char* event) {
  NamespaceRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  rig.server().ClearLog();
  for (int i = 0; i < 300; ++i) {
    undo(rig, group);
    rig.Run(absl::Seconds(1));
  }
  EXPECT_THAT(rig.server().Count(verb, plural), Lt(12));
  EXPECT_THAT(rig.server().Count(verb, plural), Gt(6));
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr(event)));
  rig.Run(absl::Minutes(2));
  EXPECT_NE(rig.UidOf(kube::kKaiPodGroups, group), "");
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("minMember":1)"));
  EXPECT_EQ(rig.GroupOf("db-0"), group) << "it is right once nobody undoes it any more";
}

TEST(KaiUndoneTest, AGroupThatSomebodyKeepsDeletingIsMadeLessAndLessOften) {
  UndoEachSecond(
      [](NamespaceRig& rig, const std::string& group) {
        if (rig.UidOf(kube::kKaiPodGroups, group).empty()) return;
        rig.server().Delete(kube::kKaiPodGroups, "default", group);
      },
      "create", "podgroups", "db-0 PodGroupWarning: somebody else keeps deleting pod group pg-db-");
}

TEST(KaiUndoneTest, AFieldThatSomebodyKeepsChangingIsPutRightLessAndLessOften) {
  UndoEachSecond(
      [](NamespaceRig& rig, const std::string& group) {
        rig.server().Merge(kube::kKaiPodGroups, "default", group,
                           json::object{{"spec", json::object{{"minMember", 7}}}});
      },
      "patch", "podgroups", "db-0 PodGroupWarning: somebody else keeps changing pod group pg-db-");
}

TEST(KaiUndoneTest, AGroupThatIsFoughtOverTakesNewPods) {
  NamespaceRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  for (int i = 0; i < 120; ++i) {
    rig.server().Merge(kube::kKaiPodGroups, "default", group, json::object{{"spec", json::object{{"minMember", 7}}}});
    rig.Run(absl::Seconds(1));
  }
  rig.MakePod("db-1", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(1));
  EXPECT_EQ(rig.GroupOf("db-1"), group);
}

TEST(KaiUndoneTest, ALinkThatSomebodyKeepsRemovingIsWrittenLessAndLessOften) {
  UndoEachSecond([](NamespaceRig& rig,
                    const std::string&) { rig.Annotate(kube::kPods, "db-0", kube::kKaiGroupNameKey.data(), nullptr); },
                 "patch", "pods", "db-0 PodGroupWarning: somebody else keeps changing which pod group the pod names");
}

TEST(KaiUndoneTest, AnOwnerThatIsScaledEachSecondIsFollowedEachSecond) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  rig.server().ClearLog();
  for (int i = 0; i < 20; ++i) {
    rig.Annotate(kube::kBatchJobs, "j", "kai.scheduler/batch-min-member", json::value(std::to_string(1 + (i % 2))));
    rig.Run(absl::Seconds(2));
    EXPECT_THAT(rig.Spec(rig.GroupOf("j-a")), HasSubstr(fmt::format(R"("minMember":{})", 1 + (i % 2))));
  }
  EXPECT_THAT(rig.Events(), IsEmpty());
}

// The watch may report the end of a pod after the next pod of that name.
TEST(KaiUndoneTest, APodThatFollowsAnotherOneUnderItsNameStaysInTheGroup) {
  NamespaceRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  rig.late = [](const kube::v1::Object& object, bool gone) {
    return object.has_pod() && gone ? absl::Seconds(10) : absl::ZeroDuration();
  };
  rig.server().Delete(kube::kPods, "default", "db-0", json::object{{"gracePeriodSeconds", 0}});
  rig.MakePod("db-0", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("db-0"), group);
  rig.Annotate(kube::kStatefulSets, "db", "note", "x");  // Both pods are grouped again.
  rig.Run(absl::Seconds(20));
  rig.server().Delete(kube::kKaiPodGroups, "default", group);
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.UidOf(kube::kKaiPodGroups, group), "") << "its pod is still a member";
}

TEST(KaiUndoneTest, WhatConcernsAGroupIsToldOnAPodThatIsActive) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.MakePod("j-b", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  rig.server().Merge(kube::kPods, "default", "j-a", json::object{{"status", json::object{{"phase", "Succeeded"}}}},
                     "status");
  rig.Annotate(kube::kBatchJobs, "j", "kai.scheduler/batch-min-member", "5");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Events(), Contains(HasSubstr("j-b PodGroupWarning: ")));
}

TEST(KaiUndoneTest, APodThatHasItsNodeIsNotToldThatItsGroupIsMissing) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kPods,
           "metadata: {name: bound, annotations: {pod-group-name: ext}}\n"
           "spec: {schedulerName: kai-scheduler, nodeName: n1, containers: [{name: c, image: i}]}");
  rig.Run(absl::Minutes(2));
  EXPECT_THAT(rig.Events(), IsEmpty());
}

// Some rules read other pods: a change of such a pod concerns all pods that were grouped by it.
TEST(KaiUndoneTest, WhenTheLauncherComesItsPodsCountTogether) {
  static constexpr kube::Kind kMpiJobs{"kubeflow.org", "v1", "MPIJob", "mpijobs"};
  NamespaceRig rig;
  rig.Start();
  rig.Define(kMpiJobs);
  rig.Make(kMpiJobs,
           "metadata: {name: m}\n"
           "spec: {launcherCreationPolicy: WaitForWorkersReady,\n"
           "  mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 2}}}\n");
  const auto make = [&rig](const std::string& pod, const std::string& role) {
    rig.MakePod(pod, &kMpiJobs, "m",
                fmt::format("labels: {{training.kubeflow.org/job-name: m, training.kubeflow.org/job-role: {}}}", role));
  };
  make("m-worker-0", "worker");
  make("m-worker-1", "worker");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(rig.GroupOf("m-worker-0")), HasSubstr(R"("minMember":2)"));
  make("m-launcher", "launcher");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(rig.GroupOf("m-worker-0")), HasSubstr(R"("minMember":3)"));
}

}  // namespace
}  // namespace basalt::pgsvc
