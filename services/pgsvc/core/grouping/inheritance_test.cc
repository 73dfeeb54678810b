#include "services/pgsvc/core/grouping/inheritance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kBarePod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u1}\n";

// Pod p of StatefulSet s, each with further lines of its metadata.
std::string OfStatefulSet(std::string_view pod, std::string_view set) {
  return PodOf("p", "apps/v1", "StatefulSet", "s", pod) + ObjectOf("apps/v1", "StatefulSet", "s", set);
}

// Pod p of ReplicaSet r of Foo f, which no rule knows.
std::string OfChain(std::string_view pod, std::string_view lower, std::string_view upper) {
  return PodOf("p", "apps/v1", "ReplicaSet", "r", pod) +
         ObjectOf("apps/v1", "ReplicaSet", "r", OwnedBy("example.com/v1", "Foo", "f") + std::string(lower)) +
         ObjectOf("example.com/v1", "Foo", "f", upper);
}

std::string Label(std::string_view key, std::string_view value) {
  return fmt::format("  labels: {{{}: \"{}\"}}\n", key, value);
}
std::string Annotation(std::string_view key, std::string_view value) {
  return fmt::format("  annotations: {{{}: \"{}\"}}\n", key, value);
}

TEST(InheritanceTest, ABarePodIsAGroupOfItsOwn) {
  const Objects objects(kBarePod);
  EXPECT_EQ(objects.Text(), "pg-p-u1 1");
  const Grouping grouping = objects.Of();
  EXPECT_EQ(grouping.ns, "default");
  EXPECT_EQ(grouping.owner, (GroupOwner{"v1", "Pod", "p", "u1"}));
  EXPECT_EQ(grouping.priority_class, "train");
  EXPECT_EQ(grouping.queue, "default-queue");
  EXPECT_EQ(grouping.preemptibility, "");
  EXPECT_EQ(grouping.preemption_delay, "");
  EXPECT_EQ(grouping.staleness_grace_period, "");
  EXPECT_THAT(grouping.labels, IsEmpty());
  EXPECT_THAT(grouping.warnings, IsEmpty());
  EXPECT_THAT(grouping.annotations, ElementsAre(Pair("kai.scheduler/top-owner-metadata",
                                                     "name: p\nuid: u1\ngroup: \"\"\nversion: v1\nkind: Pod\n")));
}

TEST(InheritanceTest, TheTopOwnerIsWrittenAsFiveLinesWithQuotesWhereYamlWouldReadAnotherType) {
  struct Case {
    const char* name;
    const char* uid;
    const char* expected;
  };
  const Case cases[] = {
      {"f", "1", "name: f\nuid: \"1\"\n"},
      {"f", "12345678-90ab-4cde-8f01-234567890abc", "name: f\nuid: 12345678-90ab-4cde-8f01-234567890abc\n"},
      {"f", "00000000-0000-0000-0000-000000000000", "name: f\nuid: 00000000-0000-0000-0000-000000000000\n"},
      {"123", "u", "name: \"123\"\nuid: u\n"},
      {"12-3", "u", "name: 12-3\nuid: u\n"},
      {"1.5", "u", "name: \"1.5\"\nuid: u\n"},
      {"1.5.1", "u", "name: 1.5.1\nuid: u\n"},
      {"1e5", "u", "name: \"1e5\"\nuid: u\n"},
      {"1e-5", "u", "name: \"1e-5\"\nuid: u\n"},
      {"e5", "u", "name: e5\nuid: u\n"},
      {"0x1f", "u", "name: \"0x1f\"\nuid: u\n"},
      {"0x1g", "u", "name: 0x1g\nuid: u\n"},
      {"0b1", "u", "name: \"0b1\"\nuid: u\n"},
      {"true", "u", "name: \"true\"\nuid: u\n"},
      {"no", "u", "name: \"no\"\nuid: u\n"},
      {"null", "u", "name: \"null\"\nuid: u\n"},
      {"2024-01-31", "u", "name: \"2024-01-31\"\nuid: u\n"},
      {"nobody", "truth", "name: nobody\nuid: truth\n"},
  };
  for (const Case& test : cases) {
    const std::string manifest = fmt::format(
        "apiVersion: example.com/v2\nkind: Foo\nmetadata: {{name: \"{}\", uid: \"{}\"}}\n", test.name, test.uid);
    const auto documents = ParseYamlDocuments(manifest);
    ASSERT_TRUE(documents.ok()) << documents.status();
    EXPECT_EQ(TopOwnerText(ObjectView(documents->front())),
              std::string(test.expected) + "group: example.com\nversion: v2\nkind: Foo\n");
  }
}

