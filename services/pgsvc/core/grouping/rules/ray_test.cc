#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Group(std::string_view group) {
  return group.empty() ? std::string() : fmt::format("  labels: {{ray.io/group: \"{}\"}}\n", group);
}
std::string Cluster(std::string_view name, std::string_view workers, std::string_view metadata = "",
                    std::string_view version = "v1") {
  return ObjectOf(fmt::format("ray.io/{}", version), "RayCluster", name,
                  fmt::format("{}spec: {{workerGroupSpecs: [{}]}}\n", metadata, workers));
}
// Returns the group of a pod of RayCluster c.
std::string Text(std::string_view workers, std::string_view group, std::string_view others = "") {
  return Objects(PodOf("p", "ray.io/v1", "RayCluster", "c", Group(group)) + Cluster("c", workers) + std::string(others))
      .Text();
}
std::string GroupOf(std::string_view name, std::string_view uid, std::string_view spec) {
  return ObjectOf(
      "scheduling.run.ai/v2alpha2", "PodGroup", name,
      fmt::format("  ownerReferences: [{{apiVersion: v1, kind: X, name: x, uid: {}}}]\nspec: {}\n", uid, spec));
}

TEST(RayClusterTest, HeadAndEachWorkerGroupAreSubgroups) {
  struct Case {
    const char* what;
    const char* workers;
    const char* group;
    const char* expected;
  };
  const Case cases[] = {
      {"the head alone", "", "headgroup", "1: headgroup{1}; in headgroup"},
      {"the least replicas of two that scale",
       "{groupName: a, minReplicas: 2, replicas: 5}, {groupName: b, "
       "minReplicas: 1, replicas: 1}",
       "b", "4: headgroup{1} a{2} b{1}; in b"},
      {"no least", "{groupName: a, replicas: 3}", "a", "4: headgroup{1} a{3}; in a"},
      {"least of 0", "{groupName: a, minReplicas: 0, replicas: 3}", "headgroup", "4: headgroup{1} a{3}; in headgroup"},
      {"a suspended one", "{groupName: a, replicas: 3, suspended: true}, {groupName: b, replicas: 1, suspended: false}",
       "b", "2: headgroup{1} b{1}; in b"},
      {"one that KubeRay calls so", "{groupName: a, replicas: 3, suspend: true}, {groupName: b, replicas: 1}", "b",
       "2: headgroup{1} b{1}; in b"},
      {"one without replicas", "{groupName: a}, {groupName: b, minReplicas: 0, replicas: 0}", "headgroup",
       "1: headgroup{1}; in headgroup"},
      {"several hosts", "{groupName: a, minReplicas: 2, replicas: 3, numOfHosts: 4}", "a",
       "9: headgroup{1} a{8}; in a"},
      {"one without a name", "{groupName: a, replicas: 1}, {replicas: 2}", "worker-group-1",
       "4: headgroup{1} a{1} worker-group-1{2}; in worker-group-1"},
      {"missing replicas (G14)", "{groupName: a, minReplicas: 2}", "a", "3: headgroup{1} a{2}; in a"},
      {"a pod without a group (G43)", "{groupName: a, replicas: 1}", "", "2: headgroup{1} a{1} default{0}"},
      {"a pod of an unknown group (G43)", "{groupName: a, replicas: 1}", "z", "2: headgroup{1} a{1} default{0}"},
      {"a pod of a group that does not count (G43)", "{groupName: a, replicas: 1, suspended: true}", "a",
       "1: headgroup{1} default{0}"},
      {"a name that is none (G39)", "{groupName: GPU_Group, replicas: 1}", "GPU_Group",
       "2: headgroup{1} gpu-group-11298509{1}; in gpu-group-11298509"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Text(test.workers, test.group), std::string("pg-c-raycluster-c ") + test.expected) << test.what;
  }
}

