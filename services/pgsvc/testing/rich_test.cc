// Pods that Volcano's scheduler places, grouped by the rules of all kinds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/slots.h"
#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Makes a pod of one CPU.
void MakePod(NamespaceRig& rig, const std::string& name, const kube::Kind* owner_kind = nullptr,
             const std::string& owner = "", const std::string& metadata = "") {
  rig.Make(kube::kPods,
           fmt::format("metadata: {{name: {}{}}}\n"
                       "spec: {{schedulerName: volcano, containers: [{{name: c, image: i, resources: "
                       "{{requests: {{cpu: '1'}}}}}}]}}",
                       name, metadata.empty() ? "" : ", " + metadata),
           owner_kind, owner);
}

void MakeGang(NamespaceRig& rig, const std::string& minimum = "2") {
  rig.Make(kube::kBatchJobs,
           NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: '" + minimum + "'}"));
  for (const char* pod : {"j-a", "j-b"}) MakePod(rig, pod, &kube::kBatchJobs, "j");
}

std::string GangOf(NamespaceRig& rig) { return "pg-j-" + rig.UidOf(kube::kBatchJobs, "j"); }

TEST(RichTest, PodsOfAJobAreAGangInVolcanosFormWhateverHappens) {
  WhateverHappens<RichRig>({.prepare = nullptr,
                            .act = [](NamespaceRig& rig) { MakeGang(rig); },
                            .check =
                                [](NamespaceRig& rig) {
                                  EXPECT_EQ(rig.Groups(), 1u);
                                  EXPECT_EQ(rig.GroupOf("j-a"), GangOf(rig));
                                  EXPECT_EQ(rig.GroupOf("j-b"), GangOf(rig));
                                  EXPECT_EQ(rig.Spec(GangOf(rig)),
                                            R"({"minMember":2,"minResources":{"count/pods":"2","cpu":"2",)"
                                            R"("pods":"2","requests.cpu":"2"}})");
                                }});
}

TEST(RichTest, ABarePodCostsTwoWrites) {
  RichRig rig;
  rig.Start();
  MakePod(rig, "a");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 2);
  EXPECT_EQ(rig.server().gets(), 0);
  const auto group = rig.Get(kube::kPodGroups, rig.GroupOf("a"));
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(FindString(*FindPath(*group, {"status"}), "phase"), "Pending");
  const json::value& owner = FindPath(*group, {"metadata", "ownerReferences"})->as_array().front();
  EXPECT_EQ(FindString(owner, "kind"), "Pod");
  EXPECT_TRUE(owner.at("controller").as_bool());
}

TEST(RichTest, SubgroupsArePoliciesThatTheirPodsAreCapturedBy) {
  WhateverHappens<RichRig>({.prepare = [](NamespaceRig& rig) { rig.Define(kJobSets); },
                            .act =
                                [](NamespaceRig& rig) {
                                  rig.Make(kJobSets, kJobSetOfThree);
                                  int pods = 0;
                                  for (const char* labels : {"leader, 0", "worker, 0", "worker, 1"}) {
                                    const std::string text = labels;
                                    MakePod(rig, fmt::format("js-{}", pods++), &kJobSets, "js",
                                            fmt::format("labels: {{jobset.sigs.k8s.io/replicatedjob-name: {}, "
                                                        "jobset.sigs.k8s.io/job-index: '{}'}}",
                                                        text.substr(0, 6), text.substr(8)));
                                  }
                                },
                            .check =
                                [](NamespaceRig& rig) {
                                  const std::string group = rig.GroupOf("js-0");
                                  EXPECT_EQ(rig.SubGroupOf("js-0"), "leader-replica-0");
                                  EXPECT_EQ(rig.SubGroupOf("js-2"), "worker-replica-1");
                                  EXPECT_EQ(rig.GroupOf("js-2"), group);
                                  EXPECT_THAT(
                                      rig.Spec(group),
                                      HasSubstr(R"("operator":"In","values":["worker-replica-0","worker-replica-1"])"));
                                  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("minMember":3)"));
                                }});
}

