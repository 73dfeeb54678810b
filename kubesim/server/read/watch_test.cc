#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

constexpr char kPods[] = "/api/v1/namespaces/default/pods";
const std::string kPodA = "/api/v1/namespaces/default/pods/a";

std::string Version(TestServer& server) { return server.Get(kPods).version(); }

TEST(WatchTest, FromAVersionOnlyLaterChangesAreSeen) {
  TestServer server;
  const Reply a = server.MakePod("a");
  TestWatch watch = server.Watch(fmt::format("{}?watch=true&resourceVersion={}", kPods, a.version()));
  EXPECT_EQ(watch.reply->status, 200);
  EXPECT_EQ(watch.TakeText(), "");
  const Reply b = server.MakePod("b");
  const Reply patched = server.Merge(kPodA, R"({"metadata":{"labels":{"x":"1"}}})");
  EXPECT_EQ(watch.TakeText(), fmt::format("ADDED b@{} MODIFIED a@{}", b.version(), patched.version()));
}

TEST(WatchTest, WithoutAVersionAndFromZeroTheStateComesFirst) {
  TestServer server;
  const Reply a = server.MakePod("a");
  for (const char* version : {"", "&resourceVersion=0"}) {
    TestWatch watch = server.Watch(fmt::format("{}?watch=1{}", kPods, version));
    EXPECT_EQ(watch.TakeText(), "ADDED a@" + a.version());
  }
}

TEST(WatchTest, LeavingTheSelectorIsADeletionWithTheLastMatchingStateAndTheChangesVersion) {
  TestServer server;
  const Reply a = server.MakePod("a", R"({"app":"x","n":"1"})");
  TestWatch watch =
      server.Watch(fmt::format("{}?watch=true&labelSelector=app%3Dx&resourceVersion={}", kPods, a.version()));
  const Reply left = server.Merge(kPodA, R"({"metadata":{"labels":{"app":"y","n":"2"}}})");
  auto events = watch.Take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(FindString(events[0], "type"), "DELETED");
  EXPECT_EQ(FindPath(events[0], {"object", "metadata", "labels", "n"})->get_string(), "1");
  EXPECT_EQ(FindPath(events[0], {"object", "metadata", "resourceVersion"})->get_string().c_str(), left.version());
  server.Merge(kPodA, R"({"metadata":{"labels":{"n":"3"}}})");
  EXPECT_EQ(watch.TakeText(), "");
  const Reply back = server.Merge(kPodA, R"({"metadata":{"labels":{"app":"x"}}})");
  EXPECT_EQ(watch.TakeText(), "ADDED a@" + back.version());
}

TEST(WatchTest, FieldSelectorsFollowTheStatus) {
  TestServer server;
  const Reply a = server.MakePod("a");
  TestWatch pending = server.Watch(
      fmt::format("{}?watch=true&fieldSelector=status.phase%3DPending&resourceVersion={}", kPods, a.version()));
  TestWatch others = server.Watch(
      fmt::format("{}?watch=true&fieldSelector=status.phase!%3DPending&resourceVersion={}", kPods, a.version()));
  const Reply running = server.Merge(kPodA + "/status", R"({"status":{"phase":"Running"}})");
  EXPECT_EQ(pending.TakeText(), "DELETED a@" + running.version());
  EXPECT_EQ(others.TakeText(), "ADDED a@" + running.version());
}

TEST(WatchTest, ADeletionShowsTheLastStateWithTheDeletionsVersion) {
  TestServer server;
  const Reply c = server.MakeConfig("c", "", R"({"k":"1"})");
  TestWatch watch = server.Watch("/api/v1/configmaps?watch=true&resourceVersion=" + c.version());
  server.Delete("/api/v1/namespaces/default/configmaps/c");
  auto events = watch.Take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(FindString(events[0], "type"), "DELETED");
  EXPECT_EQ(FindPath(events[0], {"object", "data", "k"})->get_string(), "1");
  EXPECT_GT(std::stoll(FindPath(events[0], {"object", "metadata", "resourceVersion"})->get_string().c_str()),
            std::stoll(c.version()));
}

TEST(WatchTest, AForgottenVersionIsA410Event) {
  TestServer server;
  const Reply a = server.MakePod("a");
  server.MakePod("b");
  server.server().ForgetHistory();
  TestWatch watch = server.Watch(fmt::format("{}?watch=true&resourceVersion={}", kPods, a.version()));
  EXPECT_EQ(watch.reply->status, 200);
  auto events = watch.Take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(FindString(events[0], "type"), "ERROR");
  EXPECT_EQ(FindInt(*Find(events[0], "object"), "code"), 410);
  EXPECT_EQ(FindString(*Find(events[0], "object"), "reason"), "Expired");
  EXPECT_TRUE(watch.reply->ended);
}

