// Explanations of the grouping of a pod of KAI's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Members = podgroup::v1::GroupMembers;

Explanation Explain(NamespaceRig& rig, const std::string& pod) {
  auto explanation =
      dynamic_cast<PodGroupController&>(rig.any_controller()).ScopesOf("default").Explain("default", pod);
  EXPECT_TRUE(explanation) << pod;
  return explanation ? *std::move(explanation) : Explanation();
}

// KAI's own pod grouper would do this.
TEST(KaiExplainTest, WhileSomebodyElseUndoesWhatIsWrittenItIsTold) {
  NamespaceRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  const auto notes = [&rig] { return Explain(rig, "db-0").notes; };
  const auto fight = HasSubstr("somebody else keeps changing pod group " + group);
  const auto link_fight = HasSubstr("somebody else keeps changing which pod group the pod names");
  EXPECT_THAT(notes(), Not(Contains(fight)));
  for (int i = 0; i < 60; ++i) {
    rig.server().Merge(kube::kKaiPodGroups, "default", group, json::object{{"spec", json::object{{"minMember", 7}}}});
    rig.Annotate(kube::kPods, "db-0", kube::kKaiGroupNameKey.data(), nullptr);
    rig.Run(absl::Seconds(1));
  }
  EXPECT_THAT(notes(), Contains(fight));
  EXPECT_THAT(notes(), Contains(link_fight));
  rig.Run(absl::Minutes(3));
  EXPECT_THAT(notes(), Not(Contains(fight))) << "nobody does any more";
  EXPECT_THAT(notes(), Not(Contains(link_fight)));
}

void SetPhase(NamespaceRig& rig, const std::string& pod, const std::string& phase) {
  rig.server().Merge(kube::kPods, "default", pod, json::object{{"status", json::object{{"phase", phase}}}}, "status");
  rig.Run(absl::Seconds(1));
}

TEST(KaiExplainTest, ThePhaseOfAGroupIsThatOfItsPods) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: '2'}"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.MakePod("j-b", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  const struct {
    const char* a;
    const char* b;
    Members::Phase phase;
    int pending, running, succeeded, failed;
  } rows[] = {
      {"Pending", "Pending", Members::PHASE_PENDING, 2, 0, 0, 0},
      {"Running", "Pending", Members::PHASE_PENDING, 1, 1, 0, 0},
      {"Running", "Running", Members::PHASE_RUNNING, 0, 2, 0, 0},
      {"Running", "Succeeded", Members::PHASE_RUNNING, 0, 1, 1, 0},
      {"Running", "Failed", Members::PHASE_PENDING, 0, 1, 0, 1},
      {"Succeeded", "Failed", Members::PHASE_FAILED, 0, 0, 1, 1},
      {"Succeeded", "Succeeded", Members::PHASE_SUCCEEDED, 0, 0, 2, 0},
  };
  for (const auto& row : rows) {
    SetPhase(rig, "j-a", row.a);
    SetPhase(rig, "j-b", row.b);
    const Members members = Explain(rig, "j-a").members;
    EXPECT_EQ(members.phase(), row.phase) << row.a << row.b;
    EXPECT_EQ(members.pending(), row.pending) << row.a << row.b;
    EXPECT_EQ(members.running(), row.running) << row.a << row.b;
    EXPECT_EQ(members.succeeded(), row.succeeded) << row.a << row.b;
    EXPECT_EQ(members.failed(), row.failed) << row.a << row.b;
  }
}

