#include "gateway/server/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/exec/sim_loop.h"
#include "common/time/sim_time.h"
#include "gateway/kube/testing.h"

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

class WatchTest : public ::testing::Test, public CacheListener {
 protected:
  void OnState(ObjectId) override { ++states; }
  void OnDeparture(ObjectId, const Departure&) override { ++departures; }
  void OnWatch(WatchIndex) override {}
  obs::Health::Target Target() const { return health.Targets().at(0); }

  SimTime time;
  SimLoop loop{time, "gateway"};
  ScriptedClient client;
  SeededRandom random{1};
  ApiClock clock{loop};
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  obs::Health health;
  Cache cache{{"queues.scheduling.volcano.sh"}, *this};
  ReflectorOptions options = {.watch = "queues.scheduling.volcano.sh",
                              .path = "/apis/scheduling.volcano.sh/v1beta1/queues",
                              .kind = ObjectKind::kQueue,
                              .streaming_list = ReflectorOptions::StreamingList::kOff};
  int states = 0, departures = 0;
};

TEST_F(WatchTest, WhatTheReflectorShowsIsInTheCacheAndReadinessNamesTheWatch) {
  Watch watch(loop, client, random, clock, *metrics, health, cache, 0, options);
  EXPECT_EQ(Target().name, "watch queues.scheduling.volcano.sh");
  EXPECT_FALSE(Target().ready);
  watch.Start();
  time.Settle();
  client.last().Answer(
      200, R"({"metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a","uid":"1","resourceVersion":"4"}},
               {"metadata":{"name":"b","uid":"2","resourceVersion":"5"}}]})");
  time.Settle();
  EXPECT_TRUE(Target().ready);
  EXPECT_EQ(states, 2);
  EXPECT_EQ(cache.watches()[0].resource_version, 10);

  client.last().Head(200);
  client.last().Chunk(R"({"type":"DELETED","object":{"metadata":{"name":"a","uid":"1","resourceVersion":"12"}}})"
                      "\n"
                      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}})"
                      "\n");
  EXPECT_EQ(departures, 1);
  EXPECT_EQ(cache.watches()[0].resource_version, 20);
  EXPECT_EQ(cache.watches()[0].objects, 1);
  EXPECT_THAT(metrics->Text(), HasSubstr("gateway_watch_events_total{watch=\"queues.scheduling.volcano.sh\"} 1"));
}

TEST_F(WatchTest, AKindThatIsNotServedIsAbsentAndReady) {
  Watch watch(loop, client, random, clock, *metrics, health, cache, 0, options);
  watch.Start();
  time.Settle();
  client.last().Answer(404, "404 page not found");
  time.Settle();
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_ABSENT);
  EXPECT_TRUE(Target().ready);
}

TEST_F(WatchTest, AForbiddenKindIsNotReadyAndSaysWhy) {
  Watch watch(loop, client, random, clock, *metrics, health, cache, 0, options);
  watch.Start();
  time.Settle();
  client.last().Answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no list for you"})");
  time.Settle();
  EXPECT_EQ(cache.watches()[0].state, v1::Mark::STATE_FORBIDDEN);
  EXPECT_FALSE(Target().ready);
  EXPECT_THAT(Target().why, HasSubstr("no list for you"));
}

TEST_F(WatchTest, WhileTheServerIsAwayReadinessSaysWhatFails) {
  Watch watch(loop, client, random, clock, *metrics, health, cache, 0, options);
  watch.Start();
  time.Settle();
  client.last().End(absl::UnavailableError("connection refused"));
  time.Settle();
  EXPECT_THAT(Target().why, HasSubstr("connection refused"));
  EXPECT_FALSE(cache.watches()[0].resolved());
}

TEST(WatchesTest, PodWatchesAreDisjointBySelector) {
  const auto watches = WatchesFor({"volcano", "kai"}, true);
  ASSERT_EQ(watches.size(), 8u);
  EXPECT_EQ(watches[5].watch, "pods/job");
  EXPECT_EQ(watches[5].label_selector, "volcano.sh/job-name");
  EXPECT_EQ(watches[7].watch, "pods/scheduler=kai");
  EXPECT_EQ(watches[7].field_selector, "spec.schedulerName=kai");
  EXPECT_EQ(watches[7].label_selector, "!volcano.sh/job-name");
}

}  // namespace
}  // namespace basalt::gateway
