#include "services/pgsvc/core/grouping/volcano_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

kube::ResourceMap Cpus(int count) {
  return {{"cpu", kube::Quantity::OfInt(count)}, {"pods", kube::Quantity::OfInt(1)}};
}

class VolcanoGroupTest : public ::testing::Test {
 protected:
  VolcanoGroupTest() {
    grouping_.name = "g";
    grouping_.ns = "ns";
    grouping_.owner = {"batch/v1", "Job", "j", "U"};
    pod_ = {{"metadata", {{"name", "p"}}}};
  }
  VolcanoGroup Write() {
    return VolcanoGroupOf({.grouping = grouping_, .pod = ObjectView(pod_), .usage = usage_, .cluster = objects_});
  }
  std::string Spec() { return ToText(Write().object.at("spec")); }
  // Returns "worker: worker-0 worker-1, 4 of each, 2 of them" for each policy.
  std::vector<std::string> Policies() {
    std::vector<std::string> texts;
    const json::object object = Write().object;
    const json::value* const policies = Find(object.at("spec"), "subGroupPolicy");
    if (policies == nullptr) return texts;
    for (const json::value& policy : policies->as_array()) {
      std::string leaves;
      const json::value& selector = policy.at("labelSelector");
      if (const json::value* const labels = Find(selector, "matchLabels"); labels != nullptr) {
        leaves = " " + std::string(FindString(*labels, "kai.scheduler/subgroup-name"));
      } else {
        const json::value& expression = selector.at("matchExpressions").as_array()[0];
        EXPECT_EQ(FindString(expression, "key"), "kai.scheduler/subgroup-name");
        EXPECT_EQ(FindString(expression, "operator"), "In");
        for (const json::value& name : expression.at("values").as_array()) {
          leaves += " " + std::string(name.as_string());
        }
      }
      EXPECT_EQ(ToText(policy.at("matchLabelKeys")), R"(["kai.scheduler/subgroup-name"])");
      texts.push_back(fmt::format("{}:{}, {} of each, {} of them", FindString(policy, "name"), leaves,
                                  FindInt(policy, "subGroupSize"), FindInt(policy, "minSubGroups")));
    }
    return texts;
  }

  Grouping grouping_;
  json::value pod_;
  std::map<std::string, kube::ResourceMap> usage_;
  ObjectSet objects_{/*has_kai_classes=*/false};
};

TEST_F(VolcanoGroupTest, APlainGroupHasMinimumResourcesAndAController) {
  grouping_.minimum = {.count = 3};
  grouping_.queue = "research";
  grouping_.priority_class = "train";
  grouping_.has_default_priority = true;
  usage_[""] = Cpus(2);
  const VolcanoGroup group = Write();
  EXPECT_THAT(group.losses, IsEmpty());
  EXPECT_EQ(ToText(group.object),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":"g",)"
            R"("namespace":"ns","annotations":{},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)"
            R"("name":"j","uid":"U","controller":true}]},"spec":{"minMember":3,"queue":"research",)"
            R"("minResources":{"cpu":"6","pods":"3"}},"status":{"phase":"Pending"}})");
}

TEST_F(VolcanoGroupTest, TheQueueIsVolcanosOwnBeforeThatOfTheRules) {
  struct Case {
    const char* what;
    json::object pod;
    std::map<std::string, std::string> owner;
    bool is_default;
    const char* queue;
  };
  const Case cases[] = {
      {"nobody names one", {}, {}, true, ""},
      {"the rules", {}, {}, false, "kai"},
      {"the owner", {}, {{"volcano.sh/queue-name", "o2"}}, false, "o2"},
      {"the owner's first key",
       {},
       {{"volcano.sh/queue-name", "o2"}, {"scheduling.volcano.sh/queue-name", "o1"}},
       false,
       "o1"},
      {"the pod", {{"volcano.sh/queue-name", "p2"}}, {{"scheduling.volcano.sh/queue-name", "o1"}}, false, "p2"},
      {"the pod's first key",
       {{"volcano.sh/queue-name", "p2"}, {"scheduling.volcano.sh/queue-name", "p1"}},
       {},
       false,
       "p1"},
  };
  for (const Case& test : cases) {
    pod_ = {{"metadata", {{"annotations", test.pod}}}};
    grouping_.annotations = test.owner;
    grouping_.queue = "kai";
    grouping_.has_default_queue = test.is_default;
    EXPECT_EQ(FindString(Write().object.at("spec"), "queue"), test.queue) << test.what;
  }
}