TEST(KaiExplainTest, WhetherTheQuotaMayBeExceededIsSaid) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("a");
  rig.MakePod("b", nullptr, "", "labels: {priorityClassName: build}");
  rig.MakePod("c", nullptr, "", "labels: {priorityClassName: build, kai.scheduler/preemptibility: preemptible}");
  rig.MakePod("d", nullptr, "", "labels: {kai.scheduler/preemptibility: non-preemptible}");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(Explain(rig, "a").notes, ElementsAre("preemptible, as the value 50 of priority class train is below 100: "
                                                   "the group may exceed its queue's quota"));
  EXPECT_THAT(Explain(rig, "b").notes,
              ElementsAre("non-preemptible, as the value 100 of priority class build is not below 100: the group must "
                          "fit into its queue's quota"));
  EXPECT_THAT(Explain(rig, "c").notes, ElementsAre("preemptible: the group may exceed its queue's quota"));
  EXPECT_THAT(Explain(rig, "d").notes, ElementsAre("non-preemptible: the group must fit into its queue's quota"));
}

TEST(KaiExplainTest, WithoutThePriorityClassNothingIsSaidOfTheQuota) {
  NamespaceRig rig;
  rig.server().Delete(kube::kPriorityClasses, "", "train");
  rig.Start();
  rig.MakePod("a");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(Explain(rig, "a").notes, IsEmpty());
  EXPECT_THAT(rig.Events(), ElementsAre(::testing::HasSubstr("there is no PriorityClass train")));
}

TEST(KaiExplainTest, WhatTheGroupIsApartFromTheRulesIsSaid) {
  NamespaceRig rig;
  rig.server().Delete(kube::kPriorityClasses, "", "train");
  rig.Start();
  rig.MakePod("a", nullptr, "", "labels: {kai.scheduler/queue: default-queue}");
  rig.Run(absl::Seconds(5));
  const auto notes = [&rig] { return Explain(rig, "a").notes; };
  EXPECT_THAT(notes(), IsEmpty());
  rig.server().Merge(kube::kPods, "default", "a", *ParseJson(R"({"metadata":{"labels":{"kai.scheduler/queue":"x"}}})"));
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(notes(),
              ElementsAre("the queue of the group is default-queue and stays so, though the rules say x by now: "
                          "it was fixed when the group was made"));
  const std::string group = rig.GroupOf("a");
  rig.server().Merge(kube::kKaiPodGroups, "default", group, *ParseJson(R"({"metadata":{"finalizers":["x/y"]}})"));
  rig.server().Delete(kube::kKaiPodGroups, "default", group);
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(notes(), Contains(HasSubstr("the group is being deleted since")));
  constexpr char kRefusal[] = "cannot set blockOwnerDeletion: a resource you can't set finalizers on";
  rig.Refuse(NamespaceRig::IsOfGroup, 403, "Forbidden", kRefusal);
  rig.server().Merge(kube::kKaiPodGroups, "default", group, *ParseJson(R"({"metadata":{"finalizers":null}})"));
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(notes(), ElementsAre(AllOf(HasSubstr(kRefusal), HasSubstr("deploy/rbac/owner-references"))));
  rig.server().refuse = nullptr;
  rig.Run(absl::Minutes(2));
  EXPECT_THAT(notes(), IsEmpty());
}

// Weakness G47.
TEST(KaiExplainTest, ThatWholeSegmentsNeedMoreThanTheMinimumIsSaid) {
  static constexpr kube::Kind kPyTorchJobs{"kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"};
  NamespaceRig rig;
  rig.server().Delete(kube::kPriorityClasses, "", "train");
  rig.Start();
  rig.Define(kPyTorchJobs);
  rig.Make(kPyTorchJobs,
           "metadata: {name: t}\n"
           "spec:\n"
           "  elasticPolicy: {minReplicas: 4}\n"
           "  pytorchReplicaSpecs:\n"
           "    Master: {replicas: 1}\n"
           "    Worker: {replicas: 8, template: {metadata: {annotations: {kai.scheduler/segment-size: '2'}}}}\n");
  rig.MakePod("t-worker-0", &kPyTorchJobs, "t",
              "labels: {training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '0'}");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(Explain(rig, "t-worker-0").notes,
              ElementsAre(HasSubstr("the subgroups need 5 pods at least, more than minMember 4")));
}

}  // namespace
}  // namespace basalt::pgsvc
