#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kApi = "grove.io/v1alpha1";

// Returns a set of pods of the PodGang; `pods` are the names of its pods.
std::string SetOf(std::string_view name, int least, std::string_view pods = "", std::string_view more = "") {
  std::string references;
  if (!pods.empty()) references = fmt::format("{{namespace: default, name: {}}}", pods);
  return fmt::format("{{name: {}, minReplicas: {}, podReferences: [{}]{}}}", name, least, references, more);
}
std::string Sets() { return SetOf("a", 2, "p") + ", " + SetOf("b", 3) + ", " + SetOf("c", 1); }
std::string Config(std::string_view name, std::string_view sets, std::string_view more = "") {
  return fmt::format("{{name: {}, podGroupNames: [{}]{}}}", name, sets, more);
}
std::string Constraint(std::string_view levels) {
  return fmt::format(", topologyConstraint: {{packConstraint: {{{}}}}}", levels);
}

// Texts of a pod of a PodCliqueSet and its PodGang: lines of metadata, and members of the PodGang's spec.
struct Shape {
  std::string sets = Sets();
  std::string configs = "";
  std::string spec = "";
  std::string gang = "";
  std::string top = "";
  std::string pod = "";
  std::string labels = "grove.io/podgang: g";
  bool has_lists = true;  // Writes sets and configs; if false, `spec` has everything.
};

std::string Manifests(const Shape& shape, std::string_view kind = "PodCliqueSet") {
  return PodOf("p", kApi, "PodClique", "c", fmt::format("  labels: {{{}}}\n{}", shape.labels, shape.pod)) +
         ObjectOf(kApi, "PodClique", "c", OwnedBy(kApi, kind, "s")) + ObjectOf(kApi, kind, "s", shape.top) +
         ObjectOf("scheduler.grove.io/v1alpha1", "PodGang", "g",
                  fmt::format("{}spec: {{{}{}}}\n", shape.gang,
                              shape.has_lists ? fmt::format("podgroups: [{}], topologyConstraintGroupConfigs: [{}]",
                                                            shape.sets, shape.configs)
                                              : "x: y",
                              shape.spec));
}
std::string Text(const Shape& shape) { return Objects(Manifests(shape)).Text(); }
Grouping Of(const Shape& shape) { return Objects(Manifests(shape)).Of(); }

TEST(GroveTest, SubgroupsAreTheConfigsAndTheSetsOfPods) {
  struct Case {
    const char* what;
    std::string sets;
    std::string configs;
    const char* expected;
  };
  const Case cases[] = {
      {"one set", SetOf("a", 2, "p"), "", "2: a{2}; in a"},
      {"no sets", "", "", "0"},
      {"sets without configs", Sets(), "", "6: a{2} b{3} c{1}; in a"},
      {"a config", Sets(), Config("g1", "a, b"), "6: g1{sub 2} a{g1, 2} b{g1, 3} c{1}; in a"},
      {"a config of a set that is missing (G45)", Sets(), Config("g1", "a, x"),
       "6: g1{sub 1} a{g1, 2} b{3} c{1}; in a"},
      {"a config of missing sets alone (G45)", Sets(), Config("g1", "x"), "6: a{2} b{3} c{1}; in a"},
      {"the last config has the set (G45)", Sets(), Config("g1", "a, b") + ", " + Config("g2", "b"),
       "6: g1{sub 1} g2{sub 1} a{g1, 2} b{g2, 3} c{1}; in a"},
      {"a config whose sets all others have (G45)", Sets(), Config("g1", "a") + ", " + Config("g2", "a, c"),
       "6: g2{sub 2} a{g2, 2} b{3} c{g2, 1}; in a"},
      {"a config of no sets", Sets(), Config("g1", "") + ", {name: g2}", "6: a{2} b{3} c{1}; in a"},
      {"a pod that is not referenced yet (G43)", SetOf("a", 2, "q"), "", "2: a{2} default{0}"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Text({.sets = test.sets, .configs = test.configs}), std::string("pg-g-podgang-g ") + test.expected)
        << test.what;
  }
}

