#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kConfigs = "/api/v1/namespaces/default/configmaps";

std::string OwnerMeta(const Reply& owner, std::string_view kind, bool blocks = false) {
  return fmt::format(R"(,"ownerReferences":[{{"apiVersion":"v1","kind":"{}","name":"{}","uid":"{}",)"
                     R"("blockOwnerDeletion":{}}}])",
                     kind, owner.At({"metadata", "name"}), owner.uid(), blocks);
}

class DeletionTest : public ::testing::Test {
 protected:
  Reply ScheduledPod(const std::string& name, const std::string& meta = "") {
    EXPECT_EQ(server_.MakePod(name, "{}", "", meta).status, 201);
    EXPECT_EQ(server_.Post(kPods + "/" + name + "/binding", R"({"target":{"kind":"Node","name":"n1"}})").status, 201);
    return server_.Get(kPods + "/" + name);
  }
  TestServer server_;
};

TEST_F(DeletionTest, AnUnscheduledPodGoesAtOnceAndIsSeenMarkedFirst) {
  const Reply made = server_.MakePod("a");
  TestWatch watch = server_.Watch(kPods + "?watch=true&resourceVersion=" + made.version());
  const Reply reply = server_.Delete(kPods + "/a");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.At({"kind"}), "Pod");
  EXPECT_EQ(server_.Get(kPods + "/a").status, 404);
  const auto events = watch.Take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(FindString(events[0], "type"), "MODIFIED");
  EXPECT_EQ(FindString(events[1], "type"), "DELETED");
  EXPECT_NE(FindPath(events[1], {"object", "metadata", "deletionTimestamp"}), nullptr);
}

TEST_F(DeletionTest, DependentsFollowTheirOwnerInTheBackground) {
  const Reply owner = server_.MakeConfig("owner");
  server_.MakeConfig("child", OwnerMeta(owner, "ConfigMap"));
  const Reply child = server_.Get(kConfigs + "/child");
  server_.MakePod("grandchild", "{}", "", OwnerMeta(child, "ConfigMap"));
  server_.set_run_due_tasks(false);
  server_.Delete(kConfigs + "/owner");
  EXPECT_EQ(server_.Get(kConfigs + "/child").status, 200) << "the collector works later";
  server_.time().RunDueTasks();
  EXPECT_EQ(server_.Get(kConfigs + "/child").status, 404);
  EXPECT_EQ(server_.Get(kPods + "/grandchild").status, 404);
}

class CollectionDeletionTest : public DeletionTest {
 protected:
  static constexpr size_t kObjects = 500;

  CollectionDeletionTest() {
    for (size_t i = 0; i < kObjects; ++i) server_.MakeConfig(fmt::format("c-{:03}", i), R"(,"labels":{"many":"yes"})");
    server_.MakeConfig("other");
    server_.set_run_due_tasks(false);
  }
  size_t Left() { return server_.server().store().Count("configmaps") - 1; }
  std::shared_ptr<Reply> BeginDeletion() { return server_.Begin("DELETE", kConfigs + "?labelSelector=many"); }
};

TEST_F(CollectionDeletionTest, OthersAreServedBetweenItsSlices) {
  const auto reply = BeginDeletion();
  EXPECT_EQ(reply->status, 0);
  EXPECT_GT(Left(), 0U);
  EXPECT_LT(Left(), kObjects);
  EXPECT_EQ(server_.Get(kConfigs + "/c-499").status, 200);
  server_.time().RunDueTasks();
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(Left(), 0U);
  EXPECT_EQ(server_.Get(kConfigs + "/other").status, 200);
  const json::value list = *ParseJson(reply->body);
  EXPECT_EQ(FindString(list, "kind"), "ConfigMapList");
  EXPECT_EQ(Find(list, "items")->as_array().size(), kObjects);
}