TEST(InheritanceTest, LabelsAndAnnotationsAreThoseOfTheTopOwnerAndTheUserOfThePod) {
  struct Case {
    const char* what;
    std::string pod;
    std::string set;
    std::map<std::string, std::string> labels;
    std::map<std::string, std::string> annotations;
  };
  const Case cases[] = {
      {"neither has any", "", "", {}, {}},
      {"the pod's others stay with the pod", "  labels: {a: b}\n  annotations: {c: d}\n", "", {}, {}},
      {"the user of the pod",
       "  labels: {user: u}\n  annotations: {user: v}\n",
       "  labels: {a: b}\n  annotations: {c: d}\n",
       {{"a", "b"}, {"user", "u"}},
       {{"c", "d"}, {"user", "v"}}},
      {"the user of the owner beats the pod's",
       "  labels: {user: u}\n  annotations: {user: v}\n",
       "  labels: {user: U}\n  annotations: {user: V}\n",
       {{"user", "U"}},
       {{"user", "V"}}},
      {"what kubectl keeps there is left out (G17)",
       "",
       "  annotations: {kubectl.kubernetes.io/last-applied-configuration: \"{}\", c: d}\n",
       {},
       {{"c", "d"}}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Grouping grouping = Objects(OfStatefulSet(test.pod, test.set)).Of();
    EXPECT_EQ(grouping.labels, test.labels);
    EXPECT_EQ(grouping.annotations.erase("kai.scheduler/top-owner-metadata"), 1U);
    EXPECT_EQ(grouping.annotations, test.annotations);
  }
}

TEST(InheritanceTest, AnAnnotationOfTheOwnerOverwritesTheTextOfTheTopOwner) {
  const Objects objects(OfStatefulSet("", Annotation("kai.scheduler/top-owner-metadata", "mine")));
  EXPECT_THAT(objects.Of().annotations, ElementsAre(Pair("kai.scheduler/top-owner-metadata", "mine")));
}

TEST(InheritanceTest, TheQueueIsThatOfTheOwnerThenOfThePodThenOfTheProject) {
  struct Case {
    const char* what;
    const char* pod;
    const char* set;
    const char* expected;
  };
  const Case cases[] = {
      {"nobody names one", "", "", "default-queue"},
      {"the owner", "", "  labels: {kai.scheduler/queue: o}\n", "o"},
      {"the pod", "  labels: {kai.scheduler/queue: p}\n", "", "p"},
      {"both", "  labels: {kai.scheduler/queue: p}\n", "  labels: {kai.scheduler/queue: o}\n", "o"},
      {"a queue of the pod beats a project of the owner", "  labels: {kai.scheduler/queue: p}\n",
       "  labels: {project: x}\n", "p"},
      {"project of the owner", "", "  labels: {project: x}\n", "x"},
      {"project of the pod", "  labels: {project: of-pod}\n", "", "of-pod"},
      {"projects of both", "  labels: {project: of-pod}\n", "  labels: {project: x}\n", "x"},
      {"project and node pool", "  labels: {kai.scheduler/node-pool: np}\n", "  labels: {project: x}\n", "x-np"},
      {"a node pool of the owner does not count", "", "  labels: {project: x, kai.scheduler/node-pool: np}\n", "x"},
      {"an empty project is none", "", "  labels: {project: \"\"}\n", "default-queue"},
      {"an empty project of the owner beats the pod's", "  labels: {project: pp, kai.scheduler/node-pool: n}\n",
       "  labels: {project: \"\"}\n", "default-queue"},
      {"an annotation is no label", "", "  annotations: {kai.scheduler/queue: o}\n", "default-queue"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Objects(OfStatefulSet(test.pod, test.set)).Of().queue, test.expected) << test.what;
  }
}

TEST(InheritanceTest, AQueueThatIsNamedByAnAnnotationIsWarnedOf) {
  const auto warnings = [](const char* pod, const char* set) { return Objects(OfStatefulSet(pod, set)).Of().warnings; };
  EXPECT_THAT(warnings("", "  annotations: {kai.scheduler/queue: o}\n"),
              ElementsAre("StatefulSet default/s: annotation kai.scheduler/queue is not read, but a label of that name "
                          "is: the queue is default-queue"));
  EXPECT_THAT(warnings("  annotations: {kai.scheduler/queue: o}\n", "  labels: {kai.scheduler/queue: q}\n"),
              ElementsAre(HasSubstr("Pod default/p: annotation kai.scheduler/queue is not read")));
  EXPECT_THAT(warnings("  annotations: {kai.scheduler/queue: q}\n", "  labels: {kai.scheduler/queue: q}\n"), IsEmpty());
}

TEST(InheritanceTest, KeysOfLabelsAreThoseOfTheOptions) {
  Objects objects(OfStatefulSet("  labels: {pool: np, kai.scheduler/node-pool: m}\n",
                                "  labels: {runai/queue: o, kai.scheduler/queue: q, project: x}\n"));
  objects.options.queue_label = "runai/queue";
  objects.options.node_pool_label = "pool";
  EXPECT_EQ(objects.Of().queue, "o");
  EXPECT_EQ(objects.Of().labels["pool"], "np");
  objects.options.queue_label = "team/queue";
  EXPECT_EQ(objects.Of().queue, "x-np");
  objects.options.node_pool_label = "";
  EXPECT_EQ(objects.Of().queue, "x");
  EXPECT_FALSE(objects.Of().labels.contains("pool"));
}

TEST(InheritanceTest, TheNodePoolOfThePodIsAddedWhereTheOwnerNamesNone) {
  struct Case {
    const char* what;
    const char* pod;
    const char* set;
    std::map<std::string, std::string> expected;
  };
  const Case cases[] = {
      {"nobody names one", "", "", {}},
      {"the pod", "  labels: {kai.scheduler/node-pool: np}\n", "", {{"kai.scheduler/node-pool", "np"}}},
      {"both",
       "  labels: {kai.scheduler/node-pool: np}\n",
       "  labels: {kai.scheduler/node-pool: o}\n",
       {{"kai.scheduler/node-pool", "o"}}},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Objects(OfStatefulSet(test.pod, test.set)).Of().labels, test.expected) << test.what;
  }
}

