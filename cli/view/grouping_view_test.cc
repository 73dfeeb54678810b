#include "cli/view/grouping_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

using podgroup::v1::TriedPod;
using ::testing::HasSubstr;

podgroup::v1::TryGroupingResponse Tried() {
  podgroup::v1::TryGroupingResponse tried;
  const auto add_pod = [&tried](const char* name, TriedPod::Verdict verdict) -> TriedPod& {
    TriedPod& pod = *tried.add_pods();
    pod.set_namespace_("default");
    pod.set_name(name);
    pod.set_verdict(verdict);
    return pod;
  };
  TriedPod& grouped = add_pod("a", TriedPod::VERDICT_GROUPED);
  grouped.set_group("pg-j-U");
  grouped.set_decided_by("Job default/j");
  grouped.set_rule("minimum 1");
  add_pod("b", TriedPod::VERDICT_OPTED_OUT).set_decided_by("Job default/k");
  add_pod("c", TriedPod::VERDICT_ASSIGNED);
  add_pod("d", TriedPod::VERDICT_FAILED).set_error("Job default/x is missing");
  auto& group = *tried.add_groups();
  group.set_namespace_("default");
  group.set_name("pg-j-U");
  group.set_manifest(R"({"kind":"PodGroup","spec":{"minMember":2,"queue":"research"}})");
  auto& source = *group.add_sources();
  source.set_field("queue");
  source.set_source("label kai.scheduler/queue of Job default/j");
  group.add_warnings("Job default/j: a minimum of 5 can never be met");
  group.add_losses("preemptionDelay");
  return tried;
}

TEST(GroupingViewTest, ATriedPodIsShownWithItsGroupOrWithWhyItHasNone) {
  EXPECT_EQ(FormatTriedGrouping(Tried(), Look()),
            "NAMESPACE   POD   GROUP    SUBGROUP   BY              RULE\n"
            "default     a     pg-j-U   -          Job default/j   minimum 1\n"
            "default     b     -        -          Job default/k   Job default/k opts out\n"
            "default     c     -        -          -               the pod names a group already\n"
            "default     d     -        -          -               Job default/x is missing\n"
            "\n"
            "Pod group default/pg-j-U\n"
            "minMember: 2\n"
            "queue: research\n"
            "# queue: label kai.scheduler/queue of Job default/j\n"
            "warning: Job default/j: a minimum of 5 can never be met\n"
            "not expressible: preemptionDelay\n");
}

TEST(GroupingViewTest, ProblemsStandAloneBesideManifests) {
  EXPECT_EQ(FormatTriedProblems(Tried()),
            "pod default/b: Job default/k opts out\n"
            "pod default/c: the pod names a group already\n"
            "pod default/d: Job default/x is missing\n"
            "warning: Job default/j: a minimum of 5 can never be met\n"
            "not expressible: preemptionDelay\n");
}

TEST(GroupingViewTest, ManifestsAreAListThatKubectlTakes) {
  EXPECT_EQ(
      FormatManifests(Tried(), "json"),
      R"({"apiVersion":"v1","kind":"List","items":[{"kind":"PodGroup","spec":{"minMember":2,"queue":"research"}}]})"
      "\n");
  EXPECT_THAT(FormatManifests(Tried(), "yaml"), HasSubstr("  spec:\n    minMember: 2\n"));
}

TEST(GroupingViewTest, ARuleIsShownWithItsKindAndItsApi) {
  podgroup::v1::ListGroupingRulesResponse rules;
  auto& pod = *rules.add_rules();
  pod.set_kind("Pod");
  pod.set_version("v1");
  pod.set_summary("a group for each pod");
  auto& job = *rules.add_rules();
  job.set_kind("Job");
  job.set_group("batch");
  job.set_version("v1");
  job.set_summary("minimum 1");
  EXPECT_EQ(FormatGroupingRules(rules, Look()),
            "KIND   API        GROUPED\n"
            "Pod    v1         a group for each pod\n"
            "Job    batch/v1   minimum 1\n");
}

}  // namespace
}  // namespace basalt::cli