TEST(RayClusterTest, ACountThatIsImpossibleIsAnError) {
  for (const std::string workers :
       {"{groupName: a, minReplicas: 2, replicas: 1}", "{groupName: a, minReplicas: 2, replicas: 0}",
        "{groupName: a, minReplicas: -1, replicas: 1}", "{groupName: a, replicas: \"1\"}",
        "{groupName: a, replicas: 1, numOfHosts: -1}", "{groupName: a, replicas: 2147483647, numOfHosts: 2}",
        "{groupName: a, replicas: 2147483647}", "{groupName: a, replicas: 1}, {groupName: a, replicas: 1}",
        "{groupName: headgroup, replicas: 1}"}) {
    EXPECT_THAT(Text(workers, "headgroup"), HasSubstr("error: ")) << workers;
  }
  EXPECT_THAT(Text("{replicas: 1}, {minReplicas: 2, replicas: 1}", ""),
              AllOf(HasSubstr("RayCluster default/c"), HasSubstr("spec.workerGroupSpecs[1]")));
}

TEST(RayClusterTest, SubgroupsHaveTheTopologyOfTheirTemplates) {
  const auto text = [](std::string_view head, std::string_view workers) {
    return Objects(PodOf("p", "ray.io/v1", "RayCluster", "c", Group("a")) +
                   ObjectOf("ray.io/v1", "RayCluster", "c",
                            fmt::format("spec: {{headGroupSpec: {{template: {{metadata: {{annotations: {{{}}}}}}}}}, "
                                        "workerGroupSpecs: [{{groupName: a, replicas: 1, template: {{metadata: "
                                        "{{annotations: {{{}}}}}}}}}]}}\n",
                                        head, workers)))
        .Text();
  };
  const std::string name = "kai.scheduler/topology: t";
  const std::string required = "kai.scheduler/topology-required-placement: rack";
  const std::string preferred = "kai.scheduler/topology-preferred-placement: zone";
  EXPECT_EQ(text(name + ", " + required, name + ", " + preferred),
            "pg-c-raycluster-c 2: headgroup{1 @t/rack/} a{1 @t//zone}; in a");
  EXPECT_EQ(text(name, ""), "pg-c-raycluster-c 2: headgroup{1} a{1}; in a");
  EXPECT_THAT(text(required, ""), AllOf(HasSubstr("error: RayCluster default/c"), HasSubstr("headGroupSpec")));
  EXPECT_THAT(text("", preferred), AllOf(HasSubstr("error: RayCluster default/c"), HasSubstr("workerGroupSpecs[0]")));
}

TEST(RayClusterTest, AFlatGroupThatIsThereGoesOnWithoutSubgroups) {
  const char* const workers = "{groupName: a, replicas: 2}";
  EXPECT_EQ(Text(workers, "a", GroupOf("pg-c-raycluster-c", "raycluster-c", "{minMember: 3}")), "pg-c-raycluster-c 3");
  EXPECT_EQ(Text(workers, "a", GroupOf("pg-c-raycluster-c", "raycluster-c", "{subGroups: [{name: a}]}")),
            "pg-c-raycluster-c 3: headgroup{1} a{2}; in a");
  EXPECT_EQ(Text(workers, "a", GroupOf("another", "raycluster-c", "{}")),
            "pg-c-raycluster-c 3: headgroup{1} a{2}; in a");
}

TEST(RayClusterTest, ALabelOfTheTopOwnerOverridesThePriorityUnchecked) {
  const auto priority = [](std::string_view pod, std::string_view labels) {
    return Objects(PodOf("p", "ray.io/v1", "RayCluster", "c", pod) +
                   Cluster("c", "", fmt::format("  labels: {{{}}}\n", labels)))
        .Of()
        .priority_class;
  };
  EXPECT_EQ(priority("", ""), "train");
  EXPECT_EQ(priority("", "priorityClassName: build"), "build");
  EXPECT_EQ(priority("", "priorityClassName: build, ray.io/priority-class-name: missing"), "missing");
  const Objects unchecked(PodOf("p", "ray.io/v1", "RayCluster", "c") +
                          Cluster("c", "", "  labels: {ray.io/priority-class-name: missing}\n"));
  EXPECT_THAT(
      unchecked.Of().warnings,
      ElementsAre("label ray.io/priority-class-name of RayCluster default/c: there is no PriorityClass missing"));
  EXPECT_EQ(priority("  labels: {ray.io/priority-class-name: pods}\n", ""), "train");
}