TEST(InheritanceTest, ThePriorityIsTheFirstThatExistsFromTheDirectOwnerUp) {
  struct Case {
    const char* what;
    std::string pod;
    std::string lower;
    std::string upper;
    std::map<std::string, KindDefaults, std::less<>> defaults;
    const char* expected;
  };
  const std::string own = Label("priorityClassName", "build");
  const std::string other = Label("priorityClassName", "inference");
  const std::string missing = Label("priorityClassName", "missing");
  const Case cases[] = {
      {"nobody names one", "", "", "", {}, "train"},
      {"the direct owner", "", own, other, {}, "build"},
      {"the upper owner", "", "", other, {}, "inference"},
      {"the direct owner beats the pod", other, own, "", {}, "build"},
      {"the pod beats the upper owner", own, "", other, {}, "build"},
      {"the pod's spec beats the upper owner", "spec: {priorityClassName: build}\n", "", other, {}, "build"},
      {"the pod's label beats its spec", own + "spec: {priorityClassName: inference}\n", "", "", {}, "build"},
      {"a class of the pod that does not exist is passed over with its spec",
       missing + "spec: {priorityClassName: build}\n",
       "",
       other,
       {},
       "inference"},
      {"a class of the direct owner that does not exist hides the pod's, but not from the upper owner",
       own,
       missing,
       "",
       {},
       "build"},
      {"a class of a cluster's own", Label("priorityClassName", "own"), "", "", {}, "own"},
      {"only classes that do not exist", missing, missing, missing, {}, "train"},
      {"default by kind and group beats that by kind",
       "",
       "",
       "",
       {{"ReplicaSet.apps", {"build", ""}}, {"ReplicaSet", {"inference", ""}}},
       "build"},
      {"default by kind", "", "", "", {{"ReplicaSet", {"inference", ""}}}, "inference"},
      {"default of the direct owner's kind comes first",
       "",
       "",
       "",
       {{"ReplicaSet", {"inference", ""}}, {"Foo.example.com", {"build", ""}}},
       "inference"},
      {"default of the upper owner's kind, as the direct owner's names no class that exists",
       "",
       "",
       "",
       {{"ReplicaSet", {"missing", ""}}, {"Foo.example.com", {"build", ""}}},
       "build"},
      {"default of another group's kind", "", "", "", {{"ReplicaSet.example.com", {"build", ""}}}, "train"},
      {"a label beats a default", "", "", other, {{"ReplicaSet", {"build", ""}}}, "inference"},
      {"default after labels of missing classes", missing, "", "", {{"Foo", {"build", ""}}}, "build"},
  };
  for (const Case& test : cases) {
    Objects objects(OfChain(test.pod, test.lower, test.upper) +
                    "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: own}\n");
    objects.options.kind_defaults = test.defaults;
    EXPECT_EQ(objects.Of().priority_class, test.expected) << test.what;
  }
}

