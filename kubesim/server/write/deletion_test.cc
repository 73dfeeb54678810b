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

TEST_F(DeletionTest, AScheduledPodIsGivenItsGraceAndTheNodeEndsIt) {
  ScheduledPod("a");
  const Reply marked = server_.Delete(kPods + "/a");
  EXPECT_EQ(marked.status, 200);
  EXPECT_EQ(marked.At({"metadata", "deletionGracePeriodSeconds"}), "30");
  EXPECT_EQ(marked.At({"metadata", "deletionTimestamp"}), "2025-06-15T15:07:10Z");
  // A second deletion without a shorter grace changes nothing.
  EXPECT_EQ(server_.Delete(kPods + "/a").version(), marked.version());
  const Reply hurried = server_.Delete(kPods + "/a", R"({"gracePeriodSeconds":5})");
  EXPECT_EQ(hurried.At({"metadata", "deletionTimestamp"}), "2025-06-15T15:06:45Z");
  EXPECT_EQ(server_.Delete(kPods + "/a", R"({"gracePeriodSeconds":20})").version(), hurried.version());
  EXPECT_EQ(server_.Delete(kPods + "/a?gracePeriodSeconds=0").status, 200);
  EXPECT_EQ(server_.Get(kPods + "/a").status, 404);
}

TEST_F(DeletionTest, AFinishedPodGoesAtOnce) {
  ScheduledPod("a");
  server_.Merge(kPods + "/a/status", R"({"status":{"phase":"Succeeded"}})");
  server_.Delete(kPods + "/a");
  EXPECT_EQ(server_.Get(kPods + "/a").status, 404);
}

TEST_F(DeletionTest, Preconditions) {
  const Reply made = server_.MakeConfig("c");
  const Reply uid = server_.Delete(kConfigs + "/c", R"({"preconditions":{"uid":"other"}})");
  EXPECT_EQ(uid.status, 409);
  EXPECT_EQ(uid.reason(), "Conflict");
  EXPECT_EQ(server_.Delete(kConfigs + "/c", R"({"preconditions":{"resourceVersion":"1"}})").status, 409);
  const Reply done = server_.Delete(
      kConfigs + "/c",
      fmt::format(R"({{"preconditions":{{"uid":"{}","resourceVersion":"{}"}}}})", made.uid(), made.version()));
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.At({"status"}), "Success");
  EXPECT_EQ(done.At({"details", "uid"}), made.uid());
  EXPECT_EQ(server_.Delete(kConfigs + "/c").status, 404);
}