TEST(WatchTest, AnOpenWatchSurvivesThatHistoryIsForgotten) {
  TestServer server;
  server.MakePod("a");
  TestWatch watch = server.Watch(fmt::format("{}?watch=true&resourceVersion={}", kPods, Version(server)));
  server.set_run_due_tasks(false);
  const Reply b = server.MakePod("b");
  server.server().ForgetHistory();
  server.time().RunDueTasks();
  EXPECT_EQ(watch.TakeText(), "ADDED b@" + b.version());
}

TEST(WatchTest, AFullLogForgetsTheOldestChanges) {
  ApiServerOptions options;
  options.event_log_size = 3;
  TestServer server(options);
  const Reply a = server.MakePod("a");
  const std::string from_a = fmt::format("{}?watch=true&resourceVersion={}", kPods, a.version());
  for (const char* name : {"b", "c", "d"}) server.MakePod(name);
  EXPECT_EQ(server.Watch(from_a).Take().size(), 3U);
  server.MakePod("e");
  auto events = server.Watch(from_a).Take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(FindString(events[0], "type"), "ERROR");
}

TEST(WatchTest, BookmarksComeWhenNothingElseDoes) {
  ApiServerOptions options;
  options.bookmark_interval = absl::Seconds(10);
  TestServer server(options);
  server.MakePod("a");
  TestWatch with =
      server.Watch(fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}", kPods, Version(server)));
  TestWatch without = server.Watch(fmt::format("{}?watch=true&resourceVersion={}", kPods, Version(server)));
  // A change of another resource raises the version of the bookmark.
  const Reply config = server.MakeConfig("c");
  server.time().Advance(absl::Seconds(11));
  EXPECT_EQ(with.TakeText(), "BOOKMARK@" + config.version());
  EXPECT_EQ(without.TakeText(), "");
  server.time().Advance(absl::Seconds(10));
  EXPECT_EQ(with.TakeText(), "BOOKMARK@" + config.version());
}

TEST(WatchTest, AStreamingListEndsWithItsBookmark) {
  TestServer server;
  const Reply a = server.MakePod("a");
  const Reply b = server.MakePod("b");
  TestWatch watch = server.Watch(fmt::format(
      "{}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", kPods));
  auto events = watch.Take();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(FindString(events[0], "type"), "ADDED");
  EXPECT_EQ(FindString(events[2], "type"), "BOOKMARK");
  const json::value* annotations = FindPath(events[2], {"object", "metadata", "annotations"});
  ASSERT_NE(annotations, nullptr);
  EXPECT_EQ(FindString(*annotations, "k8s.io/initial-events-end"), "true");
  EXPECT_EQ(FindPath(events[2], {"object", "metadata", "resourceVersion"})->get_string().c_str(), b.version());
  const Reply c = server.MakePod("c");
  EXPECT_EQ(watch.TakeText(), "ADDED c@" + c.version());
  EXPECT_EQ(server.Watch(std::string(kPods) + "?watch=true&sendInitialEvents=true").reply->status, 422);
}

TEST(WatchTest, TimeoutSecondsEndsItCleanly) {
  TestServer server;
  TestWatch watch = server.Watch(std::string(kPods) + "?watch=true&timeoutSeconds=5");
  server.time().Advance(absl::Seconds(4));
  EXPECT_FALSE(watch.reply->ended);
  server.time().Advance(absl::Seconds(2));
  EXPECT_TRUE(watch.reply->ended);
  EXPECT_EQ(server.server().open_watches(), 0U);
}

TEST(WatchTest, AWatchWithoutATimeoutEndsWithinTheHour) {
  TestServer server;
  TestWatch watch = server.Watch(std::string(kPods) + "?watch=true");
  server.time().Advance(absl::Minutes(29));
  EXPECT_FALSE(watch.reply->ended);
  server.time().Advance(absl::Minutes(32));
  EXPECT_TRUE(watch.reply->ended);
}

TEST(WatchTest, APeerThatDoesNotReadIsCutOff) {
  TestServer server;
  TestWatch watch = server.Watch(std::string(kPods) + "?watch=true");
  watch.writer.lock()->set_buffered(100 << 20);
  server.MakePod("a");
  EXPECT_TRUE(watch.reply->ended);
  EXPECT_EQ(server.server().open_watches(), 0U);
}

