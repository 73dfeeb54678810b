// Grouping by Kartas (pod-grouper 6.11, cases 64 to 68).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a Karta of jobs.example.com/v1 PyFlow with the components master and worker. `gang` is the text below
// gangScheduling, indented by six.
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

// A selector is no key: any of several values may match, and an empty one counts as existing.
TEST(KartaTest, ASelectorTakesAnyOfItsValuesAlsoAnEmptyOne) {
  constexpr std::string_view kRole = "{keyPath: '.metadata.labels[\"role\"]', value: worker}";
  struct Case {
    const char* what;
    const char* selector;
    const char* labels;
    const char* leaf;
  };
  const Case cases[] = {
      {"a key that is there, with an empty text", "{keyPath: '.metadata.labels[\"x/worker\"]'}", ", x/worker: ''",
       "; in worker"},
      {"a key that is missing", "{keyPath: '.metadata.labels[\"x/worker\"]'}", "", " default{0}"},
      {"one of two owners", "{keyPath: '.metadata.ownerReferences[].kind', value: PyFlow}", "", "; in worker"},
      {"none of two owners", "{keyPath: '.metadata.ownerReferences[].kind', value: Other}", "", " default{0}"},
      {"any of two owners", "{keyPath: '.metadata.ownerReferences[].kind'}", "", "; in worker"},
      {"an empty text that is asked for", "{keyPath: '.metadata.labels[\"x\"]', value: ''}", ", x: ''", "; in worker"},
      {"no value at all", "{keyPath: '.metadata.finalizers[]?'}", "", " default{0}"},
      {"an error", "{keyPath: '.metadata.name.x'}", "", " default{0}"},
  };
  for (const Case& test : cases) {
    std::string karta = PyFlowKarta("      podGroup: {name: t, subGroups: [{componentName: worker}]}\n");
    karta.replace(karta.find(kRole), kRole.size(), test.selector);
    std::string pod = PodAs("other", test.labels);
    pod.replace(pod.find("controller: true}\n"), 18,
                "controller: true}\n  - {apiVersion: v1, kind: ConfigMap, name: c, uid: u}\n");
    const std::string leaf = test.leaf;
    EXPECT_EQ(Objects(karta + PyFlow() + pod).Text(),
              fmt::format("pg-pyflow-f-t sub {}: worker{{2}}{}", leaf.starts_with(";") ? 1 : 2, leaf))
        << test.what;
  }
}

TEST(KartaTest, WithoutSubgroupsAllPodsCount) {
  constexpr std::string_view kOne = "      podGroup: {name: training}\n";
  EXPECT_EQ(Objects(PyFlowKarta(kOne) + PyFlow() + PodAs("worker")).Text(), "pg-pyflow-f-training 3");
  EXPECT_EQ(Objects(PyFlowKarta(kOne) + PyFlow("spec: {worker: {replicas: 4, min: 2}}\n") + PodAs("worker")).Text(),
            "pg-pyflow-f-training 3")
      << "1 master by default, and the least of the workers";
}

