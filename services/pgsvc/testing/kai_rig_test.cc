// Pods that KAI's scheduler places.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/kube/kinds.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using basalt::testing::Fate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr kube::Kind kFoos{"example.com", "v1", "Foo", "foos"};
constexpr kube::Kind kDeployments{"apps", "v1", "Deployment", "deployments"};

TEST(KaiRigTest, ABarePodHasAGroupOfItsOwnWhateverHappens) {
  WhateverHappens({.prepare = nullptr,
                   .act = [](NamespaceRig& rig) { rig.MakePod("a"); },
                   .check =
                       [](NamespaceRig& rig) {
                         EXPECT_EQ(rig.Groups(), 1u);
                         const std::string group = "pg-a-" + rig.UidOf(kube::kPods, "a");
                         EXPECT_EQ(rig.GroupOf("a"), group);
                         EXPECT_EQ(rig.Spec(group),
                                   R"({"minMember":1,"queue":"default-queue","priorityClassName":"train",)"
                                   R"("topologyConstraint":{}})");
                       }});
}

TEST(KaiRigTest, ABarePodCostsTwoWrites) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("a");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 2);
  EXPECT_EQ(rig.server().Count("create", "podgroups"), 1);
  EXPECT_EQ(rig.server().Count("patch", "pods"), 1);
  EXPECT_EQ(rig.server().gets(), 0);
}

TEST(KaiRigTest, PodsOfAJobShareAGroupThatFollowsItWhateverHappens) {
  WhateverHappens({.prepare = nullptr,
                   .act =
                       [](NamespaceRig& rig) {
                         rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
                         rig.MakePod("j-a", &kube::kBatchJobs, "j");
                         rig.MakePod("j-b", &kube::kBatchJobs, "j");
                         rig.Run(absl::Seconds(2));
                         rig.Annotate(kube::kBatchJobs, "j", "kai.scheduler/batch-min-member", "2");
                       },
                   .check =
                       [](NamespaceRig& rig) {
                         EXPECT_EQ(rig.Groups(), 1u);
                         const std::string group = "pg-j-" + rig.UidOf(kube::kBatchJobs, "j");
                         EXPECT_EQ(rig.GroupOf("j-a"), group);
                         EXPECT_EQ(rig.GroupOf("j-b"), group);
                         EXPECT_THAT(rig.Spec(group), HasSubstr(R"("minMember":2)"));
                       }});
}

TEST(KaiRigTest, EachPodOfADeploymentHasAGroupWithTheDeploymentsLabels) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kDeployments, NamespaceRig::Workload("web", "labels: {kai.scheduler/queue: team}"));
  rig.Make(kube::kReplicaSets, NamespaceRig::Workload("web-1"), &kDeployments, "web");
  rig.MakePod("web-1-a", &kube::kReplicaSets, "web-1");
  rig.MakePod("web-1-b", &kube::kReplicaSets, "web-1");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.Groups(), 2u);
  const std::string group = "pg-web-1-a-" + rig.UidOf(kube::kPods, "web-1-a");
  EXPECT_EQ(rig.GroupOf("web-1-a"), group);
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("queue":"team","priorityClassName":"inference")"));
  EXPECT_THAT(rig.Interests(),
              UnorderedElementsAre("objects/apps/v1/ReplicaSet default/web-1", "objects/apps/v1/Deployment default/web",
                                   "objects/scheduling.run.ai/v2/Queue default/team"));
  for (const char* pod : {"web-1-a", "web-1-b"}) {
    rig.server().Delete(kube::kPods, "default", pod, json::object{{"gracePeriodSeconds", 0}});
  }
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Interests(), IsEmpty()) << "nobody is grouped by them any more";
}