TEST_F(DeletionTest, FinalizersHoldAnObjectUntilTheLastIsRemoved) {
  server_.MakeConfig("c", R"(,"finalizers":["example.com/a"])");
  const Reply marked = server_.Delete(kConfigs + "/c");
  EXPECT_EQ(marked.At({"kind"}), "ConfigMap");
  EXPECT_FALSE(marked.At({"metadata", "deletionTimestamp"}).empty());
  EXPECT_EQ(server_.Delete(kConfigs + "/c").version(), marked.version());
  const Reply more = server_.Merge(kConfigs + "/c", R"({"metadata":{"finalizers":["example.com/a","example.com/b"]}})");
  EXPECT_EQ(more.status, 422) << more.body;
  EXPECT_EQ(server_.Merge(kConfigs + "/c", R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(server_.Get(kConfigs + "/c").status, 404);
}

TEST_F(DeletionTest, AMarkedPodWithAFinalizerStaysUntilGraceIsOverAndTheFinalizerIsGone) {
  ScheduledPod("a", R"(,"finalizers":["example.com/a"])");
  server_.Delete(kPods + "/a");
  server_.Merge(kPods + "/a", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(server_.Get(kPods + "/a").status, 200);
  server_.Delete(kPods + "/a?gracePeriodSeconds=0");
  EXPECT_EQ(server_.Get(kPods + "/a").status, 404);
}

TEST_F(DeletionTest, CollectionsAreDeletedBySelector) {
  for (const char* name : {"a", "b", "c"}) {
    server_.MakePod(name, fmt::format(R"({{"set":"{}"}})", name == std::string("c") ? "y" : "x"));
  }
  server_.Merge(kPods + "/b/status", R"({"status":{"phase":"Succeeded"}})");
  const Reply reply =
      server_.Delete(kPods + "?labelSelector=set%3Dx&fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.At({"kind"}), "PodList");
  EXPECT_EQ(Find(reply.json, "items")->get_array().size(), 1U);
  EXPECT_EQ(Find(server_.Get(kPods).json, "items")->get_array().size(), 2U);
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

TEST_F(DeletionTest, AnotherOwnerKeepsADependent) {
  const Reply one = server_.MakeConfig("one");
  const Reply two = server_.MakeConfig("two");
  server_.MakeConfig("child", fmt::format(R"(,"ownerReferences":[)"
                                          R"({{"apiVersion":"v1","kind":"ConfigMap","name":"one","uid":"{}"}},)"
                                          R"({{"apiVersion":"v1","kind":"ConfigMap","name":"two","uid":"{}"}}])",
                                          one.uid(), two.uid()));
  server_.Delete(kConfigs + "/one");
  const Reply child = server_.Get(kConfigs + "/child");
  ASSERT_EQ(child.status, 200);
  EXPECT_EQ(FindPath(child.json, {"metadata", "ownerReferences"})->get_array().size(), 1U);
  server_.Delete(kConfigs + "/two");
  EXPECT_EQ(server_.Get(kConfigs + "/child").status, 404);
}

TEST_F(DeletionTest, AnObjectWhoseOwnerNeverWasIsCollected) {
  Reply nobody;
  nobody.json =
      json::object{{"metadata", json::object{{"name", "x"}, {"uid", "00000000-0000-4000-8000-000000000000"}}}};
  EXPECT_EQ(server_.MakeConfig("child", OwnerMeta(nobody, "ConfigMap")).status, 201);
  EXPECT_EQ(server_.Get(kConfigs + "/child").status, 404);
}

TEST_F(DeletionTest, AnOwnerOfAKindThatIsNotServedKeepsItsDependents) {
  const std::string owners =
      R"(,"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Thing","name":"x","uid":"a-uid"}])";
  EXPECT_EQ(server_.MakeConfig("child", owners).status, 201);
  EXPECT_EQ(server_.Get(kConfigs + "/child").status, 200);
}

TEST_F(DeletionTest, InTheForegroundTheOwnerWaitsForBlockingDependents) {
  const Reply owner = server_.MakeConfig("owner");
  ScheduledPod("child", OwnerMeta(owner, "ConfigMap", /*blocks=*/true));
  server_.Delete(kConfigs + "/owner", R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(FindPath(server_.Get(kConfigs + "/owner").json, {"metadata", "finalizers"})->get_array().size(), 1U);
  EXPECT_FALSE(server_.Get(kPods + "/child").At({"metadata", "deletionTimestamp"}).empty());
  server_.Delete(kPods + "/child?gracePeriodSeconds=0");
  EXPECT_EQ(server_.Get(kConfigs + "/owner").status, 404);
}

TEST_F(DeletionTest, InTheForegroundDependentsThatDoNotBlockGoToo) {
  const Reply owner = server_.MakeConfig("owner");
  ScheduledPod("child", OwnerMeta(owner, "ConfigMap"));
  server_.Delete(kConfigs + "/owner?propagationPolicy=Foreground");
  EXPECT_EQ(server_.Get(kConfigs + "/owner").status, 404);
  EXPECT_FALSE(server_.Get(kPods + "/child").At({"metadata", "deletionTimestamp"}).empty());
}

TEST_F(DeletionTest, OrphansLoseTheirOwnerAndStay) {
  const Reply owner = server_.MakeConfig("owner");
  server_.MakeConfig("child", OwnerMeta(owner, "ConfigMap"));
  server_.Delete(kConfigs + "/owner?propagationPolicy=Orphan");
  EXPECT_EQ(server_.Get(kConfigs + "/owner").status, 404);
  const Reply child = server_.Get(kConfigs + "/child");
  EXPECT_EQ(child.status, 200);
  EXPECT_EQ(FindPath(child.json, {"metadata", "ownerReferences"}), nullptr);
}

TEST_F(DeletionTest, ANamespaceEmptiesItselfAndRefusesNewObjectsMeanwhile) {
  ASSERT_EQ(server_.Post("/api/v1/namespaces", R"({"metadata":{"name":"x"}})").status, 201);
  EXPECT_EQ(server_.Get("/api/v1/namespaces/x").At({"status", "phase"}), "Active");
  const std::string pods = "/api/v1/namespaces/x/pods";
  server_.Post(pods, TestServer::PodBody("a"));
  server_.Post(pods + "/a/binding", R"({"target":{"name":"n"}})");
  server_.Post("/api/v1/namespaces/x/configmaps", R"({"metadata":{"name":"c"}})");
  server_.Delete("/api/v1/namespaces/x");
  EXPECT_EQ(server_.Get("/api/v1/namespaces/x").At({"status", "phase"}), "Terminating");
  EXPECT_EQ(server_.Get("/api/v1/namespaces/x/configmaps/c").status, 404);
  const Reply refused = server_.Post(pods, TestServer::PodBody("b"));
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_EQ(refused.reason(), "Forbidden");
  server_.Delete(pods + "/a?gracePeriodSeconds=0");
  EXPECT_EQ(server_.Get("/api/v1/namespaces/x").status, 404);
  EXPECT_EQ(server_.Delete("/api/v1/namespaces/default").status, 403);
}

TEST_F(DeletionTest, EvictionDeletesAndBindingBindsOnce) {
  ScheduledPod("a");
  EXPECT_EQ(server_.Get(kPods + "/a").At({"spec", "nodeName"}), "n1");
  const Reply again = server_.Post(kPods + "/a/binding", R"({"target":{"name":"n2"}})");
  EXPECT_EQ(again.status, 409) << again.body;
  const Reply evicted =
      server_.Post(kPods + "/a/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}})");
  EXPECT_EQ(evicted.status, 201) << evicted.body;
  EXPECT_FALSE(server_.Get(kPods + "/a").At({"metadata", "deletionTimestamp"}).empty());
  EXPECT_NE(server_.Get(kPods + "/a").body.find("DisruptionTarget"), std::string::npos);
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

TEST_F(CollectionDeletionTest, WhatIsMadeAnewMeanwhileGoesByItsName) {
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

TEST_F(DeletionTest, AnOwnerOfManyWaitsInTheForegroundForAllOfThemAndForOneThatComesLate) {
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
