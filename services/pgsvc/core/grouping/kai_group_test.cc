#include "services/pgsvc/core/grouping/kai_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Grouping Full() {
  Grouping grouping{.name = "pg-js-U", .ns = "ns"};
  grouping.owner = {"jobset.x-k8s.io/v1alpha2", "JobSet", "js", "U"};
  grouping.labels["team"] = "a";
  grouping.annotations["note"] = "b";
  grouping.queue = "q";
  grouping.priority_class = "train";
  grouping.preemptibility = "preemptible";
  grouping.preemption_delay = "5m0s";
  grouping.staleness_grace_period = "-10s";
  grouping.minimum = {.count = 2, .of_sub_groups = true};
  grouping.topology = {"t", "zone", ""};
  grouping.sub_groups = {
      {.name = "worker", .minimum = {.count = 1, .of_sub_groups = true}},
      {.name = "worker-0", .parent = "worker", .minimum = {.count = 0}, .topology = {"t", "", "rack"}}};
  return grouping;
}

TEST(KaiGroupTest, HasExactlyOneMinimumForTheGroupAndForEachSubGroup) {
  EXPECT_EQ(ToText(KaiGroupOf(Full())),
            R"({"apiVersion":"scheduling.run.ai/v2alpha2","kind":"PodGroup","metadata":{"name":"pg-js-U",)"
            R"("namespace":"ns","labels":{"team":"a"},"annotations":{"note":"b"},"ownerReferences":[)"
            R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"js","uid":"U"}]},"spec":{)"
            R"("minSubGroup":2,"queue":"q","priorityClassName":"train","preemptibility":"preemptible",)"
            R"("preemptionDelay":"5m0s","stalenessGracePeriod":"-10s","topologyConstraint":{)"
            R"("requiredTopologyLevel":"zone","topology":"t"},"subGroups":[{"name":"worker","minSubGroup":1},)"
            R"({"name":"worker-0","parent":"worker","minMember":0,"topologyConstraint":{)"
            R"("preferredTopologyLevel":"rack","topology":"t"}}]}})");
}

TEST(KaiGroupTest, AnEmptyFieldIsLeftOutAndTheConstraintOfTheGroupIsNot) {
  Grouping grouping{.name = "pg-p-U", .ns = "ns"};
  grouping.owner = {"v1", "Pod", "p", "U"};
  EXPECT_EQ(ToText(KaiGroupOf(grouping).at("spec")), R"({"minMember":1,"topologyConstraint":{}})");
}

TEST(KaiGroupTest, AMinimumOfZeroIsWritten) {
  Grouping grouping;
  grouping.minimum = {.count = 0};
  EXPECT_EQ(ToText(KaiGroupOf(grouping).at("spec")), R"({"minMember":0,"topologyConstraint":{}})");
}

TEST(KaiGroupTest, ALevelOfATopologyThatNobodyNamesIsALoss) {
  Grouping grouping = Full();
  EXPECT_THAT(KaiLossesOf(grouping), IsEmpty());
  grouping.topology = {"", "", "rack"};
  EXPECT_THAT(KaiLossesOf(grouping), ElementsAre(HasSubstr("topology level rack does nothing without annotation "
                                                           "kai.scheduler/topology")));
  EXPECT_FALSE(KaiGroupOf(grouping).at("spec").at("topologyConstraint").as_object().contains("preferredTopologyLevel"));
  grouping.topology = {};
  EXPECT_THAT(KaiLossesOf(grouping), IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
