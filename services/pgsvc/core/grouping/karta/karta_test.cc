// Grouping as Kartas say (pod-grouper 6.11, cases 64 to 68).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A Karta of jobs.example.com/v1 PyFlow with the components master and worker. `gang`: what stands below
// gangScheduling, in the indentation of six.
std::string PyFlowKarta(std::string_view gang, std::string_view name = "pyflow", std::string_view metadata = "") {
  return ObjectOf(
      "run.ai/v1alpha1", "Karta", name,
      fmt::format(
          "  labels: {{run.ai/karta-group: jobs.example.com, run.ai/karta-version: v1, run.ai/karta-kind: "
          "PyFlow}}\n"
          "{}"
          "spec:\n"
          "  structureDefinition:\n"
          "    rootComponent:\n"
          "      name: pyflow\n"
          "      kind: {{group: jobs.example.com, version: v1, kind: PyFlow}}\n"
          "      statusDefinition: {{statusMappings: {{}}}}\n"
          "    childComponents:\n"
          "    - name: master\n"
          "      ownerRef: pyflow\n"
          "      specDefinition: {{podTemplateSpecPath: .spec.master.template}}\n"
          "      scaleDefinition: {{replicasPath: .spec.master.replicas // 1}}\n"
          "      podSelector: {{componentTypeSelector: {{keyPath: '.metadata.labels[\"role\"]', value: master}}}}\n"
          "    - name: worker\n"
          "      ownerRef: pyflow\n"
          "      specDefinition: {{podTemplateSpecPath: .spec.worker.template}}\n"
          "      scaleDefinition: {{replicasPath: .spec.worker.replicas, minReplicasPath: .spec.worker.min}}\n"
          "      podSelector: {{componentTypeSelector: {{keyPath: '.metadata.labels[\"role\"]', value: worker}}}}\n"
          "  optimizationInstructions:\n"
          "    gangScheduling:\n"
          "{}",
          metadata, gang));
}

std::string PyFlow(std::string_view spec = "spec: {master: {replicas: 1}, worker: {replicas: 2}}\n",
                   std::string_view metadata = "") {
  return ObjectOf("jobs.example.com/v1", "PyFlow", "f", fmt::format("{}{}", metadata, spec));
}

std::string PodAs(std::string_view role, std::string_view labels = "") {
  return PodOf(role, "jobs.example.com/v1", "PyFlow", "f", fmt::format("  labels: {{role: {}{}}}\n", role, labels));
}

constexpr std::string_view kTraining =
    "      podGroup:\n"
    "        name: training\n"
    "        subGroups: [{componentName: master}, {componentName: worker}]\n";

TEST(KartaTest, EachComponentThatIsNamedIsALeaf) {
  const Objects objects(PyFlowKarta(kTraining) + PyFlow() + PodAs("worker") + PodAs("master") + PodAs("other"));
  EXPECT_EQ(objects.Text("worker"), "pg-pyflow-f-training sub 2: master{1} worker{2}; in worker");
  EXPECT_EQ(objects.Text("master"), "pg-pyflow-f-training sub 2: master{1} worker{2}; in master");
  EXPECT_EQ(objects.Text("other"), "pg-pyflow-f-training sub 3: master{1} worker{2} default{0}");
  EXPECT_EQ(objects.Of("worker").owner, (GroupOwner{"jobs.example.com/v1", "PyFlow", "f", "pyflow-f"}));
  EXPECT_EQ(objects.Group("worker")->rule, "Karta pyflow");
}

TEST(KartaTest, WithoutSubgroupsAllPodsCount) {
  constexpr std::string_view kOne = "      podGroup: {name: training}\n";
  EXPECT_EQ(Objects(PyFlowKarta(kOne) + PyFlow() + PodAs("worker")).Text(), "pg-pyflow-f-training 3");
  EXPECT_EQ(Objects(PyFlowKarta(kOne) + PyFlow("spec: {worker: {replicas: 4, min: 2}}\n") + PodAs("worker")).Text(),
            "pg-pyflow-f-training 3")
      << "1 master by default, and the least of the workers";
}

