#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

const std::string kConfigs = "/api/v1/namespaces/default/configmaps";

class FaultsTest : public ::testing::Test {
 protected:
  void Add(FaultRule rule) { server_.server().faults().Add(std::move(rule)); }
  TestServer server_;
};

TEST_F(FaultsTest, ALostAnswerHasTakenEffectAndALostRequestHasNot) {
  Add({.verb = "create", .action = FaultAction::kDropAnswer, .count = 1});
  Reply reply = server_.MakeConfig("a");
  EXPECT_EQ(reply.status, 0);
  EXPECT_TRUE(server_.Get(kConfigs + "/a").status == 200);
  EXPECT_TRUE(server_.server().log().back().dropped_answer);
  EXPECT_EQ(server_.server().log().back().status, 201);
  Add({.verb = "*", .action = FaultAction::kDropRequest, .count = 1});
  EXPECT_EQ(server_.MakeConfig("b").status, 0);
  EXPECT_EQ(server_.Get(kConfigs + "/b").status, 404);
  EXPECT_TRUE(server_.server().log().back().dropped_request);
  EXPECT_EQ(server_.MakeConfig("b").status, 201) << "the rule is used up";
}

TEST_F(FaultsTest, InjectedAnswers) {
  const std::pair<int, const char*> cases[] = {{409, "Conflict"},
                                               {410, "Expired"},
                                               {429, "TooManyRequests"},
                                               {500, "InternalError"},
                                               {503, "ServiceUnavailable"}};
  for (const auto& [code, reason] : cases) {
    Add({.resource = "configmaps", .code = code, .retry_after_seconds = 2, .admission = true, .count = 1});
    const Reply reply = server_.MakeConfig("a");
    EXPECT_EQ(reply.status, code);
    EXPECT_EQ(reply.reason(), reason);
    if (code == 429) {
      EXPECT_EQ(http::FindHeader(reply.headers, "Retry-After"), "2");
    }
  }
  EXPECT_EQ(server_.Get(kConfigs + "/a").status, 404);
}