TEST(InheritanceTest, APriorityClassThatDoesNotExistIsWarnedOf) {
  const Grouping grouping = Objects(OfStatefulSet("", Label("priorityClassName", "missing"))).Of();
  EXPECT_THAT(grouping.warnings, ElementsAre(HasSubstr("missing")));
  EXPECT_THAT(grouping.warnings, ElementsAre(HasSubstr("StatefulSet default/s")));
}

TEST(InheritanceTest, ThePreemptibilityIsTheFirstThatIsValidFromTheDirectOwnerUpThenThePods) {
  struct Case {
    const char* what;
    const char* pod;  // Values of the label; null if there is none.
    const char* lower;
    const char* upper;
    std::map<std::string, KindDefaults, std::less<>> defaults;
    const char* expected;
  };
  const Case cases[] = {
      {"nobody says", nullptr, nullptr, nullptr, {}, ""},
      {"the direct owner", "preemptible", "non-preemptible", "preemptible", {}, "non-preemptible"},
      {"the upper owner beats the pod", "preemptible", nullptr, "non-preemptible", {}, "non-preemptible"},
      {"the pod", "preemptible", nullptr, nullptr, {}, "preemptible"},
      {"an invalid one is passed over", "preemptible", "never", nullptr, {}, "preemptible"},
      {"capitals are invalid on an object", nullptr, "Preemptible", nullptr, {}, ""},
      {"invalid everywhere", "a", "b", "c", {}, ""},
      {"an empty one ends the search", "preemptible", "", "preemptible", {{"ReplicaSet", {"", "preemptible"}}}, ""},
      {"default of the kind", nullptr, nullptr, nullptr, {{"ReplicaSet", {"", "preemptible"}}}, "preemptible"},
      {"a default is read in lower case",
       nullptr,
       nullptr,
       nullptr,
       {{"Foo.example.com", {"", "Non-Preemptible"}}},
       "non-preemptible"},
      {"an invalid default is passed over",
       nullptr,
       nullptr,
       nullptr,
       {{"ReplicaSet", {"", "x"}}, {"Foo", {"", "preemptible"}}},
       "preemptible"},
      {"an invalid label, then the default", "x", nullptr, nullptr, {{"Foo", {"", "preemptible"}}}, "preemptible"},
      {"the pod beats a default",
       "non-preemptible",
       nullptr,
       nullptr,
       {{"Foo", {"", "preemptible"}}},
       "non-preemptible"},
  };
  const auto label = [](const char* value) {
    return value == nullptr ? std::string() : Label("kai.scheduler/preemptibility", value);
  };
  for (const Case& test : cases) {
    Objects objects(OfChain(label(test.pod), label(test.lower), label(test.upper)));
    objects.options.kind_defaults = test.defaults;
    EXPECT_EQ(objects.Of().preemptibility, test.expected) << test.what;
  }
}