TEST(RichTest, AGroupThatAUserNamesIsRespected) {
  RichRig rig;
  rig.Start();
  rig.Make(kube::kPodGroups, "metadata: {name: mine}\nspec: {minMember: 7}");
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  MakePod(rig, "j-a", &kube::kBatchJobs, "j", "annotations: {scheduling.k8s.io/group-name: mine}");
  MakePod(rig, "bare", nullptr, "", "annotations: {scheduling.k8s.io/group-name: mine}");
  MakePod(rig, "of-kai", nullptr, "", "annotations: {pod-group-name: mine}");
  rig.Run(absl::Minutes(5));
  EXPECT_EQ(rig.GroupOf("j-a"), "mine");
  EXPECT_EQ(rig.GroupOf("bare"), "mine");
  EXPECT_EQ(rig.GroupOf("of-kai"), "pg-of-kai-" + rig.UidOf(kube::kPods, "of-kai")) << "KAI's annotation says nothing";
  EXPECT_EQ(rig.Spec("mine"), R"({"minMember":7})");
  EXPECT_THAT(rig.Events(), IsEmpty());
}

TEST(RichTest, APodThatWaitsForAGroupWhichNobodyMakesIsTold) {
  RichRig rig;
  rig.Start();
  rig.Make(kube::kJobs, "metadata: {name: vj}\nspec: {minAvailable: 1}");
  rig.Make(kube::kPodGroups, "metadata: {name: of-a-job}\nspec: {minMember: 1}", &kube::kJobs, "vj");
  MakePod(rig, "guest", nullptr, "", "annotations: {scheduling.k8s.io/group-name: of-a-job}");
  MakePod(rig, "lost", nullptr, "", "annotations: {scheduling.k8s.io/group-name: none}");
  rig.Run(absl::Seconds(40));
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("lost PodGroupMissing: ")));
}

TEST(RichTest, AGroupWithoutPodsGoesAndComesBackWithThem) {
  RichRig rig;
  rig.Start();
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  MakePod(rig, "db-0", &kube::kStatefulSets, "db");
  rig.Make(kube::kPodGroups, "metadata: {name: others}\nspec: {minMember: 1}");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.Groups(), 2u);
  rig.server().Delete(kube::kPods, "default", "db-0");
  rig.Run(NamespaceWrites::kEmptyGrace - absl::Seconds(5));
  EXPECT_EQ(rig.Groups(), 2u) << "pods may be made anew";
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(rig.Groups(), 1u) << "the scheduler counts by it";
  EXPECT_NE(rig.Get(kube::kPodGroups, "others"), nullptr) << "what others made is theirs";
  MakePod(rig, "db-0", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.Get(kube::kPodGroups, rig.GroupOf("db-0")), nullptr);
}

TEST(RichTest, WhatIsRefusedOfAGroupKeepsNoPodOutOfIt) {
  RichRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  rig.Refuse(NamespaceRig::IsOfGroup, 422, "Invalid", "the webhook says no");
  rig.Annotate(kube::kStatefulSets, "db", "volcano.sh/x", "y");
  rig.Run(absl::Seconds(5));
  MakePod(rig, "db-1", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("db-1"), group);
}

TEST(RichTest, AGroupThatSomebodyPutsInThePlaceOfARefusedOneGetsNoPods) {
  RichRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  rig.Refuse(NamespaceRig::IsOfGroup, 422, "Invalid", "the webhook says no");
  rig.Annotate(kube::kStatefulSets, "db", "volcano.sh/x", "y");
  rig.Run(absl::Minutes(1));
  rig.server().Delete(kube::kPodGroups, "default", group);
  rig.Make(kube::kPodGroups, "metadata: {name: " + group + "}\nspec: {minMember: 7}");
  MakePod(rig, "db-1", &kube::kStatefulSets, "db");
  rig.Run(absl::Minutes(3));
  EXPECT_EQ(rig.GroupOf("db-1"), "");
}

TEST(RichTest, APodWhoseOwnerIsMissingHoldsUpNoDeletion) {
  RichRig rig;
  rig.Start();
  rig.MakeDatabase();
  MakePod(rig, "lost", nullptr, "",
          "ownerReferences: [{apiVersion: example.com/v1, kind: Foo, name: none, uid: "
          "11111111-1111-4111-8111-111111111111, controller: true}]");
  rig.server().Delete(kube::kPods, "default", "db-0");
  rig.Run(NamespaceWrites::kMostEmptyGrace + absl::Minutes(1));
  EXPECT_EQ(rig.Groups(), 0u);
}

TEST(RichTest, ADeletionThatIsRefusedIsTold) {
  RichRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  rig.Refuse([](const auto& write) { return write.has_delete_(); }, 403, "Forbidden", "may not delete");
  rig.server().Delete(kube::kPods, "default", "db-0");
  rig.Run(absl::Minutes(1));
  const std::string key = kube::ShownGroupKey("default", group, kube::GroupProfile::kRich);
  const auto history = dynamic_cast<PodGroupController&>(rig.any_controller()).records().Read(SlotOf("default/"), key);
  ASSERT_TRUE(history.ok() && *history);
  EXPECT_EQ((*history)->entries.back().message(), "may not delete");
  rig.server().refuse = nullptr;
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.Groups(), 0u);
}