TEST(RayJobTest, TheGroupIsTheJobsAndItsSubgroupsAreTheClusters) {
  const std::string job =
      ObjectOf("ray.io/v1", "RayJob", "j", "  labels: {kai.scheduler/queue: q}\nstatus: {rayClusterName: c}\n");
  const std::string cluster =
      Cluster("c", "{groupName: a, replicas: 2}", OwnedBy("ray.io/v1", "RayJob", "j") + "  labels: {x: z}\n");
  const Objects worker(PodOf("p", "ray.io/v1", "RayCluster", "c", Group("a")) + cluster + job);
  EXPECT_EQ(worker.Text(), "pg-j-rayjob-j 3: headgroup{1} a{2}; in a");
  EXPECT_EQ(worker.Of().owner, (GroupOwner{"ray.io/v1", "RayJob", "j", "rayjob-j"}));
  EXPECT_EQ(worker.Of().queue, "q");
  EXPECT_FALSE(worker.Of().labels.contains("x"));
  // The submitter fits no leaf (G43).
  const Objects submitter(PodOf("p", "batch/v1", "Job", "s") +
                          ObjectOf("batch/v1", "Job", "s", OwnedBy("ray.io/v1", "RayJob", "j")) + cluster + job);
  EXPECT_EQ(submitter.Text(), "pg-j-rayjob-j 3: headgroup{1} a{2} default{0}");
}

TEST(RayJobTest, AJobWithoutAClusterIsAnError) {
  const auto text = [](std::string_view status, std::string_view version = "v1") {
    const std::string api = fmt::format("ray.io/{}", version);
    return Objects(PodOf("p", "batch/v1", "Job", "s") + ObjectOf("batch/v1", "Job", "s", OwnedBy(api, "RayJob", "j")) +
                   ObjectOf(api, "RayJob", "j", fmt::format("status: {}\n", status)) + Cluster("c", "", "", version))
        .Text();
  };
  EXPECT_EQ(text("{rayClusterName: c}"), "pg-j-rayjob-j 1: headgroup{1} default{0}");
  EXPECT_EQ(text("{rayClusterName: c}", "v1alpha1"), "pg-j-rayjob-j 1: headgroup{1} default{0}");
  EXPECT_THAT(text("{}"), HasSubstr("error: RayJob default/j: status.rayClusterName"));
  EXPECT_THAT(text("{rayClusterName: \"\"}"), HasSubstr("error: RayJob default/j: status.rayClusterName"));
  EXPECT_THAT(text("{rayClusterName: gone}"), HasSubstr("error: RayCluster default/gone"));
}

TEST(RayServiceTest, EachClusterIsAGroup) {
  const std::string owned = OwnedBy("ray.io/v1", "RayService", "s");
  const auto text = [&owned](std::string_view cluster, std::string_view status, std::string_view pod = "") {
    return Objects(PodOf("p", "ray.io/v1", "RayCluster", cluster, Group("a") + std::string(pod)) +
                   Cluster("old", "{groupName: a, replicas: 1}", owned) +
                   Cluster("new", "{groupName: a, replicas: 2}", owned) +
                   ObjectOf("ray.io/v1", "RayService", "s", fmt::format("status: {}\n", status)))
        .Text();
  };
  const std::string active = "activeServiceStatus: {rayClusterName: old}";
  const std::string both = "{" + active + ", pendingServiceStatus: {rayClusterName: new}}";
  EXPECT_EQ(text("old", both), "pg-s-rayservice-s-old 2: headgroup{1} a{1}; in a");  // G14
  EXPECT_EQ(text("new", both), "pg-s-rayservice-s-new 3: headgroup{1} a{2}; in a");
  EXPECT_EQ(text("new", "{" + active + "}"), "pg-s-rayservice-s-new 3: headgroup{1} a{2}; in a");
  EXPECT_EQ(text("old", "{}"), "pg-s-rayservice-s-old 2: headgroup{1} a{1}; in a");
  // A pod that names the earlier group stays in it.
  EXPECT_EQ(text("old", both, "  annotations: {pod-group-name: pg-s-rayservice-s}\n"),
            "pg-s-rayservice-s 2: headgroup{1} a{1}; in a");
}

