// Pods of KAI's when the cluster changes: its definition of groups, and its Kartas.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/yaml.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr kube::Kind kPyFlows{"jobs.example.com", "v1", "PyFlow", "pyflows"};

std::string Definition(std::string_view properties) { return DefinitionOf(kube::kKaiPodGroups, properties); }

constexpr std::string_view kOld =
    "{minMember: {minimum: 1}, queue: {}, priorityClassName: {}, "
    "subGroups: {items: {properties: {name: {}, parent: {}, minMember: {minimum: 1}}}}}";
constexpr std::string_view kNew =
    "{minMember: {}, minSubGroup: {}, queue: {}, priorityClassName: {}, preemptionDelay: {}, "
    "subGroups: {items: {properties: {name: {}, parent: {}, minMember: {}, minSubGroup: {}}}}}";

TEST(KaiClusterTest, AFieldThatTheDefinitionLacksIsNotWrittenAndTold) {
  NamespaceRig rig;
  rig.Start();
  DeliverShared(rig, kube::kWatchKaiDefinition, Definition(kOld));
  rig.Make(kube::kStatefulSets,
           NamespaceRig::Workload("db", "annotations: {kai.scheduler/preemption-delay: 5m}", "serviceName: db"));
  rig.MakePod("db-0", &kube::kStatefulSets, "db");
  rig.Run(absl::Seconds(5));
  const std::string group = rig.GroupOf("db-0");
  EXPECT_EQ(rig.Spec(group), R"({"minMember":1,"queue":"default-queue","priorityClassName":"train"})");
  EXPECT_EQ(rig.server().WritesButEvents(), 2) << "the group and the link, and none again";
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("db-0 PodGroupWarning: the group: preemptionDelay is not known")));

  // KAI is upgraded.
  DeliverShared(rig, kube::kWatchKaiDefinition, Definition(kNew));
  EXPECT_THAT(rig.Spec(group), HasSubstr(R"("preemptionDelay":"5m0s")"));
}

TEST(KaiClusterTest, AMinimumThatTheDefinitionRefusesIsLeftOut) {
  constexpr std::string_view kZero = "annotations: {kai.scheduler/batch-min-member: '0'}";
  NamespaceRig rig;
  rig.Start();
  DeliverShared(rig, kube::kWatchKaiDefinition, Definition(kOld));
  rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", std::string(kZero)));
  rig.MakePod("j-a", &kube::kBatchJobs, "j");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(rig.Spec(rig.GroupOf("j-a")), R"({"queue":"default-queue","priorityClassName":"train"})");
  EXPECT_EQ(rig.server().WritesButEvents(), 2);
  EXPECT_THAT(rig.Events(), ElementsAre(HasSubstr("the group: minMember 0 is refused")));
}

// The groups of such a JobSet look like those that earlier releases left behind.
TEST(KaiClusterTest, AFlatJobSetStaysAsItIs) {
  static constexpr kube::Kind kJobSets{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"};
  NamespaceRig rig;
  rig.Start();
  rig.Define(kJobSets);
  DeliverShared(rig, kube::kWatchKaiDefinition, Definition(kOld));
  rig.Make(kJobSets,
           "metadata: {name: js}\n"
           "spec:\n"
           "  replicatedJobs:\n"
           "  - {name: leader, replicas: 1, template: {spec: {parallelism: 1}}}\n"
           "  - {name: worker, replicas: 2, template: {spec: {parallelism: 4}}}\n");
  const auto make = [&rig](const std::string& pod, const std::string& job) {
    rig.MakePod(
        pod, &kJobSets, "js",
        fmt::format("labels: {{jobset.sigs.k8s.io/replicatedjob-name: {}, jobset.sigs.k8s.io/job-index: '0'}}", job));
    rig.Run(absl::Seconds(5));
  };
  make("leader-0", "leader");
  make("worker-0", "worker");
  make("worker-1", "worker");
  rig.Run(absl::Minutes(1));
  const std::string group = "pg-js-" + rig.UidOf(kJobSets, "js");
  EXPECT_EQ(rig.GroupOf("leader-0"), group + "-leader");
  EXPECT_EQ(rig.GroupOf("worker-1"), group + "-worker");
  EXPECT_THAT(rig.Spec(group + "-worker"), HasSubstr(R"("minMember":8)"));
  EXPECT_EQ(rig.Groups(), 2u);

  // KAI is upgraded: pods stay in their existing groups.
  rig.server().ClearLog();
  DeliverShared(rig, kube::kWatchKaiDefinition, Definition(kNew));
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.GroupOf("worker-1"), group + "-worker");
  EXPECT_THAT(rig.Spec(group + "-worker"), HasSubstr(R"("minMember":8)"));
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

std::string Karta(std::string_view worker = "worker", std::string_view name = "pyflow") {
  return fmt::format(
      "metadata:\n"
      "  name: {0}\n"
      "  uid: uid-{0}\n"
      "  labels: {{run.ai/karta-group: jobs.example.com, run.ai/karta-version: v1, run.ai/karta-kind: PyFlow}}\n"
      "spec:\n"
      "  structureDefinition:\n"
      "    rootComponent:\n"
      "      {{name: flow, kind: {{group: jobs.example.com, version: v1, kind: PyFlow}}, statusDefinition: {{}}}}\n"
      "    childComponents:\n"
      "    - name: worker\n"
      "      ownerRef: flow\n"
      "      scaleDefinition: {{replicasPath: .spec.replicas}}\n"
      "      podSelector: {{componentTypeSelector: {{keyPath: '.metadata.labels[\"role\"]'}}}}\n"
      "  optimizationInstructions:\n"
      "    gangScheduling: {{podGroup: {{name: t, subGroups: [{{componentName: {1}}}]}}}}\n",
      name, worker);
}

class KartaRigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.Start();
    rig_.Define(kPyFlows);
    rig_.Make(kPyFlows, "metadata: {name: f}\nspec: {replicas: 2}");
  }
  std::string Named(std::string_view suffix) { return "pg-" + rig_.UidOf(kPyFlows, "f") + std::string(suffix); }
  void MakePod(const std::string& name) {
    rig_.MakePod(name, &kPyFlows, "f", "labels: {role: worker}");
    rig_.Run(absl::Seconds(5));
  }
  NamespaceRig rig_;
};