TEST_F(CollectionDeletionTest, AnObjectMadeAnewMeanwhileGoesByItsName) {
  const auto reply = BeginDeletion();
  server_.Delete(kConfigs + "/c-499");
  server_.Delete(kConfigs + "/c-498");
  server_.MakeConfig("c-499", R"(,"labels":{"many":"yes"})");
  server_.time().RunDueTasks();
  EXPECT_EQ(Left(), 0U);
  EXPECT_EQ(Find(*ParseJson(reply->body), "items")->as_array().size(), kObjects - 1);
}

TEST_F(CollectionDeletionTest, ARestartBreaksItOff) {
  const auto reply = BeginDeletion();
  const size_t left = Left();
  server_.server().Restart();
  server_.time().RunDueTasks();
  EXPECT_TRUE(reply->broken);
  EXPECT_EQ(Left(), left);
  EXPECT_EQ(server_.server().log().back().deleted.size(), kObjects - left);
}

TEST(SlowCollectionDeletionTest, ItPausesAndIsGivenUpAtItsTimeout) {
  ApiServerOptions options;
  options.collection_slice = 2;
  options.collection_pause = absl::Seconds(1);
  TestServer server(options);
  for (int i = 0; i < 9; ++i) server.MakeConfig(fmt::format("c-{}", i), R"(,"labels":{"many":"yes"})");
  server.set_run_due_tasks(false);
  const absl::Time begin = server.time().Now();
  const auto reply = server.Begin("DELETE", kConfigs + "?labelSelector=many&timeout=2500ms");
  server.time().Advance(absl::Milliseconds(1500));
  EXPECT_EQ(server.server().store().Count("configmaps"), 5U);
  EXPECT_EQ(reply->status, 0);
  server.time().Advance(absl::Seconds(10));
  EXPECT_EQ(server.server().store().Count("configmaps"), 3U);
  EXPECT_EQ(reply->status, 504);
  const LoggedRequest& logged = server.server().log().back();
  EXPECT_EQ(logged.label_selector, "many");
  EXPECT_EQ(logged.chosen, begin);
  ASSERT_EQ(logged.deleted.size(), 6U);
  EXPECT_EQ(logged.deleted.front().name, "c-0");
  EXPECT_EQ(logged.status, 504);
}

TEST_F(CollectionDeletionTest, TheServerMayEndMeanwhile) {
  const auto reply = BeginDeletion();
  server_.Destroy();
  server_.time().RunDueTasks();
  EXPECT_TRUE(reply->broken);
}

TEST_F(DeletionTest, ALargeNamespaceAndALargeKindAreEmptiedWhole) {
  ASSERT_EQ(server_.Post("/api/v1/namespaces", R"({"metadata":{"name":"x"}})").status, 201);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(
        server_.Post("/api/v1/namespaces/x/configmaps", fmt::format(R"({{"metadata":{{"name":"c-{}"}}}})", i)).status,
        201);
  }
  server_.MakeConfig("other");
  EXPECT_EQ(server_.Delete("/api/v1/namespaces/x").status, 200);
  EXPECT_EQ(server_.Get("/api/v1/namespaces/x").status, 404);
  EXPECT_EQ(server_.server().store().Count("configmaps"), 1U);
}

TEST_F(DeletionTest, AnOwnerInTheForegroundWaitsForManyAndForALateOne) {
  const Reply owner = server_.MakeConfig("owner");
  const std::string meta = OwnerMeta(owner, "ConfigMap", true);
  for (int i = 0; i < 500; ++i) server_.MakeConfig(fmt::format("c-{}", i), meta);
  server_.MakeConfig("stays", R"(,"finalizers":["example.com/f"])" + meta);
  server_.set_run_due_tasks(false);
  server_.Delete(kConfigs + "/owner", R"({"propagationPolicy":"Foreground"})");
  server_.MakeConfig("late", meta);
  server_.time().RunDueTasks();
  EXPECT_EQ(server_.Get(kConfigs + "/late").status, 404);
  EXPECT_EQ(server_.server().store().Count("configmaps"), 2U);
  server_.set_run_due_tasks(true);
  server_.Merge(kConfigs + "/stays", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(server_.server().store().Count("configmaps"), 0U);
}

}  // namespace
}  // namespace basalt::kubesim