TEST_F(VolcanoGroupTest, APreemptibleGroupOpensNoRevocableNodes) {
  struct Case {
    const char* preemptibility;
    std::map<std::string, std::string> annotations;
    const char* expected;
  };
  const Case cases[] = {
      {"", {{"other", "x"}, {"volcano.sh/sla-waiting-time", "1h"}}, R"({"volcano.sh/sla-waiting-time":"1h"})"},
      {"preemptible", {}, R"({"volcano.sh/preemptable":"true","volcano.sh/revocable-zone":""})"},
      {"non-preemptible", {}, R"({"volcano.sh/preemptable":"false"})"},
      {"preemptible",
       {{"volcano.sh/revocable-zone", "*"}},
       R"({"volcano.sh/revocable-zone":"*","volcano.sh/preemptable":"true"})"},
  };
  for (const Case& test : cases) {
    grouping_.preemptibility = test.preemptibility;
    grouping_.annotations = test.annotations;
    EXPECT_EQ(ToText(Write().object.at("metadata").at("annotations")), test.expected) << test.preemptibility;
  }
}

TEST_F(VolcanoGroupTest, ATopologyIsOneLevel) {
  struct Case {
    Topology topology;
    const char* expected;
    size_t losses;
  };
  const Case cases[] = {
      {{"t", "zone", ""}, R"({"mode":"hard","highestTierName":"zone"})", 0},
      {{"t", "", "rack"}, R"({"mode":"soft","highestTierName":"rack"})", 0},
      {{"t", "zone", "rack"}, R"({"mode":"hard","highestTierName":"zone"})", 1},
  };
  for (const Case& test : cases) {
    grouping_.topology = test.topology;
    const VolcanoGroup group = Write();
    EXPECT_EQ(ToText(group.object.at("spec").at("networkTopology")), test.expected);
    EXPECT_EQ(group.losses.size(), test.losses);
  }
}

SubGroup Parent(const std::string& name, int32_t minimum) {
  return {.name = name, .minimum = {.count = minimum, .of_sub_groups = true}};
}
SubGroup Leaf(const std::string& name, int32_t minimum, const std::string& parent = "") {
  return {.name = name, .parent = parent, .minimum = {.count = minimum}};
}

TEST_F(VolcanoGroupTest, SubGroupsArePolicies) {
  struct Case {
    const char* what;
    Minimum minimum;
    std::vector<SubGroup> sub_groups;
    std::vector<std::string> policies;
    int64_t min_member;
    size_t losses;
  };
  const Case cases[] = {
      {"leaves",
       {.count = 3},
       {Leaf("master", 1), Leaf("worker", 2)},
       {"master: master, 1 of each, 1 of them", "worker: worker, 2 of each, 1 of them"},
       3,
       0},
      {"a leaf that nothing waits for",
       {.count = 1},
       {Leaf("master", 1), Leaf("default", 0)},
       {"master: master, 1 of each, 1 of them", "default: default, 1 of each, 0 of them"},
       1,
       0},
      {"a JobSet",
       {.count = 2, .of_sub_groups = true},
       {Parent("leader", 1), Leaf("leader-replica-0", 1, "leader"), Parent("worker", 2),
        Leaf("worker-replica-0", 4, "worker"), Leaf("worker-replica-1", 4, "worker")},
       {"leader: leader-replica-0, 1 of each, 1 of them",
        "worker: worker-replica-0 worker-replica-1, 4 of each, 2 of them"},
       9,
       0},
      {"one of two is enough",
       {.count = 1, .of_sub_groups = true},
       {Parent("leader", 1), Leaf("leader-replica-0", 1, "leader"), Parent("worker", 1),
        Leaf("worker-replica-0", 4, "worker")},
       {"leader: leader-replica-0, 1 of each, 0 of them", "worker: worker-replica-0, 4 of each, 0 of them"},
       1,
       1},
      {"parts of unlike size",
       {.count = 3},
       {Parent("worker", 2), Leaf("worker-0", 2, "worker"), Leaf("worker-1", 1, "worker")},
       {"worker-0: worker-0, 2 of each, 1 of them", "worker-1: worker-1, 1 of each, 1 of them"},
       3,
       1},
      {"parts of unlike size, some of them",
       {.count = 2},
       {Parent("worker", 1), Leaf("worker-0", 2, "worker"), Leaf("worker-1", 1, "worker")},
       {"worker-0: worker-0, 2 of each, 1 of them", "worker-1: worker-1, 1 of each, 1 of them"},
       2,
       1},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    grouping_.minimum = test.minimum;
    grouping_.sub_groups = test.sub_groups;
    EXPECT_EQ(Policies(), test.policies);
    EXPECT_EQ(LeastPods(grouping_), test.min_member);
    EXPECT_EQ(Write().losses.size(), test.losses);
  }
}

