#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

constexpr char kPods[] = "/api/v1/namespaces/default/pods";

std::string Version(TestServer& server) { return server.Get(kPods).version(); }

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

}  // namespace
}  // namespace basalt::kubesim