TEST(KartaTest, TheTopologyOfTheWorkloadComesFirst) {
  constexpr std::string_view kPlaced =
      "      podGroup:\n"
      "        name: t\n"
      "        topology: {topologyName: zones, requiredTopologyLevel: zone}\n"
      "        subGroups:\n"
      "        - componentName: worker\n"
      "          topology: {topologyName: racks, preferredTopologyLevel: rack}\n";
  EXPECT_EQ(Objects(PyFlowKarta(kPlaced) + PyFlow() + PodAs("worker")).Text(),
            "pg-pyflow-f-t sub 1 @zones/zone/: worker{2 @racks//rack}; in worker");
  const std::string annotated = PyFlow("spec: {worker: {replicas: 2}}\n",
                                       "  annotations: {kai.scheduler/topology: own, "
                                       "kai.scheduler/topology-required-placement: host}\n");
  EXPECT_THAT(Objects(PyFlowKarta(kPlaced) + annotated + PodAs("worker")).Text(), HasSubstr("sub 1 @own/host/:"));
}

TEST(KartaTest, WhatCannotBeGroupedIsAnError) {
  const struct {
    const char* what;
    const char* gang;
    const char* spec;
    const char* error;
  } rows[] = {
      {"no level", "      podGroup: {name: t, topology: {topologyName: t}}\n", "spec: {}\n",
       "PyFlow default/f: Karta pyflow: topology of the group: requiredTopologyLevel or preferredTopologyLevel"},
      {"no topology name", "      podGroup: {name: t, topology: {requiredTopologyLevel: zone}}\n", "spec: {}\n",
       "topologyName: is required"},
      {"unknown component", "      podGroup: {name: t, subGroups: [{componentName: nobody}]}\n", "spec: {}\n",
       "there is no component 'nobody'"},
      {"no replicas", "      podGroup: {name: t, subGroups: [{componentName: worker}]}\n", "spec: {}\n",
       "component worker: PyFlow default/f says of no replicas"},
      {"replicas that are none", "      podGroup: {name: t}\n", "spec: {worker: {replicas: many}}\n",
       "expression '.spec.worker.replicas': must yield integers"},
      {"a path that ends in a number", "      podGroup: {name: t}\n", "spec: {worker: 7}\n",
       "a number has no member replicas"},
  };
  for (const auto& row : rows) {
    const Objects objects(PyFlowKarta(row.gang) + PyFlow(row.spec) + PodAs("worker"));
    EXPECT_THAT(objects.Text(), HasSubstr(row.error)) << row.what;
    EXPECT_THAT(objects.Text(), HasSubstr("error: PyFlow default/f: Karta pyflow: ")) << row.what;
  }
}

TEST(KartaTest, TheOlderFormNamesGroupsByKeys) {
  constexpr std::string_view kByName =
      "      podGroups:\n"
      "      - name: job\n"
      "        members: [{componentName: pyflow, groupByKeyPaths: ['.metadata.labels[\"job-name\"]']}]\n";
  const auto of = [&](std::string_view labels) {
    return Objects(PyFlowKarta(kByName) + PyFlow() + PodAs("worker", labels)).Text();
  };
  EXPECT_EQ(of(", job-name: a"), "pg-pyflow-f-a 3");
  EXPECT_THAT(of(", job-name: Invalid_Name"), HasSubstr("cannot be the name of a pod group"));
  EXPECT_THAT(of(""), HasSubstr("must yield one value of Pod default/worker"));
}

TEST(KartaTest, TheOlderFormTakesThePodsThatItsFiltersLet) {
  constexpr std::string_view kFiltered =
      "      podGroups:\n"
      "      - name: first\n"
      "        members:\n"
      "        - {componentName: worker, filters: ['.metadata.labels[\"tier\"] == \"a\"']}\n"
      "      - name: second\n"
      "        members:\n"
      "        - {componentName: pyflow, filters: ['.metadata.labels[\"tier\"] == \"b\"', 'true']}\n";
  const Objects objects(PyFlowKarta(kFiltered) + PyFlow() + PodAs("worker", ", tier: a") +
                        PodAs("master", ", tier: b") + PodAs("other", ", tier: b"));
  EXPECT_EQ(objects.Text("worker"), "pg-pyflow-f-first 2");
  EXPECT_EQ(objects.Text("master"), "pg-pyflow-f-second 3");
  EXPECT_THAT(objects.Text("other"), HasSubstr("Pod default/other is of no component"));
  EXPECT_THAT(Objects(PyFlowKarta(kFiltered) + PyFlow() + PodAs("worker", ", tier: c")).Text(),
              HasSubstr("component worker: no pod group takes Pod default/worker"));
}