TEST(KartaTest, ALeastAboveTheReplicasIsLowered) {
  const Objects objects(PyFlowKarta("      podGroup: {name: training}\n") +
                        PyFlow("spec: {worker: {replicas: 4, min: 7}}\n") + PodAs("worker"));
  EXPECT_EQ(objects.Text(), "pg-pyflow-f-training 5");
  EXPECT_THAT(objects.Of().warnings, ElementsAre("PyFlow default/f: component worker: a minimum of 7 can never be met: "
                                                 "there are 4 at most"));
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

TEST(KartaTest, AKartaThatCannotGroupIsAnError) {
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

// In Karta's samples for MPI, PyTorch and Ray each pod of a group requests the same minimum (G60).
TEST(KartaTest, InTheOlderFormMembersOfOneKeyStartTogether) {
  const auto grouped = [](std::string_view master, std::string_view worker, std::string_view role) {
    return Objects(PyFlowKarta(fmt::format("      podGroups:\n      - name: job\n        members:\n"
                                           "        - {{componentName: master, {}}}\n"
                                           "        - {{componentName: worker, {}}}\n",
                                           master, worker)) +
                   PyFlow("spec: {worker: {replicas: 4}}\n") + PodAs(role, ", job-name: a, tier: b"))
        .Text();
  };
  constexpr std::string_view kByJob = "groupByKeyPaths: ['.metadata.labels[\"job-name\"]']";
  constexpr std::string_view kByTier = "groupByKeyPaths: ['.metadata.labels[\"tier\"]']";
  EXPECT_EQ(grouped(kByJob, kByJob, "master"), "pg-pyflow-f-a 5");
  EXPECT_EQ(grouped(kByJob, kByJob, "worker"), "pg-pyflow-f-a 5");
  EXPECT_EQ(grouped(kByJob, kByTier, "master"), "pg-pyflow-f-a 1");
  EXPECT_EQ(grouped(kByJob, kByTier, "worker"), "pg-pyflow-f-b 4");
  const std::string filtered = std::string(kByJob) + ", filters: ['true']";
  EXPECT_EQ(grouped(kByJob, filtered, "master"), "pg-pyflow-f-a 1") << "not all workers need be in the group";
  EXPECT_EQ(grouped(kByJob, filtered, "worker"), "pg-pyflow-f-a 4");
}

TEST(KartaTest, AMemberIsNotCountedBesideTheOneThatItBelongsTo) {
  const Objects objects(
      PyFlowKarta("      podGroups:\n"
                  "      - {name: job, members: [{componentName: pyflow}, {componentName: worker}]}\n") +
      PyFlow() + PodAs("worker") + PodAs("master"));
  EXPECT_EQ(objects.Text("worker"), "pg-pyflow-f 2");
  EXPECT_EQ(objects.Text("master"), "pg-pyflow-f 3");
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

TEST(KartaTest, InTheOlderFormAPodIsOfAComponentThatHasAPodTemplate) {
  std::string karta = PyFlowKarta(
      "      podGroups:\n"
      "      - {name: job, members: [{componentName: worker, groupByKeyPaths: ['.metadata.labels[\"role\"]']}]}\n");
  constexpr std::string_view kRoot = "      name: pyflow\n      kind:";
  karta.replace(karta.find(kRoot), kRoot.size(),
                "      name: pyflow\n      podSelector: {componentTypeSelector: {keyPath: .metadata.labels.role}}\n"
                "      kind:");
  EXPECT_EQ(Objects(karta + PyFlow() + PodAs("worker")).Text(), "pg-pyflow-f-worker 2");
  EXPECT_THAT(Objects(karta + PyFlow() + PodAs("other")).Text(), HasSubstr("Pod default/other is of no component"));
}

// Returns a Karta with the component `set`, which has instances, and with the text `more`, indented by four. Its pods
// are grouped by the label `set`.
std::string SetsKarta(std::string_view more = "") {
  return ObjectOf(
      "run.ai/v1alpha1", "Karta", "sets",
      fmt::format(
          "  labels: {{run.ai/karta-group: jobs.example.com, run.ai/karta-version: v1, run.ai/karta-kind: PyFlow}}\n"
          "spec:\n"
          "  structureDefinition:\n"
          "    rootComponent:\n"
          "      {{name: root, kind: {{group: jobs.example.com, version: v1, kind: PyFlow}}, statusDefinition: {{}}}}\n"
          "    childComponents:\n"
          "    - name: set\n"
          "      ownerRef: root\n"
          "      instanceIdPath: .spec.sets[].name\n"
          "      specDefinition: {{podTemplateSpecPath: '.spec.sets[].template'}}\n"
          "      scaleDefinition: {{replicasPath: '.spec.sets[].replicas // 1'}}\n"
          "      podSelector: {{componentInstanceSelector: {{idPath: '.metadata.labels[\"set\"]'}}}}\n"
          "{}"
          "  optimizationInstructions:\n"
          "    gangScheduling:\n"
          "      podGroups:\n"
          "      - {{name: g, members: [{{componentName: set, groupByKeyPaths: ['.metadata.labels[\"set\"]']}}]}}\n",
          more));
}

TEST(KartaTest, AnInstanceHasTheScaleOfItsOwn) {
  const std::string flow = PyFlow("spec: {sets: [{name: a, replicas: 3}, {name: b, replicas: 5}]}\n");
  const Objects objects(SetsKarta() + flow + PodAs("first", ", set: b") + PodAs("second", ", set: c"));
  EXPECT_EQ(objects.Text("first"), "pg-pyflow-f-b 5");
  EXPECT_THAT(objects.Text("second"), HasSubstr("component set has no instance 'c'"));
}

TEST(KartaTest, AnInstanceHasWhatBelongsToItAndAllOfItsName) {
  const std::string side =
      SetsKarta("    - {name: side, ownerRef: set, scaleDefinition: {replicasPath: .spec.side}}\n");
  EXPECT_EQ(Objects(side + PyFlow("spec: {side: 4, sets: [{name: a, replicas: 2}, {name: b, replicas: 3}]}\n") +
                    PodAs("p", ", set: a"))
                .Text(),
            "pg-pyflow-f-a 8")
      << "2 of the instance, each with 4";
  EXPECT_EQ(Objects(SetsKarta() + PyFlow("spec: {sets: [{name: a, replicas: 2}, {name: a, replicas: 3}]}\n") +
                    PodAs("p", ", set: a"))
                .Text(),
            "pg-pyflow-f-a 5")
      << "two instances of one name";
}

TEST(KartaTest, AScaleHasOneValueForEachInstance) {
  const auto worker = [](std::string_view path) {
    std::string karta = PyFlowKarta("      podGroup: {name: t}\n");
    karta.replace(karta.find(".spec.worker.replicas,"), 22, fmt::format("'{}',", path));
    return Objects(karta + PyFlow("spec: {groups: [{size: 1}, {size: 2}]}\n") + PodAs("worker")).Text();
  };
  EXPECT_EQ(worker(".spec.groups[0].size"), "pg-pyflow-f-t 2");
  EXPECT_THAT(worker(".spec.groups[].size"),
              HasSubstr("component worker: expression '.spec.groups[].size' yields 2 values for 1 instance"));
  EXPECT_THAT(worker(".spec.others[]?.size"),
              HasSubstr("component worker: expression '.spec.others[]?.size' yields 0 values for 1 instance"));
}

TEST(KartaTest, WithoutScalesEachPodTemplateCounts) {
  std::string karta = PyFlowKarta("      podGroup: {name: t}\n");
  for (size_t at = karta.find("      scaleDefinition"); at != std::string::npos;
       at = karta.find("      scaleDefinition")) {
    karta.erase(at, karta.find('\n', at) + 1 - at);
  }
  EXPECT_EQ(Objects(karta + PyFlow("spec: {}\n") + PodAs("worker")).Text(), "pg-pyflow-f-t 2");
  // A component above the others counts beside them, and a limit of replicas is no scale.
  constexpr std::string_view kRoot = "      name: pyflow\n";
  karta.replace(karta.find(kRoot), kRoot.size(),
                "      name: pyflow\n      specDefinition: {podSpecPath: .spec.pod}\n"
                "      scaleDefinition: {maxReplicasPath: .spec.most}\n");
  EXPECT_EQ(Objects(karta + PyFlow("spec: {}\n") + PodAs("worker")).Text(), "pg-pyflow-f-t 3");
}

// All expressions of a pod share one budget: each one alone is cheap.
TEST(KartaTest, APodThatTakesTooManyStepsHasNoGroup) {
  constexpr std::string_view kMaster = "    - name: master\n";
  const auto flow = [&](int components) {
    std::string children;
    for (int i = 0; i < components; ++i) {
      children += fmt::format(
          "    - {{name: c{}, ownerRef: pyflow, scaleDefinition: {{replicasPath: '(.spec.l[] == 9) // 1'}}}}\n", i);
    }
    std::string karta = PyFlowKarta("      podGroup: {name: t}\n");
    karta.insert(karta.find(kMaster), children);
    std::string list = "1";
    for (int i = 0; i < 1999; ++i) list += ", 1";
    return Objects(karta + PyFlow(fmt::format("spec: {{worker: {{replicas: 2}}, l: [{}]}}\n", list)) + PodAs("worker"));
  };
  EXPECT_EQ(flow(3).Text(), "pg-pyflow-f-t 6");
  const auto grouped = flow(90).Group();
  EXPECT_TRUE(absl::IsResourceExhausted(grouped.status())) << grouped.status();
  EXPECT_EQ(
      flow(90).Text(),
      "error: PyFlow default/f: Karta pyflow: its expressions take more than 200000 steps for Pod default/worker");
}

// A selector that fails selects nothing, unless the steps have run out.
TEST(KartaTest, APodWhoseSelectorTakesTooManyStepsHasNoGroup) {
  std::string karta = PyFlowKarta("      podGroup: {name: t, subGroups: [{componentName: worker}]}\n");
  constexpr std::string_view kRole = "'.metadata.labels[\"role\"]', value: worker";
  karta.replace(karta.find(kRole), kRole.size(),
                "'.metadata.ownerReferences[] and (.metadata.ownerReferences[] and (.metadata.ownerReferences[] and "
                ".metadata.ownerReferences[].name.x?))'");
  std::string pod = PodAs("worker");
  for (int i = 0; i < 70; ++i) {
    pod.replace(pod.find("controller: true}\n"), 18,
                fmt::format("controller: true}}\n  - {{apiVersion: v1, kind: ConfigMap, name: c{}, uid: u}}\n", i));
  }
  EXPECT_THAT(Objects(karta + PyFlow() + pod).Text(), HasSubstr("its expressions take more than 200000 steps"));
}

TEST(KartaTest, AKindWithoutAKartaHasTheDefaultRule) {
  const std::string pod = PodOf("p", "example.com/v1", "Foo", "foo");
  const Objects objects(PyFlowKarta(kTraining) + ObjectOf("example.com/v1", "Foo", "foo") + pod);
  EXPECT_EQ(objects.Text(), "pg-foo-foo-foo 1");
  EXPECT_FALSE(objects.Group()->is_makeshift());
}

// Kartas that do not count, for which the default rule is used.
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
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string karta = PyFlowKarta(kTraining);
    karta.replace(karta.find(from), from.size(), to);
    return karta;
  };
  const auto core = [&changed](std::string_view label, std::string_view kind) {
    std::string karta = changed("run.ai/karta-group: jobs.example.com", "run.ai/karta-group: ''");
    karta.replace(karta.find("run.ai/karta-kind: PyFlow"), 25, label);
    return karta.replace(karta.find("group: jobs.example.com, version: v1, kind: PyFlow"), 50, kind);
  };
  constexpr std::string_view kMaster = "    - name: master\n";
  constexpr std::string_view kGhost =
      "      podGroups:\n      - {name: job, members: [{componentName: worker}, {componentName: ghost}]}\n";
  std::string large = PyFlowKarta(kTraining);
  std::string children;
  for (int i = 0; i < 100; ++i) children += fmt::format("    - {{name: c{}, ownerRef: pyflow}}\n", i);
  large.insert(large.find("    - name: master"), children);
  const struct {
    const char* what;
    std::string kartas;
    const char* problem;  // Empty if the result is as without Kartas.
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
      {"instances that no pod can say to be of",
       changed(kMaster, "    - name: master\n      instanceIdPath: .spec.x\n"),
       "component master: instanceIdPath needs podSelector.componentInstanceSelector"},
      {"instances that the workload has no names of",
       changed("podSelector: {component",
               "podSelector: {componentInstanceSelector: {idPath: .metadata.name}, component"),
       "component master: podSelector.componentInstanceSelector needs instanceIdPath"},
      {"two pod specs of one component",
       changed("{podTemplateSpecPath: .spec.master.template}",
               "{podTemplateSpecPath: .spec.master.template, podSpecPath: .spec.x}"),
       "specDefinition: there may be one of podTemplateSpecPath, podSpecPath, fragmentedPodSpecDefinition"},
      {"an owner of the root", changed("      name: pyflow\n", "      name: pyflow\n      ownerRef: worker\n"),
       "rootComponent.ownerRef: the root has none"},
      {"a member that is no component", PyFlowKarta(kGhost), "members[1].componentName: there is no component 'ghost'"},
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
  const Objects beside_a_broken(changed(kMaster, "    - name: master\n      instanceIdPath: .spec.x\n") +
                                PyFlowKarta(kTraining, "second") + PyFlow() + PodAs("worker"));
  EXPECT_THAT(beside_a_broken.Text(), HasSubstr("pg-pyflow-f-training")) << "a broken one takes no gang away";
  // The core group has no name: only its kind Pod may be a workload.
  const Objects of_core(core("run.ai/karta-kind: Foo", "group: '', version: v1, kind: Foo") +
                        ObjectOf("v1", "Foo", "f") + PodOf("p", "v1", "Foo", "f"));
  EXPECT_EQ(of_core.Text(), "pg-f-foo-f 1");
  EXPECT_THAT(of_core.Of().warnings,
              ElementsAre(HasSubstr("rootComponent.kind: group, version and kind are required")));
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