TEST_F(KartaRigTest, AKartaThatComesLaterGroupsThePodsAnew) {
  MakePod("f-0");
  EXPECT_THAT(rig_.GroupOf("f-0"), HasSubstr("pg-f-")) << "the default rule";
  DeliverShared(rig_, kube::kWatchKartas, Karta());
  EXPECT_EQ(rig_.GroupOf("f-0"), Named("-t"));
  EXPECT_EQ(rig_.SubGroupOf("f-0"), "worker");
  EXPECT_THAT(rig_.Spec(Named("-t")), HasSubstr(R"("subGroups":[{"name":"worker","minMember":2}])"));
  DeliverShared(rig_, kube::kWatchKartas, Karta(), /*gone=*/true);
  EXPECT_THAT(rig_.GroupOf("f-0"), HasSubstr("pg-f-"));
}

TEST_F(KartaRigTest, TheWorkloadsReplicasAreFollowed) {
  DeliverShared(rig_, kube::kWatchKartas, Karta());
  MakePod("f-0");
  rig_.server().Merge(kPyFlows, "default", "f", json::object{{"spec", json::object{{"replicas", 5}}}});
  rig_.Run(absl::Seconds(5));
  EXPECT_THAT(rig_.Spec(Named("-t")), HasSubstr(R"("subGroups":[{"name":"worker","minMember":5}])"));
}

// Weakness G26.
TEST_F(KartaRigTest, AKartaThatBreaksMovesNoPodOutOfItsGroup) {
  DeliverShared(rig_, kube::kWatchKartas, Karta());
  MakePod("f-0");
  rig_.server().ClearLog();
  DeliverShared(rig_, kube::kWatchKartas, Karta("worker", "second"));
  EXPECT_EQ(rig_.GroupOf("f-0"), Named("-t"));
  EXPECT_EQ(rig_.server().WritesButEvents(), 0);
  constexpr const char* kProblem = "Kartas pyflow and second are both for kind";
  EXPECT_THAT(rig_.Events(), UnorderedElementsAre(AllOf(HasSubstr("f-0 PodGroupWarning: "), HasSubstr(kProblem)),
                                                  AllOf(HasSubstr("pyflow KartaNotUsed: "), HasSubstr(kProblem)),
                                                  AllOf(HasSubstr("second KartaNotUsed: "), HasSubstr(kProblem))));
  MakePod("f-1");
  EXPECT_THAT(rig_.GroupOf("f-1"), HasSubstr("pg-f-")) << "new pods have the default rule";
  DeliverShared(rig_, kube::kWatchKartas, Karta("worker", "second"), /*gone=*/true);
  EXPECT_EQ(rig_.GroupOf("f-1"), Named("-t"));
}

// Weakness G26: a service starts anew and may not list Kartas yet.
TEST_F(KartaRigTest, APodThatHasItsNodeStaysInItsGroup) {
  DeliverShared(rig_, kube::kWatchKartas, Karta());
  rig_.Make(kube::kPods,
            "metadata: {name: f-0, labels: {role: worker}}\n"
            "spec: {schedulerName: kai-scheduler, nodeName: n1, containers: [{name: c, image: i}]}",
            &kPyFlows, "f");
  MakePod("f-1");
  ASSERT_EQ(rig_.GroupOf("f-0"), Named("-t"));
  rig_.Kill();
  rig_.Start();
  rig_.Run(absl::Seconds(5));
  EXPECT_EQ(rig_.GroupOf("f-0"), Named("-t"));
  EXPECT_EQ(rig_.SubGroupOf("f-0"), "worker");
  EXPECT_THAT(rig_.GroupOf("f-1"), HasSubstr("pg-f-")) << "the default rule";
  DeliverShared(rig_, kube::kWatchKartas, Karta());
  EXPECT_EQ(rig_.GroupOf("f-1"), Named("-t"));
}