TEST_F(VolcanoGroupTest, TheConstraintOfTheOnlyParentIsThatOfTheGroup) {
  grouping_.sub_groups = {Parent("worker", 1), Leaf("worker-0", 2, "worker")};
  grouping_.sub_groups.front().topology = {"t", "rack", ""};
  EXPECT_EQ(ToText(Write().object.at("spec").at("networkTopology")), R"({"mode":"hard","highestTierName":"rack"})");
  EXPECT_THAT(Write().losses, IsEmpty());
  grouping_.sub_groups.push_back(Leaf("master", 1));
  EXPECT_THAT(Write().losses, ElementsAre("subgroup worker: its topology, as it has parts"));
}

TEST_F(VolcanoGroupTest, ResourcesAreThoseOfEachLeafWhereTheyAreKnown) {
  grouping_.minimum = {.count = 3};
  grouping_.sub_groups = {Leaf("master", 1), Leaf("worker", 2), Leaf("default", 0)};
  usage_[""] = Cpus(1);
  EXPECT_EQ(ToText(Write().object.at("spec").at("minResources")), R"({"cpu":"3","pods":"3"})");
  usage_["master"] = Cpus(1);
  usage_["worker"] = Cpus(8);
  EXPECT_EQ(ToText(Write().object.at("spec").at("minResources")), R"({"cpu":"17","pods":"3"})");
}

TEST_F(VolcanoGroupTest, TheConstraintOfThePodsAnnotationsIsThatOfTheGroup) {
  grouping_.topology = {"t", "zone", ""};
  pod_ = {{"metadata",
           {{"annotations",
             {{"volcano.sh/network-topology-mode", "soft"}, {"volcano.sh/network-topology-highest-tier", "2"}}}}}};
  EXPECT_EQ(ToText(Write().object.at("spec").at("networkTopology")), R"({"mode":"soft","highestTierAllowed":2})");
  pod_ = {{"metadata", {{"name", "p"}, {"annotations", {{"volcano.sh/network-topology-highest-tier", "-1"}}}}}};
  EXPECT_EQ(ToText(Write().object.at("spec").at("networkTopology")), R"({"mode":"hard","highestTierName":"zone"})");
  EXPECT_EQ(Write().losses.size(), 1U);
}

TEST_F(VolcanoGroupTest, AClassThatSomebodyNamesIsKeptAndTheRulesOwnWhereItExists) {
  grouping_.priority_class = "gold";
  EXPECT_EQ(FindString(Write().object.at("spec"), "priorityClassName"), "gold");
  grouping_.has_default_priority = true;
  EXPECT_EQ(FindString(Write().object.at("spec"), "priorityClassName"), "");
  ASSERT_TRUE(
      objects_
          .Add({{"apiVersion", "scheduling.k8s.io/v1"}, {"kind", "PriorityClass"}, {"metadata", {{"name", "gold"}}}})
          .ok());
  EXPECT_EQ(FindString(Write().object.at("spec"), "priorityClassName"), "gold");
}

TEST_F(VolcanoGroupTest, FieldsThatVolcanoLacksAreReported) {
  grouping_.preemption_delay = "5m0s";
  grouping_.staleness_grace_period = "-10s";
  EXPECT_THAT(Write().losses, ElementsAre("preemptionDelay", "stalenessGracePeriod"));
}

TEST_F(VolcanoGroupTest, AMinimumOfZeroWantsNothing) {
  grouping_.minimum = {.count = 0};
  usage_[""] = Cpus(2);
  EXPECT_EQ(Spec(), R"({"minResources":{}})");
}

}  // namespace
}  // namespace basalt::pgsvc::testing