TEST(RichTest, TheGroupOfAJobIsNotTakenForOurs) {
  RichRig rig;
  rig.Start();
  rig.Make(kube::kJobs, "metadata: {name: vj}\nspec: {minAvailable: 1}");
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  const std::string name = "pg-db-" + rig.UidOf(kube::kStatefulSets, "db");
  rig.Make(kube::kPodGroups, "metadata: {name: " + name + "}\nspec: {minMember: 7}", &kube::kJobs, "vj");
  MakePod(rig, "db-0", &kube::kStatefulSets, "db");
  rig.Run(absl::Minutes(3));
  EXPECT_THAT(rig.Spec(name), HasSubstr(R"("minMember":7)"));
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("is that of a job, and is left alone")));
}

TEST(RichTest, AGroupThatLostItsPodsWhileNobodyLookedGoes) {
  RichRig rig;
  rig.Start();
  MakePod(rig, "a");
  rig.Run(absl::Seconds(5));
  rig.Kill();
  rig.server().Delete(kube::kPods, "default", "a");
  rig.Start();
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.Groups(), 0u);
}

TEST(RichTest, AGroupThatAPodStillNamesStays) {
  RichRig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  MakePod(rig, "guest", nullptr, "", fmt::format("annotations: {{scheduling.k8s.io/group-name: {}}}", group));
  rig.server().Delete(kube::kPods, "default", "db-0");
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.Groups(), 1u);
  rig.server().Delete(kube::kPods, "default", "guest");
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.Groups(), 0u);
}

TEST(RichTest, AGroupOfPodsThatAreOverStaysWhileOneNamesIt) {
  RichRig rig;
  rig.Start();
  MakeGang(rig);
  rig.Run(absl::Seconds(5));
  for (const char* pod : {"j-a", "j-b"}) {
    rig.server().Merge(kube::kPods, "default", pod, json::object{{"status", json::object{{"phase", "Succeeded"}}}},
                       "status");
  }
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.Groups(), 1u);
  for (const char* pod : {"j-a", "j-b"}) rig.Annotate(kube::kPods, pod, "scheduling.k8s.io/group-name", nullptr);
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.Groups(), 0u) << "the scheduler would keep room for it";
}

TEST(RichTest, MinResourcesAreThoseOfTheFirstPod) {
  RichRig rig;
  rig.Start();
  MakeGang(rig);
  rig.Run(absl::Seconds(5));
  rig.MakePod("j-0", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(GangOf(rig)), HasSubstr(R"("minResources":{"count/pods":"2","pods":"2"})"));
}

TEST(RichTest, AnOwnerThatSomebodyTakesAwayComesBackBesideThatOfOthers) {
  RichRig rig;
  rig.Start();
  MakeGang(rig);
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  rig.Run(absl::Seconds(5));
  const json::array others = {json::object{{"apiVersion", "apps/v1"},
                                           {"kind", "StatefulSet"},
                                           {"name", "db"},
                                           {"uid", rig.UidOf(kube::kStatefulSets, "db")}}};
  rig.server().Merge(kube::kPodGroups, "default", GangOf(rig),
                     json::object{{"metadata", json::object{{"ownerReferences", others}}}});
  rig.Run(absl::Seconds(10));
  EXPECT_EQ(FindPath(*rig.Get(kube::kPodGroups, GangOf(rig)), {"metadata", "ownerReferences"})->as_array().size(), 2u);
}

TEST(RichTest, QueueAndPriorityAreThoseOfVolcanosAnnotationsAndOfClassesThatExist) {
  RichRig rig;
  rig.Start();
  MakePod(rig, "a", nullptr, "", "annotations: {scheduling.volcano.sh/queue-name: research}");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(rig.GroupOf("a")), HasSubstr(R"("queue":"research")"));
  EXPECT_THAT(rig.Spec(rig.GroupOf("a")), ::testing::Not(HasSubstr("priorityClassName"))) << "there is no class train";
  rig.server().Create(kube::kPriorityClasses,
                      json::object{{"metadata", json::object{{"name", "train"}}}, {"value", 50}});
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(rig.GroupOf("a")), HasSubstr(R"("priorityClassName":"train")"));
}

TEST(RichTest, WhatTheFormCannotExpressIsTold) {
  RichRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/preemption-delay: 5m}"));
  MakePod(rig, "j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("preemptionDelay")));
}