TEST(GroveTest, TheGroupIsThePodGangsAlsoUnderTheOldNameOfTheKind) {
  for (const char* const kind : {"PodCliqueSet", "PodGangSet"}) {
    const Objects objects(Manifests({}, kind));
    EXPECT_EQ(objects.Text(), "pg-g-podgang-g 6: a{2} b{3} c{1}; in a");
    EXPECT_EQ(objects.Of().owner, (GroupOwner{"scheduler.grove.io/v1alpha1", "PodGang", "g", "podgang-g"}));
    EXPECT_EQ(objects.Of().priority_class, "train");
  }
}

TEST(GroveTest, APodGangThatIsNoneIsAnError) {
  struct Case {
    const char* what;
    Shape shape;
    const char* expected;  // A part of the error.
  };
  const Case cases[] = {
      {"a pod without the label", {.labels = "a: b"}, "Pod default/p: label grove.io/podgang"},
      {"a gang that is missing", {.labels = "grove.io/podgang: gone"}, "PodGang default/gone"},
      {"a set without a name", {.sets = "{minReplicas: 1, podReferences: []}"}, "spec.podgroups[0].name"},
      {"a set without a least", {.sets = "{name: a, podReferences: []}"}, "spec.podgroups[0].minReplicas"},
      {"a least of 0", {.sets = SetOf("a", 0)}, "spec.podgroups[0].minReplicas"},
      {"a set without references", {.sets = "{name: a, minReplicas: 1}"}, "spec.podgroups[0].podReferences"},
      {"a reference without a name",
       {.sets = "{name: a, minReplicas: 1, podReferences: [{namespace: default}]}"},
       "spec.podgroups[0].podReferences"},
      {"a reference without a namespace",
       {.sets = "{name: a, minReplicas: 1, podReferences: [{name: p}]}"},
       "spec.podgroups[0].podReferences"},
      {"a pod of another namespace",
       {.sets = SetOf("a", 1) + ", {name: b, minReplicas: 1, podReferences: [{namespace: other, name: p}]}"},
       "spec.podgroups[1].podReferences"},
      {"a config without a name", {.configs = "{podGroupNames: [a]}"}, "spec.topologyConstraintGroupConfigs[0].name"},
      {"a constraint of the gang without a topology", {.spec = Constraint("required: rack")}, "grove.io/topology-name"},
      {"a constraint of a set without a topology",
       {.sets = SetOf("a", 1, "p", Constraint("preferred: rack"))},
       "spec.podgroups[0]"},
      {"a constraint of a config without a topology",
       {.configs = Config("g1", "a", Constraint("required: rack"))},
       "spec.topologyConstraintGroupConfigs[0]"},
      {"two sets of one name", {.sets = SetOf("a", 1, "p") + ", " + SetOf("a", 1)}, "PodGang g"},
      {"sets that are no list", {.spec = ", podgroups: {x: 1}", .has_lists = false}, "spec.podgroups: must be a list"},
      {"configs that are no list",
       {.spec = ", topologyConstraintGroupConfigs: 7", .has_lists = false},
       "spec.topologyConstraintGroupConfigs: must be a list"},
      {"names of sets that are no list",
       {.configs = "{name: g1, podGroupNames: a}"},
       "spec.topologyConstraintGroupConfigs[0].podGroupNames: must be a list of texts"},
      {"a name of a set that is no text",
       {.configs = "{name: g1, podGroupNames: [a, 7]}"},
       "spec.topologyConstraintGroupConfigs[0].podGroupNames: must be a list of texts"},
      {"a preemptibility of the owner that is none",
       {.top = "  labels: {kai.scheduler/preemptibility: never}\n"},
       "kai.scheduler/preemptibility"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(Text(test.shape), AllOf(HasSubstr("error: "), HasSubstr(test.expected))) << test.what;
  }
}

TEST(GroveTest, ConstraintsNameLevelsOfTheGangsTopology) {
  const std::string named = "  annotations: {grove.io/topology-name: t, kai.scheduler/topology: k}\n";
  Shape shape{.sets = SetOf("a", 2, "p", Constraint("preferred: host")) + ", " + SetOf("b", 1),
              .configs = Config("g1", "a", Constraint("required: rack, preferred: host")),
              .spec = Constraint("required: zone"),
              .gang = named};
  EXPECT_EQ(Text(shape), "pg-g-podgang-g 3 @t/zone/: g1{sub 1 @t/rack/host} a{g1, 2 @t//host} b{1}; in a");
  shape.gang = "  annotations: {kai.scheduler/topology: k}\n";
  EXPECT_EQ(Text(shape), "pg-g-podgang-g 3 @k/zone/: g1{sub 1 @k/rack/host} a{g1, 2 @k//host} b{1}; in a");
}

// An empty text counts as missing (G54): that of a level, and of the name of a topology or a class.
TEST(GroveTest, AnEmptyTextSaysNothing) {
  Shape shape{.sets = SetOf("a", 1, "p"),
              .spec = Constraint("required: rack") + ", priorityClassName: ''",
              .gang = "  annotations: {grove.io/topology-name: '', kai.scheduler/topology: kt}\n"};
  EXPECT_EQ(Text(shape), "pg-g-podgang-g 1 @kt/rack/: a{1}; in a");
  EXPECT_EQ(Of(shape).priority_class, "train");
  shape.spec = Constraint("required: ''");
  shape.gang = "";
  EXPECT_EQ(Text(shape), "pg-g-podgang-g 1: a{1}; in a");
}

TEST(GroveTest, AnnotationsFillWhatTheTopologyOfTheGroupLacks) {
  const std::string top =
      "  annotations: {kai.scheduler/topology: u, kai.scheduler/topology-required-placement: region,\n"
      "    kai.scheduler/topology-preferred-placement: rack}\n";
  const std::string set = SetOf("a", 1, "p");
  EXPECT_EQ(Text({.sets = set, .top = top}), "pg-g-podgang-g 1 @u/region/rack: a{1}; in a");
  EXPECT_EQ(Text({.sets = set,
                  .spec = Constraint("required: zone"),
                  .gang = "  annotations: {grove.io/topology-name: t}\n",
                  .top = top}),
            "pg-g-podgang-g 1 @t/zone/rack: a{1}; in a");
  EXPECT_EQ(Text({.sets = set, .gang = "  annotations: {kai.scheduler/topology: v}\n", .top = top}),
            "pg-g-podgang-g 1 @v/region/rack: a{1}; in a");
}

TEST(GroveTest, FieldsThatTheGangLacksAreTheTopOwners) {
  struct Case {
    const char* what;
    Shape shape;
    const char* queue;
    const char* priority;
    const char* preemptibility;
  };
  const std::string all =
      "  labels: {kai.scheduler/queue: q, priorityClassName: unchecked, kai.scheduler/preemptibility: preemptible}\n";
  const Case cases[] = {
      {"nobody says", {}, "default-queue", "train", ""},
      {"the top owner (G15)", {.top = all}, "q", "unchecked", "preemptible"},
      {"the gang",
       {.gang = "  labels: {kai.scheduler/queue: g, priorityClassName: build}\n", .top = all},
       "g",
       "build",
       "preemptible"},
      {"the top owner beats the pod (G15)",
       {.top = all, .labels = "grove.io/podgang: g, kai.scheduler/queue: p, priorityClassName: build"},
       "q",
       "unchecked",
       "preemptible"},
      {"the pod",
       {.labels = "grove.io/podgang: g, kai.scheduler/queue: p, priorityClassName: build"},
       "p",
       "build",
       ""},
      {"a project of the top owner (G15)", {.top = "  labels: {project: vision}\n"}, "vision", "train", ""},
      {"an empty project of the top owner",
       {.top = "  labels: {project: ''}\n", .labels = "grove.io/podgang: g, project: pp"},
       "default-queue",
       "train",
       ""},
      {"the pod's queue before that",
       {.top = "  labels: {project: vision}\n", .labels = "grove.io/podgang: g, kai.scheduler/queue: p"},
       "p",
       "train",
       ""},
      {"the gang's spec", {.spec = ", priorityClassName: of-spec"}, "default-queue", "of-spec", ""},
      {"a label beats the gang's spec",
       {.spec = ", priorityClassName: of-spec", .top = all},
       "q",
       "unchecked",
       "preemptible"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    const Grouping grouping = Of(test.shape);
    EXPECT_EQ(grouping.queue, test.queue);
    EXPECT_EQ(grouping.priority_class, test.priority);
    EXPECT_EQ(grouping.preemptibility, test.preemptibility);
    const bool exists = grouping.priority_class != "unchecked" && grouping.priority_class != "of-spec";
    EXPECT_EQ(grouping.warnings.size(), exists ? 0U : 1U) << "of the class that does not exist";
  }
}

TEST(GroveTest, LabelsAndAnnotationsOfTheTopOwnerAreAddedWhereTheyAreMissing) {
  const Grouping grouping = Of({.gang = "  labels: {a: gang}\n  annotations: {b: gang}\n",
                                .top = "  labels: {a: top, c: top}\n  annotations: {b: top, d: top, "
                                       "kubectl.kubernetes.io/last-applied-configuration: \"{}\"}\n"});
  EXPECT_EQ(grouping.labels, (std::map<std::string, std::string>{{"a", "gang"}, {"c", "top"}}));
  EXPECT_EQ(grouping.annotations.at("b"), "gang");
  EXPECT_EQ(grouping.annotations.at("d"), "top");
  EXPECT_FALSE(grouping.annotations.contains("kubectl.kubernetes.io/last-applied-configuration"));
  EXPECT_EQ(grouping.annotations.at("kai.scheduler/top-owner-metadata"),
            "name: g\nuid: podgang-g\ngroup: scheduler.grove.io\nversion: v1alpha1\nkind: PodGang\n");
}

TEST(GroveTest, DelayAndGracePeriodAreTheGangsThenTheTopOwnersThenThePods) {
  struct Case {
    const char* gang;  // Values of the annotation; null if there is none.
    const char* top;
    const char* pod;
    const char* delay;
    const char* grace;
  };
  const Case cases[] = {
      {nullptr, nullptr, nullptr, "", ""},      {nullptr, "5m", "30s", "5m0s", "5m0s"},
      {nullptr, "abc", "30s", "30s", "30s"},    {"1m", "5m", nullptr, "1m0s", "1m0s"},
      {nullptr, "5m", nullptr, "5m0s", "5m0s"},  // G46
      {nullptr, nullptr, "30s", "30s", "30s"},  {nullptr, "-5m", "30s", "30s", "-5m0s"},
  };
  for (const Case& test : cases) {
    const auto shape = [&test](std::string_view key) {
      const auto annotation = [key](const char* value) {
        return value == nullptr ? std::string() : fmt::format("  annotations: {{{}: \"{}\"}}\n", key, value);
      };
      return Shape{.gang = annotation(test.gang), .top = annotation(test.top), .pod = annotation(test.pod)};
    };
    EXPECT_EQ(Of(shape("kai.scheduler/preemption-delay")).preemption_delay, test.delay);
    EXPECT_EQ(Of(shape("kai.scheduler/staleness-grace-period")).staleness_grace_period, test.grace);
  }
}

}  // namespace
}  // namespace basalt::pgsvc::testing
