#include "services/pgsvc/core/form/kai_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;

TEST(KaiGroupStatusTest, TheSchedulersReasonsAreThoseOfEachNodePool) {
  kube::v1::KaiPodGroup group;
  EXPECT_TRUE(UnschedulableReasons(group).empty());
  group.set_status_json(R"({"schedulingConditions":[
    {"type":"UnschedulableOnNodePool","nodePool":"a100","reasons":[
      {"reason":"OverLimit","message":"the limit is 8"},{"reason":"QueueDoesNotExist","message":"no queue q"}]},
    {"nodePool":"","reason":"Old","message":"as earlier releases have it"}, {}, 7]})");
  EXPECT_EQ(UnschedulableReasons(group), (std::vector<std::string>{"node pool a100: OverLimit: the limit is 8",
                                                                   "node pool a100: QueueDoesNotExist: no queue q",
                                                                   "Old: as earlier releases have it"}));
  group.set_status_json(R"({"schedulingConditions":{}})");
  EXPECT_TRUE(UnschedulableReasons(group).empty());
}

TEST(KaiGroupStatusTest, TheQueuesAmountsFollowTheReason) {
  kube::v1::KaiPodGroup group;
  group.set_status_json(R"({"schedulingConditions":[{"nodePool":"a100","reasons":[
    {"reason":"NonPreemptibleOverQuota","message":"over quota","details":{"queueDetails":{"name":"team",
      "queueRequestedResources":{"nvidia.com/gpu":"12"},"queueDeservedResources":{"nvidia.com/gpu":"8","cpu":"-1"},
      "queueAllocatedResources":{"nvidia.com/gpu":"7","cpu":"500m"},
      "queueAllocatedNonPreemptibleResources":{"nvidia.com/gpu":6},"queueResourceLimits":{"nvidia.com/gpu":"10"},
      "podGroupRequestedResources":{"nvidia.com/gpu":"4"},
      "podGroupRequestedNonPreemptibleResources":{"nvidia.com/gpu":"4"}}}},
    {"reason":"OverLimit","message":"m","details":{"queueDetails":{"name":"dept",
      "queueAllocatedResources":{"cpu":"9"},"queueResourceLimits":{"cpu":"8"}}}},
    {"reason":"Other","message":"m","details":{"queueDetails":7}}]}]})");
  EXPECT_THAT(UnschedulableReasons(group),
              ElementsAre("node pool a100: NonPreemptibleOverQuota: over quota",
                          "node pool a100: queue team, cpu: quota -1, allocated 500m",
                          "node pool a100: queue team, nvidia.com/gpu: the group requests 4 (4 non-preemptible), quota "
                          "8, limit 10, allocated 7 (6 non-preemptible), requested by all groups 12, left of the quota "
                          "1, left of the limit 3",
                          "node pool a100: OverLimit: m",
                          "node pool a100: queue dept, cpu: limit 8, allocated 9, left of the limit 0",
                          "node pool a100: Other: m"));
}

}  // namespace
}  // namespace basalt::pgsvc