// Upstream keeps all clusters of a service in one group: existing pods stay in it.
TEST(RayServiceTest, TheServingClusterGoesOnInTheGroupThatAllClustersShared) {
  const std::string owned = OwnedBy("ray.io/v1", "RayService", "s");
  const auto text = [&owned](std::string_view cluster, std::string_view status, std::string_view groups) {
    return Objects(PodOf("p", "ray.io/v1", "RayCluster", cluster, Group("a")) +
                   Cluster("old", "{groupName: a, replicas: 1}", owned) +
                   Cluster("new", "{groupName: a, replicas: 2}", owned) +
                   ObjectOf("ray.io/v1", "RayService", "s", fmt::format("status: {}\n", status)) + std::string(groups))
        .Text();
  };
  const std::string old_serves = "{activeServiceStatus: {rayClusterName: old}}";
  const std::string old_starts = "{pendingServiceStatus: {rayClusterName: old}}";
  const std::string both = "{activeServiceStatus: {rayClusterName: old}, pendingServiceStatus: {rayClusterName: new}}";
  const std::string new_serves = "{activeServiceStatus: {rayClusterName: new}}";
  const std::string shared = GroupOf("pg-s-rayservice-s", "rayservice-s", "{subGroups: [{name: a}]}");
  const std::string of_new = GroupOf("pg-s-rayservice-s-new", "rayservice-s", "{subGroups: [{name: a}]}");
  const std::string of_old = GroupOf("pg-s-rayservice-s-old", "rayservice-s", "{subGroups: [{name: a}]}");

  for (const std::string& status : {old_serves, old_starts, both}) {
    EXPECT_EQ(text("old", status, shared), "pg-s-rayservice-s 2: headgroup{1} a{1}; in a") << status;
    EXPECT_EQ(text("new", status, shared), "pg-s-rayservice-s-new 3: headgroup{1} a{2}; in a") << status;
    EXPECT_EQ(text("old", status, shared + of_old), "pg-s-rayservice-s-old 2: headgroup{1} a{1}; in a") << status;
  }
  EXPECT_EQ(text("new", new_serves, shared + of_new), "pg-s-rayservice-s-new 3: headgroup{1} a{2}; in a");
  EXPECT_EQ(text("old", old_serves, GroupOf("pg-s-rayservice-s", "another", "{}")),
            "pg-s-rayservice-s-old 2: headgroup{1} a{1}; in a");
}

TEST(RayServiceTest, TheClusterOfAPodThatHasNoneIsTheFirstThatTheStatusNames) {
  const auto text = [](std::string_view status) {
    return Objects(PodOf("p", "ray.io/v1", "RayService", "s", Group("a")) +
                   Cluster("old", "{groupName: a, replicas: 1}") + Cluster("new", "{groupName: a, replicas: 2}") +
                   ObjectOf("ray.io/v1", "RayService", "s", fmt::format("status: {}\n", status)))
        .Text();
  };
  const std::string pending = "pendingServiceStatus: {rayClusterName: new}";
  EXPECT_THAT(text("{activeServiceStatus: {rayClusterName: old}, " + pending + "}"), HasSubstr("a{1}; in a"));
  EXPECT_THAT(text("{activeServiceStatus: {rayClusterName: \"\"}, " + pending + "}"), HasSubstr("a{2}; in a"));  // G14
  EXPECT_THAT(text("{activeServiceStatus: {}, " + pending + "}"), HasSubstr("a{2}; in a"));
  EXPECT_THAT(text("{}"), HasSubstr("error: RayService default/s"));
}

}  // namespace
}  // namespace basalt::pgsvc::testing
