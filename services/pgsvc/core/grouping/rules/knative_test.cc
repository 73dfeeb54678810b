#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kApi = "serving.knative.dev/v1";
constexpr std::string_view kGang = "pg-r-revision-r 1";
constexpr std::string_view kPerPod = "pg-p-p-uid 1";

// Returns Revision r of Service s, with further lines of its metadata.
std::string Revision(std::string_view more = "") {
  return ObjectOf(kApi, "Revision", "r", OwnedBy(kApi, "Service", "s") + std::string(more)) +
         ObjectOf(kApi, "Service", "s", "  labels: {kai.scheduler/queue: of-service, team: service}\n");
}
// Returns a pod of the revision. `group` is empty if the pod has none. `more` are further labels of the pod.
std::string Pod(std::string_view name, std::string_view group = "", std::string_view more = "") {
  return PodOf(name, kApi, "Revision", "r",
               fmt::format("  labels: {{serving.knative.dev/revision: r{}}}\n  annotations: {{{}}}\n", more,
                           group.empty() ? "" : fmt::format("pod-group-name: {}", group)));
}
std::string GroupOf(std::string_view name, std::string_view owners) {
  return ObjectOf("scheduling.run.ai/v2alpha2", "PodGroup", name, fmt::format("  ownerReferences: [{}]\n", owners));
}
std::string Scale(std::string_view value) {
  return fmt::format("  annotations: {{autoscaling.knative.dev/min-scale: \"{}\"}}\n", value);
}

TEST(KnativeTest, PodsOfARevisionShareAGroupOfItsLeastScale) {
  struct Case {
    const char* what;
    std::string revision;
    const char* expected;
  };
  const Case cases[] = {
      {"none", "", "pg-r-revision-r 1"},
      {"three", Scale("3"), "pg-r-revision-r 3"},
      {"to zero", Scale("0"), "pg-r-revision-r 0"},
      {"no number", Scale("many"), "pg-r-revision-r 1"},
      {"empty", Scale(""), "pg-r-revision-r 1"},
  };
  for (const Case& test : cases)
    EXPECT_EQ(Objects(Pod("p") + Revision(test.revision)).Text(), test.expected) << test.what;
  const std::string negative = Objects(Pod("p") + Revision(Scale("-1"))).Text();  // G37
  EXPECT_THAT(negative, HasSubstr("error: Revision default/r"));
  EXPECT_THAT(negative, HasSubstr("autoscaling.knative.dev/min-scale"));
}

TEST(KnativeTest, MetadataIsTheRevisions) {
  const std::string revision =
      "  labels: {kai.scheduler/queue: of-revision, priorityClassName: build, kai.scheduler/preemptibility: "
      "preemptible}\n"
      "  annotations: {kai.scheduler/topology: t, kai.scheduler/topology-required-placement: rack,\n"
      "    kai.scheduler/preemption-delay: 5m, kai.scheduler/staleness-grace-period: 5m}\n";
  Objects objects(Pod("p") + Revision(revision));
  for (const bool is_gang : {true, false}) {
    SCOPED_TRACE(is_gang);
    objects.options.gangs_knative_revisions = is_gang;
    const Grouping grouping = objects.Of();
    EXPECT_EQ(TextOf(grouping), is_gang ? kGang : kPerPod);
    EXPECT_EQ(grouping.owner, is_gang ? (GroupOwner{std::string(kApi), "Revision", "r", "revision-r"})
                                      : (GroupOwner{"v1", "Pod", "p", "p-uid"}));
    EXPECT_EQ(grouping.queue, "of-revision");
    EXPECT_EQ(grouping.priority_class, is_gang ? "build" : "inference");
    EXPECT_EQ(grouping.preemptibility, "");
    EXPECT_EQ(grouping.preemption_delay, "");
    EXPECT_EQ(grouping.staleness_grace_period, "");
    EXPECT_FALSE(grouping.labels.contains("team"));
    EXPECT_EQ(grouping.sources.at("priorityClassName"),
              is_gang ? "label priorityClassName of Revision default/r" : "default of the rule");
    EXPECT_FALSE(grouping.sources.contains("preemptibility"));
    EXPECT_FALSE(grouping.sources.contains("preemptionDelay"));
    EXPECT_FALSE(grouping.sources.contains("stalenessGracePeriod"));
  }
}

TEST(KnativeTest, ThePriorityIsInferenceWhereNobodyNamesOne) {
  EXPECT_EQ(Objects(Pod("p") + Revision()).Of().priority_class, "inference");
  Objects labelled(Pod("p", "", ", priorityClassName: train") + Revision());
  EXPECT_EQ(labelled.Of().priority_class, "train");
  labelled.options.gangs_knative_revisions = false;
  EXPECT_EQ(labelled.Of().priority_class, "inference");
}

TEST(KnativeTest, APodWithoutARevisionIsAnError) {
  const Objects unlabelled(PodOf("p", kApi, "Revision", "r") + Revision());
  EXPECT_THAT(unlabelled.Text(), HasSubstr("error: Pod default/p: label serving.knative.dev/revision"));
  const Objects missing(PodOf("p", kApi, "Service", "s", "  labels: {serving.knative.dev/revision: gone}\n") +
                        Revision());
  EXPECT_THAT(missing.Text(), HasSubstr("error: Revision default/gone"));
  EXPECT_TRUE(absl::IsNotFound(missing.Group().status()));
}

TEST(KnativeTest, PodsThatAreThereSayHowTheRevisionIsGrouped) {
  const std::string of_revision = "{apiVersion: serving.knative.dev/v1, kind: Revision, name: r, uid: u}";
  const std::string of_pod = "{apiVersion: v1, kind: Pod, name: q, uid: u}";
  const std::string of_other = "{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: u}";
  struct Case {
    const char* what;
    std::string others;
    std::string_view expected;
  };
  const Case cases[] = {
      {"no group", Pod("q"), kGang},
      {"two pods of one group", Pod("q", "g") + Pod("s", "g"), kGang},
      {"two pods of one group and one of another", Pod("q", "g") + Pod("s", "h") + Pod("t", "g"), kGang},
      {"two groups", Pod("q", "g") + Pod("s", "h"), kPerPod},
      {"a group that is missing", Pod("q", "g"), kGang},
      {"a group of the revision", Pod("q", "g") + GroupOf("g", of_revision), kGang},
      {"a group of a pod", Pod("q", "g") + GroupOf("g", of_pod), kPerPod},
      {"a group of a pod first", Pod("q", "g") + GroupOf("g", of_pod + ", " + of_revision), kPerPod},
      {"a group of something else", Pod("q", "g") + GroupOf("g", of_other), "error: PodGroup default/g"},
      {"a group of nobody", Pod("q", "g") + GroupOf("g", ""), "error: PodGroup default/g"},
      {"pods of another revision",
       PodOf("q", "apps/v1", "ReplicaSet", "x",
             "  labels: {serving.knative.dev/revision: z}\n  annotations: {pod-group-name: g}\n") +
           GroupOf("g", of_pod),
       kGang},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(Objects(Pod("p") + Revision() + test.others).Text("p"), HasSubstr(std::string(test.expected)))
        << test.what;
  }
}

TEST(KnativeTest, TheOptionTurnsGangsOffWhateverIsThere) {
  Objects objects(Pod("p") + Pod("q", "g") + Pod("s", "g") + Revision(Scale("3")));
  objects.options.gangs_knative_revisions = false;
  EXPECT_EQ(objects.Text("p"), kPerPod);
}

}  // namespace
}  // namespace basalt::pgsvc::testing