TEST_F(FaultsTest, FlowControlRefusesInPlainTextAsTheRealServerDoes) {
  Add({.verb = "create", .code = 429, .retry_after_seconds = 2, .count = 1});
  const Reply reply = server_.MakeConfig("a");
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.body, "Too many requests, please try again later.\n");
  EXPECT_EQ(http::FindHeader(reply.headers, "Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(http::FindHeader(reply.headers, "Retry-After"), "2");
  EXPECT_EQ(server_.server().log().back().status, 429);
  EXPECT_EQ(server_.Get(kConfigs + "/a").status, 404);
}

TEST_F(FaultsTest, ADelayedRequestIsGivenUpAtItsTimeout) {
  Add({.verb = "create", .action = FaultAction::kDelay, .delay = absl::Seconds(10)});
  const auto given_up = server_.Begin("POST", kConfigs + "?timeout=4s", R"({"metadata":{"name":"a"}})");
  const auto in_time = server_.Begin("POST", kConfigs + "?timeout=20s", R"({"metadata":{"name":"b"}})");
  server_.time().Advance(absl::Seconds(5));
  EXPECT_EQ(given_up->status, 504) << given_up->body;
  EXPECT_EQ(in_time->status, 0);
  server_.time().Advance(absl::Seconds(10));
  EXPECT_EQ(in_time->status, 201);
  EXPECT_EQ(server_.Get(kConfigs + "/a").status, 404);
}

TEST_F(FaultsTest, RulesMatchVerbResourceAndName) {
  Add({.verb = "patch", .resource = "pods/status", .name = "a", .code = 500});
  server_.MakePod("a");
  server_.MakePod("b");
  const std::string pods = "/api/v1/namespaces/default/pods/";
  EXPECT_EQ(server_.Merge(pods + "a", "{}").status, 200);
  EXPECT_EQ(server_.Merge(pods + "b/status", "{}").status, 200);
  EXPECT_EQ(server_.Merge(pods + "a/status", "{}").status, 500);
  server_.server().faults().Clear();
  EXPECT_EQ(server_.Merge(pods + "a/status", "{}").status, 200);
}

TEST_F(FaultsTest, ADelayedRequestActsLaterAndMayOutliveTheServer) {
  Add({.action = FaultAction::kDelay, .delay = absl::Milliseconds(500), .count = 2});
  EXPECT_EQ(server_.MakeConfig("a").status, 0);
  EXPECT_EQ(server_.Get(kConfigs + "/a").status, 0) << "the second delayed one";
  server_.time().Advance(absl::Seconds(1));
  EXPECT_EQ(server_.Get(kConfigs + "/a").status, 200);
  Add({.action = FaultAction::kDelay, .delay = absl::Milliseconds(500)});
  server_.MakeConfig("b");
  server_.Destroy();
  server_.time().Advance(absl::Seconds(1));
}

TEST_F(FaultsTest, ChanceComesFromTheServersRandom) {
  Add({.code = 503, .probability = 0.5});
  int failed = 0;
  for (int i = 0; i < 200; ++i) failed += server_.Get(kConfigs).status == 503 ? 1 : 0;
  EXPECT_GT(failed, 60);
  EXPECT_LT(failed, 140);
}

TEST_F(FaultsTest, RestartBreaksConnectionsAndKeepsTheStore) {
  server_.MakeConfig("a");
  TestWatch watch = server_.Watch(kConfigs + "?watch=true");
  server_.server().Restart();
  EXPECT_TRUE(watch.reply->broken);
  EXPECT_EQ(server_.Get(kConfigs + "/a").status, 200);
}

TEST_F(FaultsTest, WatchesAreRefusedByRulesToo) {
  Add({.verb = "watch", .code = 410, .count = 1});
  EXPECT_EQ(server_.Watch(kConfigs + "?watch=true").reply->status, 410);
  EXPECT_EQ(server_.Watch(kConfigs + "?watch=true").reply->status, 200);
}

TEST_F(FaultsTest, TheLogHasEveryWriteWithItsOutcome) {
  server_.server().ClearLog();
  const Reply made = server_.MakeConfig("a", "", R"({"k":"1"})");
  server_.MakeConfig("a");
  server_.Get(kConfigs);
  server_.Delete(kConfigs + "/a");
  const auto& log = server_.server().log();
  ASSERT_EQ(log.size(), 3U);
  EXPECT_EQ(log[0].verb, "create");
  EXPECT_EQ(log[0].resource, "configmaps");
  EXPECT_EQ(log[0].name, "a");
  EXPECT_EQ(log[0].status, 201);
  EXPECT_EQ(log[0].uid, made.uid());
  EXPECT_EQ(std::to_string(log[0].resource_version), made.version());
  EXPECT_EQ(FindPath(log[0].body, {"data", "k"})->get_string(), "1");
  EXPECT_EQ(log[1].status, 409);
  EXPECT_EQ(log[2].verb, "delete");
  EXPECT_EQ(log[2].uid, made.uid());
  EXPECT_EQ(Find(server_.Get("/kubesim/log").json, "requests")->get_array().size(), 3U);
}

TEST_F(FaultsTest, TheLogTellsPartsOfASecond) {
  server_.time().Advance(absl::Microseconds(1'250'007));
  server_.server().ClearLog();
  server_.MakeConfig("a");
  const absl::Time made = server_.server().log().front().time;
  const json::value log = server_.Get("/kubesim/log").json;
  absl::Time logged;
  std::string error;
  ASSERT_TRUE(
      absl::ParseTime(absl::RFC3339_full, std::string(FindString(log.at("requests").at(0), "time")), &logged, &error))
      << error;
  EXPECT_EQ(logged, made);
}

}  // namespace
}  // namespace basalt::kubesim