TEST(KartaTest, AnInstanceHasTheScaleOfItsOwn) {
  const std::string karta =
      ObjectOf("run.ai/v1alpha1", "Karta", "sets",
               "  labels: {run.ai/karta-group: jobs.example.com, run.ai/karta-version: v1, run.ai/karta-kind: PyFlow}\n"
               "spec:\n"
               "  structureDefinition:\n"
               "    rootComponent:\n"
               "      {name: root, kind: {group: jobs.example.com, version: v1, kind: PyFlow}, statusDefinition: {}}\n"
               "    childComponents:\n"
               "    - name: set\n"
               "      ownerRef: root\n"
               "      instanceIdPath: .spec.sets[].name\n"
               "      specDefinition: {podTemplateSpecPath: '.spec.sets[].template'}\n"
               "      scaleDefinition: {replicasPath: '.spec.sets[].replicas // 1'}\n"
               "      podSelector: {componentInstanceSelector: {idPath: '.metadata.labels[\"set\"]'}}\n"
               "  optimizationInstructions:\n"
               "    gangScheduling:\n"
               "      podGroups:\n"
               "      - {name: g, members: [{componentName: set, groupByKeyPaths: ['.metadata.labels[\"set\"]']}]}\n");
  const std::string flow = PyFlow("spec: {sets: [{name: a, replicas: 3}, {name: b, replicas: 5}]}\n");
  const Objects objects(karta + flow + PodAs("first", ", set: b") + PodAs("second", ", set: c"));
  EXPECT_EQ(objects.Text("first"), "pg-pyflow-f-b 5");
  EXPECT_THAT(objects.Text("second"), HasSubstr("component set has no instance 'c'"));
}

TEST(KartaTest, WithoutScalesEachPodTemplateCounts) {
  std::string karta = PyFlowKarta("      podGroup: {name: t}\n");
  for (size_t at = karta.find("      scaleDefinition"); at != std::string::npos;
       at = karta.find("      scaleDefinition")) {
    karta.erase(at, karta.find('\n', at) + 1 - at);
  }
  EXPECT_EQ(Objects(karta + PyFlow("spec: {}\n") + PodAs("worker")).Text(), "pg-pyflow-f-t 2");
}

TEST(KartaTest, AKindWithoutAKartaHasTheDefaultRule) {
  const std::string pod = PodOf("p", "example.com/v1", "Foo", "foo");
  const Objects objects(PyFlowKarta(kTraining) + ObjectOf("example.com/v1", "Foo", "foo") + pod);
  EXPECT_EQ(objects.Text(), "pg-foo-foo-foo 1");
  EXPECT_FALSE(objects.Group()->is_makeshift());
}