TEST(RichTest, TheSchedulersWordsAreNoReasonToLookAtTheGroupAgain) {
  RichRig rig;
  rig.Start();
  MakeGang(rig);
  rig.Run(absl::Seconds(5));
  rig.server().ClearLog();
  rig.server().Merge(kube::kPodGroups, "default", GangOf(rig),
                     json::object{{"status", json::object{{"phase", "Inqueue"}}}});
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

TEST(RichTest, PodsOfOneOwnerMayBeOfTwoSchedulers) {
  RichRig rig;
  rig.Start();
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  MakePod(rig, "db-0", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(5));
  json::value pod = *rig.Get(kube::kPods, "db-0");
  pod.as_object()["metadata"] = json::object{
      {"name", "db-1"}, {"namespace", "default"}, {"ownerReferences", pod.at("metadata").at("ownerReferences")}};
  pod.as_object()["spec"].as_object()["schedulerName"] = kube::kKaiScheduler;
  pod.as_object().erase("status");
  rig.server().Create(kube::kPods, std::move(pod));
  rig.Run(absl::Seconds(20));
  EXPECT_EQ(rig.Groups(), 1u);
  EXPECT_NE(rig.Get(kube::kKaiPodGroups, "pg-db-" + rig.UidOf(kube::kStatefulSets, "db")), nullptr);
  // The other pods still receive the owner.
  rig.server().Delete(kube::kPods, "default", "db-1");
  rig.Run(absl::Seconds(5));
  rig.Annotate(kube::kStatefulSets, "db", "volcano.sh/x", "y");
  rig.Run(absl::Seconds(5));
  EXPECT_NE(FindPath(*rig.Get(kube::kPodGroups, rig.GroupOf("db-0")), {"metadata", "annotations", "volcano.sh/x"}),
            nullptr);
}

// The fields of Volcano before subgroups, and before tiers had names.
constexpr std::string_view kFieldsOfOldGroups =
    "{minMember: {}, queue: {}, priorityClassName: {}, minResources: {additionalProperties: {}}, "
    "networkTopology: {properties: {mode: {}, highestTierAllowed: {}}}}";

TEST(RichTest, AFieldThatTheDefinitionLacksIsNotWrittenAndTold) {
  static constexpr kube::Kind kPyTorchJobs{"kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"};
  RichRig rig;
  rig.Start();
  rig.Define(kPyTorchJobs);
  DeliverShared(rig, kube::kWatchPodGroupDefinition, DefinitionOf(kube::kPodGroups, kFieldsOfOldGroups));
  rig.Make(kPyTorchJobs,
           "metadata: {name: t}\n"
           "spec: {pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}}");
  MakePod(rig, "t-master-0", &kPyTorchJobs, "t", "labels: {training.kubeflow.org/replica-type: master}");
  rig.Run(absl::Minutes(10));
  const std::string group = rig.GroupOf("t-master-0");
  EXPECT_EQ(rig.Spec(group),
            R"({"minMember":3,"minResources":{"count/pods":"3","cpu":"3","pods":"3","requests.cpu":"3"}})");
  EXPECT_EQ(rig.server().WritesButEvents(), 2) << "the group and the link, and none again";
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("the group: subGroupPolicy is not known")));

  // Volcano is upgraded.
  DeliverShared(rig, kube::kWatchPodGroupDefinition, DefinitionOf(kube::kPodGroups, "{}"), /*gone=*/true);
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("subGroupPolicy":[{"name":"master")"));
}

// One group for all pods would look like one that an earlier release left behind.
TEST(RichTest, AJobSetIsFlatWhereTheDefinitionKnowsNoSubgroups) {
  RichRig rig;
  rig.Start();
  rig.Define(kJobSets);
  DeliverShared(rig, kube::kWatchPodGroupDefinition, DefinitionOf(kube::kPodGroups, kFieldsOfOldGroups));
  rig.Make(kJobSets, kJobSetOfThree);
  MakePod(rig, "js-0", &kJobSets, "js",
          "labels: {jobset.sigs.k8s.io/replicatedjob-name: worker, jobset.sigs.k8s.io/job-index: '0'}");
  rig.Run(absl::Minutes(10));
  EXPECT_THAT(rig.GroupOf("js-0"), EndsWith("-worker"));
  EXPECT_THAT(rig.Spec(rig.GroupOf("js-0")), HasSubstr(R"("minMember":2)"));
  EXPECT_EQ(rig.server().WritesButEvents(), 2);
}

}  // namespace
}  // namespace basalt::pgsvc