// Pods of several Jobs, each with an owner of its own, are one group.
TEST(KaiRigTest, PodsOfAJobSetFindTheirSubgroupsWhateverHappens) {
  WhateverHappens({.prepare = [](NamespaceRig& rig) { rig.Define(kJobSets); },
                   .act =
                       [](NamespaceRig& rig) {
                         rig.Make(kJobSets, kJobSetOfThree);
                         int index = 0;
                         for (const char* job : {"leader-0", "worker-0", "worker-1"}) {
                           rig.Make(kube::kBatchJobs, NamespaceRig::JobOf(std::string("js-") + job), &kJobSets, "js");
                           const std::string replicated(std::string_view(job).substr(0, 6));
                           rig.MakePod(fmt::format("js-{}-x", job), &kube::kBatchJobs, std::string("js-") + job,
                                       fmt::format("labels: {{jobset.sigs.k8s.io/replicatedjob-name: {}, "
                                                   "jobset.sigs.k8s.io/job-index: '{}'}}",
                                                   replicated, index == 2 ? 1 : 0));
                           ++index;
                         }
                       },
                   .check =
                       [](NamespaceRig& rig) {
                         EXPECT_EQ(rig.Groups(), 1u);
                         const std::string group = "pg-js-" + rig.UidOf(kJobSets, "js");
                         EXPECT_THAT(rig.Spec(group), HasSubstr(R"("minSubGroup":2)"));
                         EXPECT_EQ(rig.GroupOf("js-worker-1-x"), group);
                         EXPECT_EQ(rig.SubGroupOf("js-leader-0-x"), "leader-replica-0");
                         EXPECT_EQ(rig.SubGroupOf("js-worker-0-x"), "worker-replica-0");
                         EXPECT_EQ(rig.SubGroupOf("js-worker-1-x"), "worker-replica-1");
                       }});
}

TEST(KaiRigTest, WhatOthersGroupIsLeftAlone) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kStatefulSets,
           NamespaceRig::Workload("db", "annotations: {kai.scheduler/skip-podgrouper: 'true'}", "serviceName: db"));
  rig.MakePod("db-0", &kube::kStatefulSets, "db", "annotations: {pod-group-name: ext}");
  rig.MakePod("opted", nullptr, "", "annotations: {kai.scheduler/skip-podgrouper: 'true'}");
  rig.MakePod("assigned", nullptr, "", "annotations: {pod-group-name: ext}");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
  rig.Annotate(kube::kStatefulSets, "db", "kai.scheduler/skip-podgrouper", nullptr);
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.GroupOf("db-0"), HasSubstr("pg-db-")) << "the owner opts out no more";
  EXPECT_EQ(rig.GroupOf("assigned"), "ext");
}

TEST(KaiRigTest, APodWaitsForAKindThatComesLaterAndIsToldAfterAWhile) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kPods, R"(
metadata:
  name: f-0
  ownerReferences: [{apiVersion: example.com/v1, kind: Foo, name: f, uid: u-f, controller: true}]
spec: {schedulerName: kai-scheduler, containers: [{name: c, image: i}]}
)");
  rig.Run(absl::Seconds(20));
  EXPECT_THAT(rig.Events(), IsEmpty()) << "what is made together need not come together";
  rig.Run(absl::Seconds(20));
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("Foo default/f does not exist")));
  kube::v1::Object object;
  kube::v1::GenericObject& generic = *object.mutable_generic();
  generic.mutable_meta()->set_namespace_("default");
  generic.mutable_meta()->set_name("f");
  generic.mutable_meta()->set_uid("u-f");
  generic.set_json(R"({"metadata":{"name":"f","namespace":"default","uid":"u-f"}})");
  rig.any_controller().OnShared("objects/example.com/v1/Foo", object, /*gone=*/false);
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("f-0"), "pg-f-u-f");
}

TEST(KaiRigTest, WhereAnOwnerMustNotBeReadTheWayUpEndsBelow) {
  NamespaceRig rig;
  rig.Start();
  rig.Define(kFoos);
  rig.Make(kFoos, "metadata: {name: f}");
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"), &kFoos, "f");
  rig.MakePod("db-0", &kube::kStatefulSets, "db");
  kube::v1::Object unreadable;
  unreadable.mutable_generic()->mutable_meta()->set_namespace_("default");
  unreadable.mutable_generic()->mutable_meta()->set_name("f");
  unreadable.mutable_generic()->set_unreadable("forbidden");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.GroupOf("db-0"), HasSubstr("pg-f-"));
  rig.any_controller().OnShared("objects/example.com/v1/Foo", unreadable, /*gone=*/false);
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.GroupOf("db-0"), HasSubstr("pg-db-"));
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("PodGroupWarning: an owner cannot be read, and pods are grouped by "
                                                  "what is below: Foo default/f: forbidden")));
}

