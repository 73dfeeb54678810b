#include "services/queuesvc/core/queue_requests.h"

#include <gtest/gtest.h>

#include "common/base/json.h"

namespace basalt::queuesvc {
namespace {

kube::v1::ObjectMeta MetaOf(const std::string& name) {
  kube::v1::ObjectMeta meta;
  meta.set_name(name);
  meta.set_uid("u");
  meta.set_resource_version(7);
  return meta;
}

TEST(QueueRequestsTest, RootIsNotReclaimableAndTheDefaultQueueIs) {
  EXPECT_EQ(MakeCreateRequest("root").create().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"root"},)"
            R"("spec":{"weight":1,"reclaimable":false}})");
  EXPECT_EQ(MakeCreateRequest("default").create().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"default"},)"
            R"("spec":{"weight":1,"reclaimable":true}})");
}

TEST(QueueRequestsTest, TheParentIsSetOnTheVeryQueueThatWasSeen) {
  const gateway::v1::WriteRequest request = MakeParentRequest(MetaOf("q"));
  EXPECT_EQ(request.name(), "q");
  EXPECT_EQ(request.subresource(), "");
  EXPECT_EQ(request.patch().type(), gateway::v1::Patch::TYPE_MERGE);
  EXPECT_EQ(request.patch().uid(), "u");
  EXPECT_EQ(request.patch().resource_version(), 7);
  EXPECT_EQ(request.patch().body(), R"({"spec":{"parent":"root"}})");
}

TEST(QueueRequestsTest, TheAnnotationIsSetOnTheVeryQueueThatWasSeenAndLeavesOthersAlone) {
  const kube::v1::ObjectMeta meta = MetaOf("q");
  const gateway::v1::WriteRequest request = MakeClosedByParentRequest(meta, true);
  EXPECT_EQ(request.name(), "q");
  EXPECT_EQ(request.patch().type(), gateway::v1::Patch::TYPE_MERGE);
  EXPECT_EQ(request.patch().uid(), "u");
  EXPECT_EQ(request.patch().body(), R"({"metadata":{"annotations":{"volcano.sh/closed-by-parent":"true"}}})");
  EXPECT_EQ(MakeClosedByParentRequest(meta, false).patch().body(),
            R"({"metadata":{"annotations":{"volcano.sh/closed-by-parent":"false"}}})");
}

TEST(QueueRequestsTest, ACommandIsMadeAsVcctlMakesIt) {
  const kube::v1::ObjectMeta meta = MetaOf("q");
  const gateway::v1::WriteRequest request = MakeCommandCreation(meta, "CloseQueue", "1");
  EXPECT_EQ(request.resource().plural(), "commands");
  EXPECT_EQ(request.namespace_(), "default");
  EXPECT_EQ(request.name().substr(0, 13), "q-closequeue-");
  const auto body = ParseJson(request.create().body());
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(FindString(*body, "action"), "CloseQueue");
  EXPECT_EQ(FindString(*Find(*body, "target"), "kind"), "Queue");
  EXPECT_EQ(FindString(*Find(*body, "target"), "apiVersion"), "scheduling.volcano.sh/v1beta1");
  EXPECT_EQ(FindString(*Find(*body, "target"), "uid"), "u");
  EXPECT_EQ(MakeCommandCreation(meta, "CloseQueue", "1").name(), request.name());
  EXPECT_NE(MakeCommandCreation(meta, "CloseQueue", "2").name(), request.name());
}

TEST(QueueRequestsTest, TheVeryCommandThatWasSeenIsDeleted) {
  kube::v1::ObjectMeta meta = MetaOf("q-closequeue-1");
  meta.set_namespace_("default");
  const gateway::v1::WriteRequest request = MakeCommandDeletion(meta);
  EXPECT_EQ(request.resource().plural(), "commands");
  EXPECT_EQ(request.namespace_(), "default");
  EXPECT_EQ(request.name(), "q-closequeue-1");
  EXPECT_EQ(request.delete_().uid(), "u");
}

TEST(QueueRequestsTest, TheStateIsAppliedByForceAndNothingElseIs) {
  kube::v1::Queue queue;
  queue.mutable_meta()->set_name("q");
  queue.mutable_meta()->set_resource_version(7);
  queue.set_state("Open");
  const gateway::v1::WriteRequest plain = MakeStateRequest(queue, QueueState::kOpen);
  EXPECT_EQ(plain.subresource(), "status");
  EXPECT_EQ(plain.patch().type(), gateway::v1::Patch::TYPE_APPLY);
  EXPECT_EQ(plain.patch().field_manager(), "basalt-queue");
  EXPECT_TRUE(plain.patch().force());
  EXPECT_EQ(plain.patch().resource_version(), 7) << "the next queue of that name is another one";
  EXPECT_EQ(plain.patch().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},)"
            R"("status":{"state":"Open"}})");
}

// The scheduler writes the same status: its writes are no conflict, and a state that somebody has edited stays.
TEST(QueueRequestsTest, CountsAloneSayNothingOfTheStateAndAreForAnyVersion) {
  queue::v1::PodGroupCounts counts;
  counts.set_running(2);
  const gateway::v1::WriteRequest request = MakeCountsRequest("q", counts);
  EXPECT_EQ(request.name(), "q");
  EXPECT_EQ(request.subresource(), "status");
  EXPECT_EQ(request.patch().type(), gateway::v1::Patch::TYPE_APPLY);
  EXPECT_EQ(request.patch().field_manager(), "basalt-queue-counts") << "a manager's apply has all of its fields";
  EXPECT_TRUE(request.patch().force());
  EXPECT_EQ(request.patch().resource_version(), 0);
  EXPECT_EQ(request.patch().body(),
            R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},)"
            R"("status":{"pending":0,"inqueue":0,"running":2,"unknown":0,"completed":0}})");
}

}  // namespace
}  // namespace basalt::queuesvc
