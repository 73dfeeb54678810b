#include "services/queuesvc/core/queue_requests.h"

#include <gtest/gtest.h>

namespace basalt::queuesvc {
namespace {

TEST(QueueRequestsTest, RootIsNotReclaimableAndTheDefaultQueueIs) {
  EXPECT_EQ(MakeCreateRequest("root").create().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"root"},)"
            R"("spec":{"weight":1,"reclaimable":false}})");
  EXPECT_EQ(MakeCreateRequest("default").create().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"default"},)"
            R"("spec":{"weight":1,"reclaimable":true}})");
}

TEST(QueueRequestsTest, TheParentIsSetOnTheVeryQueueThatWasSeen) {
  kube::v1::ObjectMeta meta;
  meta.set_name("q");
  meta.set_uid("u");
  meta.set_resource_version(7);
  const gateway::v1::WriteRequest request = MakeParentRequest(meta);
  EXPECT_EQ(request.name(), "q");
  EXPECT_EQ(request.subresource(), "");
  EXPECT_EQ(request.patch().type(), gateway::v1::Patch::TYPE_MERGE);
  EXPECT_EQ(request.patch().uid(), "u");
  EXPECT_EQ(request.patch().resource_version(), 7);
  EXPECT_EQ(request.patch().body(), R"({"spec":{"parent":"root"}})");
}

TEST(QueueRequestsTest, TheStatusIsAppliedByForceWithCountsOrWithout) {
  const gateway::v1::WriteRequest plain = MakeStatusRequest("q", QueueState::kOpen, nullptr);
  EXPECT_EQ(plain.subresource(), "status");
  EXPECT_EQ(plain.patch().type(), gateway::v1::Patch::TYPE_APPLY);
  EXPECT_EQ(plain.patch().field_manager(), "basalt-queue");
  EXPECT_TRUE(plain.patch().force());
  EXPECT_EQ(plain.patch().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},)"
            R"("status":{"state":"Open"}})");
  queue::v1::PodGroupCounts counts;
  counts.set_running(2);
  EXPECT_EQ(MakeStatusRequest("q", QueueState::kClosing, &counts).patch().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},)"
            R"("status":{"state":"Closing","pending":0,"inqueue":0,"running":2,"unknown":0,"completed":0}})");
}

}  // namespace
}  // namespace basalt::queuesvc