TEST(KaiRigTest, ARuleThatCannotBeFollowedIsToldAndHoldsUpNobody) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: abc}"));
  for (int i = 0; i < 20; ++i) rig.MakePod(fmt::format("j-{:02}", i), &kube::kBatchJobs, "j");
  rig.MakePod("bare");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.Groups(), 1u);
  EXPECT_NE(rig.GroupOf("bare"), "");
  EXPECT_EQ(rig.Events().size(), NamespaceWarnings::kMostReported) << "the pods share the problem";
  EXPECT_THAT(rig.Events().front(), HasSubstr("Job default/j: annotation kai.scheduler/batch-min-member"));
  rig.Annotate(kube::kBatchJobs, "j", "kai.scheduler/batch-min-member", "2");
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.GroupOf("j-00"), "");
}

TEST(KaiRigTest, APodThatHasEndedNeedsNoGroup) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("a");
  rig.Run(absl::Seconds(5));
  rig.server().Merge(kube::kPods, "default", "a", json::object{{"status", json::object{{"phase", "Succeeded"}}}},
                     "status");
  rig.server().Delete(kube::kKaiPodGroups, "default", rig.GroupOf("a"));
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.Groups(), 0u);
}

TEST(KaiRigTest, APodIsGroupedInTheFormThatItsSchedulerReads) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("for-kai");
  rig.Make(kube::kPods,
           "metadata: {name: for-volcano}\nspec: {schedulerName: volcano, containers: [{name: c, image: i}]}");
  rig.Run(absl::Seconds(5));
  const auto keys_of = [&rig](const std::string& pod) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : FindPath(*rig.Get(kube::kPods, pod), {"metadata", "annotations"})->as_object()) {
      keys.emplace_back(key);
    }
    return keys;
  };
  EXPECT_THAT(keys_of("for-kai"), ElementsAre("pod-group-name"));
  EXPECT_THAT(keys_of("for-volcano"), ElementsAre("scheduling.k8s.io/group-name"));
  EXPECT_EQ(rig.Groups(), 1u);
}

TEST(KaiRigTest, OfAPodThatOptsOutNoOwnerIsRead) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  rig.MakePod("db-0", &kube::kStatefulSets, "db", "annotations: {kai.scheduler/skip-podgrouper: 'true'}");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Interests(), IsEmpty());
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

TEST(KaiRigTest, APodStaysInItsGroupWhenThePodThatOwnsItGoes) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("driver");
  rig.MakePod("worker", &kube::kPods, "driver");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("worker"), rig.GroupOf("driver"));
  // Garbage collection deletes the worker some time after the driver.
  rig.late = [](const kube::v1::Object& object, bool) {
    return object.has_pod() && object.pod().name() == "worker" ? absl::Seconds(10) : absl::ZeroDuration();
  };
  rig.server().Delete(kube::kPods, "default", "driver");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.server().WritesButEvents(), 3) << "the worker needs no other group";
}

TEST(KaiRigTest, AStaleLabelOfASubgroupIsRemoved) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j", "labels: {kai.scheduler/subgroup-name: old}");
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.GroupOf("j-a"), "");
  EXPECT_EQ(rig.SubGroupOf("j-a"), "");
  EXPECT_EQ(rig.server().WritesButEvents(), 2);
}

TEST(KaiRigTest, APodIsPatchedByItsUidAndOnlyWhileItNeedsIt) {
  NamespaceRig rig;
  rig.Start();
  int patches = 0;
  rig.fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.resource().plural() == "pods") {
      ++patches;
      EXPECT_EQ(request.patch().uid(), rig.UidOf(kube::kPods, request.name()));
    }
    return Fate::kNormal;
  };
  rig.MakePod("a");
  rig.MakePod("ended");
  rig.server().Merge(kube::kPods, "default", "ended", json::object{{"status", json::object{{"phase", "Failed"}}}},
                     "status");
  rig.MakePod("going", nullptr, "", "finalizers: [example.com/hold]");
  rig.server().Delete(kube::kPods, "default", "going");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(patches, 1);
  EXPECT_EQ(rig.Groups(), 1u) << "those that are over or go need none";
}