// What does not count, and that the default rule is used then.
TEST(KartaTest, WhichKartaCounts) {
  std::string unlabelled = PyFlowKarta(kTraining);
  unlabelled.replace(unlabelled.find("run.ai/karta-kind: PyFlow"), 25, "run.ai/karta-kind: Other");
  std::string broken = PyFlowKarta(kTraining, "broken");
  broken.replace(broken.find("ownerRef: pyflow"), 16, "ownerRef: nobody");
  std::string needs_more = PyFlowKarta(kTraining);
  needs_more.replace(needs_more.find(".spec.master.replicas // 1"), 26, "'[.spec.a, .spec.b] | add'");
  std::string reads_containers = PyFlowKarta(kTraining);
  reads_containers.replace(reads_containers.find(".spec.master.replicas // 1"), 26, "'.spec.containers | length'");
  std::string cycle = PyFlowKarta(kTraining);
  cycle.replace(cycle.find("ownerRef: pyflow"), 16, "ownerRef: worker");
  cycle.replace(cycle.find("ownerRef: pyflow"), 16, "ownerRef: master");
  std::string same_name = PyFlowKarta(kTraining);
  same_name.replace(same_name.find("- name: worker"), 14, "- name: master");
  std::string no_status = PyFlowKarta(kTraining);
  no_status.replace(no_status.find("statusDefinition: {statusMappings: {}}"), 38, "x: y");
  std::string large = PyFlowKarta(kTraining);
  std::string children;
  for (int i = 0; i < 100; ++i) children += fmt::format("    - {{name: c{}, ownerRef: pyflow}}\n", i);
  large.insert(large.find("    - name: master"), children);
  const struct {
    const char* what;
    std::string kartas;
    const char* problem;  // Empty: as if there were none.
  } rows[] = {
      {"no instructions", PyFlowKarta("      podGroups: []\n"), ""},
      {"being deleted", PyFlowKarta(kTraining, "pyflow", "  deletionTimestamp: '2026-01-01T00:00:00Z'\n"), ""},
      {"labels of another kind", unlabelled, ""},
      {"two", PyFlowKarta(kTraining) + PyFlowKarta(kTraining, "second"), "Kartas pyflow and second are both for kind"},
      {"an owner that is not there", broken, "Karta broken: component master: there is no such owner"},
      {"owners in a cycle", cycle, "its owners are a cycle"},
      {"two components of one name", same_name, "two components have this name"},
      {"no status definition", no_status, "rootComponent.statusDefinition: is required"},
      {"too many components", large, "there may be 100 entries at most"},
      {"more of jq", needs_more, "is not known here"},
      {"what is not kept", reads_containers, "containers is not kept, and cannot be read"},
  };
  for (const auto& row : rows) {
    const Objects objects(row.kartas + PyFlow() + PodAs("worker"));
    EXPECT_EQ(objects.Text(), "pg-f-pyflow-f 1") << row.what;
    const std::string_view problem = row.problem;
    EXPECT_EQ(objects.Group()->is_makeshift(), !problem.empty()) << row.what;
    if (problem.empty()) {
      EXPECT_THAT(objects.Of().warnings, IsEmpty()) << row.what;
    } else {
      EXPECT_THAT(objects.Of().warnings, ElementsAre(HasSubstr(row.problem))) << row.what;
    }
  }
  const Objects one_is_right(broken + PyFlowKarta(kTraining) + PyFlow() + PodAs("worker"));
  EXPECT_THAT(one_is_right.Text(), HasSubstr("pg-pyflow-f-training")) << "exactly one is valid";
}

TEST(KartaTest, AKindWithARuleOfItsOwnNeedsNoKarta) {
  std::string karta = PyFlowKarta(kTraining);
  for (const auto& [from, to] :
       {std::pair("karta-group: jobs.example.com", "karta-group: batch"),
        std::pair("group: jobs.example.com", "group: batch"), std::pair("karta-kind: PyFlow", "karta-kind: Job"),
        std::pair("kind: PyFlow", "kind: Job")}) {
    karta.replace(karta.find(from), std::string_view(from).size(), to);
  }
  const Objects objects(karta + ObjectOf("batch/v1", "Job", "j") + PodOf("p", "batch/v1", "Job", "j"));
  EXPECT_EQ(objects.Text(), "pg-j-job-j 1");
}

TEST(KartaTest, TheyCanBeTurnedOff) {
  Objects objects(PyFlowKarta(kTraining) + PyFlow() + PodAs("worker"));
  objects.options.uses_kartas = false;
  EXPECT_EQ(objects.Text(), "pg-f-pyflow-f 1");
}

TEST(KartaTest, TheyAreFoundBelowAWorkflow) {
  const Objects objects(PyFlowKarta(kTraining) + ObjectOf("argoproj.io/v1alpha1", "Workflow", "w") +
                        PyFlow("spec: {worker: {replicas: 2}}\n", OwnedBy("argoproj.io/v1alpha1", "Workflow", "w")) +
                        PodAs("worker"));
  EXPECT_THAT(objects.Text(), HasSubstr("pg-pyflow-f-training"));
}

}  // namespace
}  // namespace basalt::pgsvc::testing