TEST(WatchTest, APeerThatGoesIsForgotten) {
  TestServer server;
  TestWatch watch = server.Watch(std::string(kPods) + "?watch=true");
  watch.writer.lock()->Close();
  EXPECT_EQ(server.server().open_watches(), 0U);
  server.MakePod("a");
  EXPECT_EQ(watch.TakeText(), "");
}

TEST(WatchTest, OneObjectByName) {
  TestServer server;
  const Reply a = server.MakePod("a");
  server.MakePod("b");
  EXPECT_EQ(server.Get(kPodA + "?watch=true").At({"kind"}), "Pod");  // The path of one object is not watched.
  EXPECT_EQ(server.Watch(std::string(kPods) + "?watch=true&fieldSelector=metadata.name%3Da").TakeText(),
            "ADDED a@" + a.version());
  EXPECT_EQ(server.Watch("/api/v1/watch/namespaces/default/pods/a").TakeText(), "ADDED a@" + a.version());
}

TEST(WatchTest, BadSelectorsAndVersionsAreRefused) {
  TestServer server;
  const std::string watch = std::string(kPods) + "?watch=true&";
  for (const char* query : {"labelSelector=a%20b", "fieldSelector=spec.foo%3D1", "timeoutSeconds=x"}) {
    const auto reply = server.Watch(watch + query).reply;
    EXPECT_EQ(reply->status, 400) << query << reply->body;
    EXPECT_TRUE(reply->ended);
  }
  EXPECT_EQ(server.Watch(watch + "resourceVersion=x").reply->status, 500);
  EXPECT_EQ(server.Watch(watch + "continue=x").reply->status, 422);
}

TEST(WatchTest, AWatchFromNowhereIsMarkedLikeAStreamingList) {
  TestServer server;
  server.MakePod("a");
  for (const char* version : {"", "&resourceVersion=0"}) {
    TestWatch watch = server.Watch(fmt::format("{}?watch=true&allowWatchBookmarks=true{}", kPods, version));
    const std::vector<json::value> events = watch.Take();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_NE(FindPath(events[1], {"object", "metadata", "annotations", "k8s.io/initial-events-end"}), nullptr);
  }
}

TEST(WatchTest, WhatCannotBeServedAnyMoreOrYetEndsAtOnce) {
  TestServer server;
  const std::string watch = std::string(kPods) + "?watch=true&";
  EXPECT_TRUE(server.Watch(watch + "timeoutSeconds=-1").reply->ended);
  const auto future =
      server.Watch(watch + "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999").reply;
  EXPECT_EQ(future->status, 200);
  EXPECT_TRUE(future->ended);
  EXPECT_NE(future->body.find("Too large resource version: 999"), std::string::npos) << future->body;
}

TEST(WatchTest, StalledWatchesCatchUpAndDroppedOnesBreak) {
  TestServer server;
  TestWatch watch =
      server.Watch(fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}", kPods, Version(server)));
  server.server().StallWatches("pods");
  const Reply a = server.MakePod("a");
  server.time().Advance(absl::Minutes(2));
  EXPECT_EQ(watch.TakeText(), "");
  server.server().ReleaseWatches();
  server.time().RunDueTasks();
  EXPECT_EQ(watch.TakeText(), "ADDED a@" + a.version());
  server.server().DropWatches();
  EXPECT_TRUE(watch.reply->broken);
}

TEST(WatchTest, TheServerMayGoWhileWatchesAreOpen) {
  TestServer server;
  TestWatch watch = server.Watch(std::string(kPods) + "?watch=true&allowWatchBookmarks=true");
  server.Destroy();
  EXPECT_TRUE(watch.reply->broken);
  server.time().Advance(absl::Hours(2));
}

TEST(WatchTest, ATableIsWatchedRowByRowWithColumnsOnce) {
  TestServer server;
  server.MakePod("a");
  TestWatch watch =
      server.Watch(std::string(kPods) + "?watch=true", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
  server.MakePod("b");
  auto events = watch.Take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(FindString(*Find(events[0], "object"), "kind"), "Table");
  EXPECT_TRUE(FindPath(events[0], {"object", "columnDefinitions"})->is_array());
  const json::value* second = FindPath(events[1], {"object", "columnDefinitions"});
  EXPECT_TRUE(second == nullptr || second->is_null() || second->get_array().empty());
  EXPECT_EQ(FindPath(events[1], {"object", "rows"})->get_array().size(), 1U);
}

}  // namespace
}  // namespace basalt::kubesim