TEST(KaiRigTest, WhatAPodDoesCostsNothing) {
  NamespaceRig rig;
  rig.Start();
  rig.MakeDatabase();
  rig.server().ClearLog();
  rig.server().Merge(kube::kPods, "default", "db-0", json::object{{"status", json::object{{"phase", "Running"}}}},
                     "status");
  rig.server().Merge(kube::kStatefulSets, "default", "db",
                     json::object{{"status", json::object{{"replicas", 1}, {"readyReplicas", 1}}}}, "status");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.server().log(), IsEmpty());
  EXPECT_EQ(rig.server().gets(), 0);
}

TEST(KaiRigTest, WhatCannotBeHonouredIsToldOnAPod) {
  NamespaceRig rig;
  rig.Start();
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: '5'}"));
  rig.MakePod("j-a", &kube::kBatchJobs, "j", "labels: {priorityClassName: nobodys}");
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Events(),
              UnorderedElementsAre(HasSubstr("PodGroupWarning: label priorityClassName of Pod default/j-a: there is no "
                                             "PriorityClass nobodys"),
                                   HasSubstr("a minimum of 5 can never be met: there are 2 at most")));
  EXPECT_THAT(rig.Spec(rig.GroupOf("j-a")), HasSubstr(R"("minMember":2)"));
}

TEST(KaiRigTest, APodThatNamesAGroupWhichNobodyMakesIsToldAfterAWhile) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("bare", nullptr, "", "annotations: {pod-group-name: ext}");
  rig.MakePod("soon", nullptr, "", "annotations: {pod-group-name: later}");
  rig.Run(absl::Seconds(20));
  rig.Make(kube::kKaiPodGroups, "metadata: {name: later}\nspec: {minMember: 1}");
  EXPECT_THAT(rig.Events(), IsEmpty());
  rig.Run(absl::Seconds(30));
  EXPECT_THAT(rig.Events(),
              ElementsAre(HasSubstr("bare PodGroupMissing: annotation pod-group-name names pod group ext")));
}

TEST(KaiRigTest, APodWithOwnersStaysInTheGroupThatItNamesWhereThatIsConfigured) {
  NamespaceRig rig({.keeps_named_groups = true});
  rig.Start();
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  rig.MakePod("db-0", &kube::kStatefulSets, "db", "annotations: {pod-group-name: ext}");
  rig.MakePod("db-1", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.GroupOf("db-0"), "ext");
  EXPECT_THAT(rig.GroupOf("db-1"), HasSubstr("pg-db-"));
  EXPECT_EQ(rig.server().WritesButEvents(), 2);
}

TEST(KaiRigTest, PriorityClassesCountWhenTheyAreThere) {
  NamespaceRig rig;
  rig.Start();
  rig.MakePod("a", nullptr, "", "labels: {priorityClassName: mine}");
  rig.Run(absl::Seconds(5));
  const std::string group = rig.GroupOf("a");
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("priorityClassName":"train")"));
  rig.server().Create(kube::kPriorityClasses, json::object{{"metadata", json::object{{"name", "mine"}}}, {"value", 7}});
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("priorityClassName":"mine")"));
}

TEST(KaiRigTest, ASlotThatGoesTakesItsInterestsAlong) {
  NamespaceRig rig;
  rig.Start();
  rig.MakeDatabase();
  EXPECT_THAT(rig.Interests(), ElementsAre("objects/apps/v1/StatefulSet default/db",
                                           "objects/scheduling.run.ai/v2/Queue default/default-queue"));
  rig.CloseSlot(SlotOf("default"));
  EXPECT_THAT(rig.Interests(), IsEmpty());
  rig.server().ClearLog();
  rig.OpenSlot(SlotOf("default"));
  rig.Run(absl::Seconds(5));
  EXPECT_THAT(rig.Interests(), ElementsAre("objects/apps/v1/StatefulSet default/db",
                                           "objects/scheduling.run.ai/v2/Queue default/default-queue"));
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

}  // namespace
}  // namespace basalt::pgsvc