TEST_F(KartaRigTest, AKartaThatIsBeingDeletedDoesNotCount) {
  MakePod("f-0");
  const json::value object = ParseYamlDocuments(Karta())->front();
  kube::v1::Object sent;
  sent.mutable_generic()->mutable_meta()->set_name("pyflow");
  sent.mutable_generic()->mutable_meta()->set_deletion_ms(1);
  sent.mutable_generic()->set_json(ToText(object));
  rig_.any_controller().OnShared(std::string(kube::kWatchKartas), sent, /*gone=*/false);
  rig_.Run(absl::Seconds(5));
  EXPECT_THAT(rig_.GroupOf("f-0"), HasSubstr("pg-f-"));
}

TEST_F(KartaRigTest, WhatAKartaCannotGroupIsTold) {
  DeliverShared(rig_, kube::kWatchKartas, Karta("nobody"));
  MakePod("f-0");
  EXPECT_EQ(rig_.Groups(), 0u);
  EXPECT_THAT(rig_.Events(), ElementsAre(HasSubstr("Karta pyflow: subGroups: there is no component 'nobody'")));
  DeliverShared(rig_, kube::kWatchKartas, Karta());
  EXPECT_EQ(rig_.GroupOf("f-0"), Named("-t"));
}

// Returns a Karta whose expression takes about 30 000 steps `times` times.
std::string CostlyKarta(int times) {
  std::string karta = Karta();
  std::string path = "2";
  for (int i = 0; i < times; ++i) path.insert(0, "((.spec.l[] + .spec.l[]) == 0) // ");
  constexpr std::string_view kReplicas = ".spec.replicas";
  return karta.replace(karta.find(kReplicas), kReplicas.size(), fmt::format("'{}'", path));
}
json::object ListOfHundred() {
  json::array ones;
  for (int i = 0; i < 100; ++i) ones.emplace_back(1);
  return json::object{{"spec", json::object{{"l", std::move(ones)}}}};
}

// A change may make all pods of a namespace due at once. Other namespaces have their turn between two passes.
TEST_F(KartaRigTest, APassThatHasTakenManyStepsLeavesPodsToTheNext) {
  rig_.server().Merge(kPyFlows, "default", "f", ListOfHundred());
  for (int i = 0; i < 8; ++i) MakePod(fmt::format("f-{}", i));
  GroupScopes& groups = dynamic_cast<PodGroupController&>(rig_.any_controller()).ScopesOf("default");
  const auto moved = [&] {
    int count = 0;
    for (int i = 0; i < 8; ++i) count += groups.GroupOf("default", fmt::format("f-{}", i)) == Named("-t") ? 1 : 0;
    return count;
  };
  kube::v1::Object sent;
  sent.mutable_generic()->mutable_meta()->set_name("pyflow");
  sent.mutable_generic()->set_json(ToText(ParseYamlDocuments(CostlyKarta(4))->front()));
  groups.OnShared(std::string(kube::kWatchKartas), sent, /*gone=*/false);
  groups.Act("default");
  EXPECT_EQ(moved(), 2) << "each takes 120 000 steps";
  rig_.Run(absl::Seconds(5));
  EXPECT_EQ(moved(), 8);
  EXPECT_EQ(rig_.GroupOf("f-7"), Named("-t"));
}

TEST_F(KartaRigTest, APodWhoseKartaTakesTooManyStepsIsToldAndHasNoGroup) {
  rig_.server().Merge(kPyFlows, "default", "f", ListOfHundred());
  DeliverShared(rig_, kube::kWatchKartas, CostlyKarta(12));
  MakePod("f-0");
  EXPECT_EQ(rig_.Groups(), 0u);
  constexpr const char* kProblem = "Karta pyflow: its expressions take more than 200000 steps for Pod default/f-0";
  EXPECT_THAT(rig_.Events(), ElementsAre(AllOf(HasSubstr("f-0 PodGroupError: "), HasSubstr(kProblem))));
  const auto explained =
      dynamic_cast<PodGroupController&>(rig_.any_controller()).ScopesOf("default").Explain("default", "f-0");
  ASSERT_TRUE(explained);
  EXPECT_THAT(std::string(explained->found.status().message()), HasSubstr(kProblem));
  DeliverShared(rig_, kube::kWatchKartas, CostlyKarta(1));
  EXPECT_EQ(rig_.GroupOf("f-0"), Named("-t"));
}

TEST_F(KartaRigTest, AKartaOfAnotherKindIsNoNews) {
  MakePod("f-0");
  rig_.server().ClearLog();
  std::string other = Karta();
  for (size_t at = other.find("PyFlow"); at != std::string::npos; at = other.find("PyFlow"))
    other.replace(at, 6, "Other");
  DeliverShared(rig_, kube::kWatchKartas, other);
  EXPECT_THAT(rig_.server().log(), IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