TEST(InheritanceTest, DelayAndGracePeriodAreTheFirstValidDurationOfOwnerAndPod) {
  struct Case {
    const char* pod;  // Values of the annotation; null if there is none.
    const char* set;
    const char* delay;
    const char* grace;
  };
  const Case cases[] = {
      {nullptr, nullptr, "", ""},
      {"90s", nullptr, "1m30s", "1m30s"},
      {"5m", "1h", "1h0m0s", "1h0m0s"},
      {"30s", "abc", "30s", "30s"},
      {"5", nullptr, "", ""},
      {"10", nullptr, "", ""},
      {"abc", nullptr, "", ""},
      {"", nullptr, "", ""},
      {"0s", nullptr, "0s", "0s"},
      {"0", nullptr, "0s", "0s"},
      {"-3m", nullptr, "", "-3m0s"},
      {"-10s", nullptr, "", "-10s"},
      {"1m", "-10s", "1m0s", "-10s"},
      {"1h30m", nullptr, "1h30m0s", "1h30m0s"},
      {"1.5s", nullptr, "1.5s", "1.5s"},
      {"250ms", nullptr, "250ms", "250ms"},
  };
  const auto annotation = [](std::string_view key, const char* value) {
    return value == nullptr ? std::string() : Annotation(key, value);
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.pod == nullptr ? "none" : test.pod);
    const std::string_view delay = kPreemptionDelayAnnotation;
    EXPECT_EQ(Objects(OfStatefulSet(annotation(delay, test.pod), annotation(delay, test.set))).Of().preemption_delay,
              test.delay);
    const std::string_view grace = kStalenessGraceAnnotation;
    const Grouping grouping = Objects(OfStatefulSet(annotation(grace, test.pod), annotation(grace, test.set))).Of();
    EXPECT_EQ(grouping.staleness_grace_period, test.grace);
    EXPECT_EQ(grouping.preemption_delay, "");
  }
}

TEST(InheritanceTest, ADurationThatIsNoneIsWarnedOf) {
  const Grouping grouping = Objects(OfStatefulSet("", Annotation(kPreemptionDelayAnnotation, "-3m"))).Of();
  EXPECT_THAT(grouping.warnings, ElementsAre(HasSubstr("kai.scheduler/preemption-delay of StatefulSet default/s")));
}

TEST(InheritanceTest, TheTopologyIsThatOfTheTopOwnersAnnotations) {
  const char* const triple =
      "  annotations: {kai.scheduler/topology: t, kai.scheduler/topology-required-placement: zone,\n"
      "    kai.scheduler/topology-preferred-placement: rack}\n";
  EXPECT_EQ(Objects(OfChain("", "", triple)).Text(), "pg-f-foo-f 1 @t/zone/rack");
  EXPECT_EQ(Objects(OfChain("", triple, "")).Text(), "pg-f-foo-f 1");
  EXPECT_EQ(Objects(OfChain(triple, "", "")).Text(), "pg-f-foo-f 1");
}

TEST(InheritanceTest, SourcesSayWhereValuesCameFrom) {
  const Grouping grouping =
      Objects(OfStatefulSet(Label("priorityClassName", "build"),
                            Label("kai.scheduler/queue", "q") + Annotation(kPreemptionDelayAnnotation, "5m")))
          .Of();
  EXPECT_THAT(grouping.sources,
              UnorderedElementsAre(
                  Pair("queue", "label kai.scheduler/queue of StatefulSet default/s"),
                  Pair("priorityClassName", "label priorityClassName of Pod default/p"),
                  Pair("preemptionDelay", "annotation kai.scheduler/preemption-delay of StatefulSet default/s")));
}

}  // namespace
}  // namespace basalt::pgsvc::testing
