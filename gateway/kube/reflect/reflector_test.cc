#include "gateway/kube/reflect/reflector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/exec/sim_loop.h"
#include "gateway/kube/testing.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using Log = std::vector<std::string>;

// Logs each call as a short text.
class LoggingSink : public ReflectorSink {
 public:
  void OnReplace(std::vector<Decoded> objects, int64_t resource_version) override {
    std::string text = fmt::format("replace@{}", resource_version);
    for (const Decoded& decoded : objects) text += fmt::format(" {}", RefOf(decoded.object).name);
    log.push_back(text);
  }
  void OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) override {
    constexpr std::string_view kNames[] = {"added", "modified", "deleted"};
    log.push_back(
        fmt::format("{} {}@{}", kNames[static_cast<int>(type)], RefOf(decoded.object).name, resource_version));
  }
  void OnBookmark(int64_t resource_version) override { log.push_back(fmt::format("bookmark@{}", resource_version)); }
  void OnAbsent() override { log.push_back("absent"); }
  void OnForbidden(const std::string& message) override { log.push_back("forbidden " + message); }
  void OnError(const absl::Status& status) override {
    log.push_back("error");
    errors.push_back(status);
  }
  // Returns the log since the last call.
  Log Take() { return std::exchange(log, {}); }

  Log log;
  std::vector<absl::Status> errors;
};

// A reflector of its own that has started, for rows of a table.
struct Following {
  Following(Random& random, const ReflectorOptions& options) : reflector(loop, client, random, options, sink) {
    reflector.Start();
  }

  SimTime time;
  SimLoop loop{time, "g"};
  ScriptedClient client;
  LoggingSink sink;
  Reflector reflector;
};

class ReflectorTest : public ::testing::Test {
 protected:
  explicit ReflectorTest(ReflectorOptions::StreamingList streaming = ReflectorOptions::StreamingList::kOff) {
    options_.watch = "pods/job";
    options_.path = "/api/v1/pods";
    options_.kind = ObjectKind::kPod;
    options_.label_selector = "volcano.sh/job-name";
    options_.streaming_list = streaming;
  }

  void Start() {
    reflector_ = std::make_unique<Reflector>(loop_, client_, random_, options_, sink_, &clock_);
    reflector_->Start();
  }
  // Lists one pod, and opens the watch at 5 up to its head.
  void StartWatching() {
    Start();
    client_.last().Answer(200, Page(5, {Item("a", 3)}));
    client_.last().Head(200);
    EXPECT_EQ(sink_.Take(), Log{"replace@5 a"});
  }
  void Wait(absl::Duration duration) { time_.Advance(duration); }

  SimTime time_;
  SimLoop loop_{time_, "gateway"};
  ScriptedClient client_;
  SeededRandom random_{1};
  LoggingSink sink_;
  ApiClock clock_{loop_};
  ReflectorOptions options_;
  std::unique_ptr<Reflector> reflector_;
};

class StreamingReflectorTest : public ReflectorTest {
 protected:
  StreamingReflectorTest() : ReflectorTest(ReflectorOptions::StreamingList::kTry) {}
};

TEST_F(ReflectorTest, ListsInPagesThenWatchesFromTheFirstPagesVersion) {
  Start();
  EXPECT_EQ(client_.last().request().target, "/api/v1/pods?limit=500&labelSelector=volcano.sh%2Fjob-name");
  client_.last().Answer(200, Page(5, {Item("a", 3), Item("b", 4)}, "t1"));
  EXPECT_EQ(client_.last().Query("continue"), "t1");
  EXPECT_TRUE(sink_.Take().empty()) << "a list is told as a whole";
  client_.last().Answer(200, Page(6, {Item("c", 2)}));
  EXPECT_EQ(sink_.Take(), Log{"replace@5 a b c"});

  const ScriptedClient::Exchange& watch = client_.last();
  EXPECT_EQ(watch.Query("watch"), "true");
  EXPECT_EQ(watch.Query("resourceVersion"), "5");
  EXPECT_EQ(watch.Query("allowWatchBookmarks"), "true");
  EXPECT_EQ(watch.Query("labelSelector"), "volcano.sh/job-name");
  EXPECT_GE(std::stoi(watch.Query("timeoutSeconds")), 300);
  EXPECT_LE(std::stoi(watch.Query("timeoutSeconds")), 600);
  EXPECT_EQ(watch.request().timeout, absl::InfiniteDuration());
}

TEST_F(ReflectorTest, EventsAndBookmarksMoveTheVersionForward) {
  StartWatching();
  client_.last().Chunk(Line("ADDED", "b", 6) + Line("MODIFIED", "a", 7) + Line("DELETED", "b", 8) + Bookmark(20));
  EXPECT_EQ(sink_.Take(), (Log{"added b@6", "modified a@7", "deleted b@8", "bookmark@20"}));
  EXPECT_EQ(reflector_->resource_version(), 20);
}

TEST_F(ReflectorTest, ChunksMayBeCutAnywhere) {
  const std::string text = Line("ADDED", "b", 6) + Bookmark(9) + Line("DELETED", "b", 10);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Following it(random_, options_);
    it.client.last().Answer(200, Page(5, {}));
    it.client.last().Head(200);
    it.client.last().Chunk(text.substr(0, cut));
    it.client.last().Chunk(text.substr(cut));
    ASSERT_EQ(it.sink.Take(), (Log{"replace@5", "added b@6", "bookmark@9", "deleted b@10"})) << cut;
  }
}

struct EndCase {
  std::string_view what;
  absl::Status status;
  bool at_once;
};

TEST_F(ReflectorTest, ADisconnectedWatchGoesOnFromTheLastVersion) {
  const std::vector<EndCase> cases = {
      {"the server's timeout", absl::OkStatus(), true},
      {"silent for too long", absl::DeadlineExceededError("idle"), true},
      {"the connection broke", absl::UnknownError("reset"), false},
      {"could not connect", absl::UnavailableError("refused"), false},
  };
  for (const EndCase& c : cases) {
    for (const std::string_view half_line : {"", "{\"type\":\"MODI"}) {
      Following it(random_, options_);
      it.client.last().Answer(200, Page(5, {}));
      it.client.last().Head(200);
      it.client.last().Chunk(Line("ADDED", "b", 6) + Bookmark(17));
      it.client.last().Chunk(half_line);
      it.sink.Take();
      it.client.last().End(c.status);
      EXPECT_EQ(it.client.started(), c.at_once ? 3U : 2U) << c.what;
      it.time.Advance(absl::Milliseconds(100));
      ASSERT_EQ(it.client.started(), 3U) << c.what;
      EXPECT_EQ(it.client.last().Query("resourceVersion"), "17") << c.what;
      it.client.last().Head(200);
      it.client.last().Chunk(Line("ADDED", "c", 18));
      EXPECT_EQ(it.sink.log.back(), "added c@18") << c.what;
    }
  }
}

TEST_F(ReflectorTest, AnExpiredVersionIsListedAnewAtOnceAndReplacesTheContent) {
  for (const bool as_status : {false, true}) {
    Following it(random_, options_);
    it.client.last().Answer(200, Page(5, {Item("a", 3)}));
    if (as_status) {
      it.client.last().Answer(410, Refusal(410, "Expired"));
    } else {
      it.client.last().Head(200);
      it.client.last().Chunk("{\"type\":\"ERROR\",\"object\":" + Refusal(410, "Expired") + "}\n" +
                             Line("ADDED", "x", 99));
    }
    EXPECT_EQ(it.client.started(), 3U);
    EXPECT_EQ(it.client.last().Query("limit"), "500");
    EXPECT_EQ(it.client.open(), 1U);
    it.client.last().Answer(200, Page(50, {Item("b", 40)}));
    EXPECT_EQ(it.sink.Take(), (Log{"replace@5 a", "replace@50 b"}));
    EXPECT_EQ(it.client.last().Query("resourceVersion"), "50");
  }
}

TEST_F(ReflectorTest, AServerThatExpiresEverythingMeetsTheBackOff) {
  Start();
  for (int i = 0; i < 200 && time_.Now() < absl::FromUnixSeconds(1'750'000'000) + absl::Minutes(5); ++i) {
    if (client_.last().Query("watch") == "true") {
      client_.last().Answer(410, Refusal(410, "Expired"));
    } else {
      client_.last().Answer(200, Page(5, {}));
    }
    time_.AdvanceUntil([this] { return client_.last().open(); }, absl::Minutes(1));
  }
  EXPECT_LT(client_.started(), 60U) << "lists and watches in five minutes";
}

TEST_F(ReflectorTest, AnExpiredContinueTokenStartsTheListAgainAndAtLastTakesItWhole) {
  Start();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client_.last().Query("limit"), "500");
    client_.last().Answer(200, Page(5, {Item("a", 3)}, "t1"));
    client_.last().Answer(410, Refusal(410, "Expired"));
    Wait(absl::Seconds(1));
  }
  EXPECT_EQ(client_.last().Query("limit"), "");
  EXPECT_EQ(client_.last().Query("continue"), "");
  client_.last().Answer(200, Page(9, {Item("a", 3), Item("b", 4)}));
  EXPECT_EQ(sink_.Take(), (Log{"error", "error", "replace@9 a b"}));
}

TEST_F(ReflectorTest, AFailedListIsRepeatedWithGrowingJitteredWaits) {
  Start();
  std::vector<absl::Duration> waits;
  for (int i = 0; i < 14; ++i) {
    client_.last().End(absl::UnavailableError("refused"));
    const absl::Time before = time_.Now();
    ASSERT_TRUE(time_.AdvanceUntil([this] { return client_.last().open(); }, absl::Minutes(1)));
    waits.push_back(time_.Now() - before);
  }
  EXPECT_GE(waits.front(), absl::Milliseconds(50));
  EXPECT_LE(waits.front(), absl::Milliseconds(100));
  EXPECT_GE(waits.back(), absl::Seconds(15));
  EXPECT_LE(waits.back(), absl::Seconds(30));
}

TEST_F(ReflectorTest, AListThatBreaksOffIsForgotten) {
  Start();
  client_.last().Answer(200, Page(5, {Item("a", 3)}, "t1"));
  client_.last().Head(200);
  client_.last().Chunk("{\"metadata\":");
  client_.last().End(absl::UnknownError("reset"));
  Wait(absl::Seconds(1));
  EXPECT_EQ(client_.last().Query("continue"), "");
  client_.last().Answer(200, Page(8, {Item("b", 4)}));
  EXPECT_EQ(sink_.Take(), (Log{"error", "replace@8 b"}));
}

TEST_F(ReflectorTest, AKindIsAbsentUntilItIsServed) {
  Start();
  client_.last().Answer(404, "404 page not found");
  EXPECT_EQ(sink_.Take(), Log{"absent"});
  Wait(absl::Seconds(10));
  EXPECT_EQ(client_.started(), 1U) << "asked again slowly";
  Wait(absl::Seconds(40));
  ASSERT_EQ(client_.started(), 2U);
  client_.last().Answer(404, "404 page not found");
  EXPECT_TRUE(sink_.Take().empty()) << "told once";
  Wait(absl::Seconds(50));
  client_.last().Answer(200, Page(5, {Item("a", 3)}));
  EXPECT_EQ(sink_.Take(), Log{"replace@5 a"});
  client_.last().Answer(404, "gone again");
  EXPECT_EQ(sink_.Take(), Log{"absent"});
}

TEST_F(ReflectorTest, ForbiddenIsToldWithTheServersWordsAndListedAnewOnceAllowed) {
  StartWatching();
  client_.last().End();
  Wait(absl::Seconds(1));
  sink_.Take();
  client_.last().Answer(403, Refusal(403, "Forbidden"));
  EXPECT_EQ(sink_.Take(), Log{"forbidden no: Forbidden"});
  Wait(absl::Seconds(50));
  client_.last().Answer(200, Page(9, {Item("a", 3)}));
  EXPECT_EQ(sink_.Take(), Log{"replace@9 a"});
}

TEST_F(ReflectorTest, AServerThatHasJustStartedIsNotBelievedThatWeHaveNoRights) {
  StartWatching();
  client_.last().End(absl::UnknownError("reset"));
  for (int i = 0; i < 5; ++i) {
    time_.AdvanceUntil([this] { return client_.last().open(); }, absl::Seconds(10));
    EXPECT_EQ(client_.last().Query("resourceVersion"), "5");
    client_.last().Answer(403, Refusal(403, "Forbidden"));
  }
  const Log log = sink_.Take();
  EXPECT_EQ(std::count(log.begin(), log.end(), "error"), 6) << "tried again, and told as errors";
  time_.AdvanceUntil([this] { return client_.last().open(); }, absl::Seconds(10));
  Wait(absl::Seconds(30));
  client_.last().Answer(403, Refusal(403, "Forbidden"));
  EXPECT_EQ(sink_.Take(), Log{"forbidden no: Forbidden"});
}

TEST_F(ReflectorTest, RetryAfterIsHonoured) {
  Start();
  client_.last().Answer(429, Refusal(429, "TooManyRequests"), {{"Retry-After", "7"}});
  Wait(absl::Milliseconds(6900));
  EXPECT_EQ(client_.started(), 1U);
  Wait(absl::Milliseconds(3700));
  EXPECT_EQ(client_.started(), 2U) << "up to half as long again: not all watches at once";
}

TEST_F(ReflectorTest, NoAnswerHoldsUpAWatchForLongerThanHalfAMinute) {
  const std::string_view tomorrow =
      R"({"kind":"Status","code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":86400}})";
  const std::string_view page = "<html>503</html>";
  for (const auto& [code, body] : {std::pair(429, tomorrow), std::pair(503, page)}) {
    for (const bool while_watching : {false, true}) {
      Following it(random_, options_);
      if (while_watching) it.client.last().Answer(200, Page(5, {}));
      const size_t before = it.client.started();
      it.client.last().Answer(code, body, {{"Retry-After", "86400"}});
      it.time.Advance(absl::Seconds(10));
      EXPECT_EQ(it.client.started(), before) << code;
      it.time.Advance(absl::Seconds(20));
      EXPECT_EQ(it.client.started(), before + 1) << code;
    }
  }
}

TEST_F(ReflectorTest, AServerThatIsBusyOrStartingCostsNoList) {
  for (const int code : {429, 503, 401}) {
    Following it(random_, options_);
    it.client.last().Answer(200, Page(5, {}));
    for (int i = 0; i < 20; ++i) {
      it.client.last().Answer(code, Refusal(code, "Busy"), {{"Retry-After", "1"}});
      it.time.AdvanceUntil([&] { return it.client.last().open(); }, absl::Seconds(60));
      ASSERT_EQ(it.client.last().Query("resourceVersion"), "5") << code;
    }
  }
}

TEST_F(ReflectorTest, PagesComeCompressedAndWatchesPlainBothApartFromShortRequests) {
  StartWatching();
  EXPECT_TRUE(client_.at(0).request().compressed);
  EXPECT_FALSE(client_.at(1).request().compressed);
  EXPECT_TRUE(client_.at(0).request().bulk && client_.at(1).request().bulk);
}

TEST_F(ReflectorTest, AWatchThatKeepsFailingIsListedAnew) {
  StartWatching();
  for (int i = 0; i < 5; ++i) {
    if (i > 0) client_.last().Head(200);
    client_.last().End();
    time_.AdvanceUntil([this] { return client_.last().open(); }, absl::Seconds(10));
  }
  EXPECT_EQ(client_.last().Query("watch"), "");
  EXPECT_EQ(client_.last().Query("limit"), "500");
}

TEST_F(ReflectorTest, ALineOverTheBoundIsNamedAndListedAnew) {
  options_.max_line = 100;
  StartWatching();
  client_.last().Chunk("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"huge\"");
  client_.last().Chunk(std::string(100, 'x'));
  EXPECT_EQ(sink_.Take(), Log{"error"});
  EXPECT_NE(sink_.errors.back().message().find("huge"), absl::string_view::npos) << sink_.errors.back();
  EXPECT_NE(sink_.errors.back().message().find("pods/job"), absl::string_view::npos) << sink_.errors.back();
  Wait(absl::Seconds(1));
  EXPECT_EQ(client_.last().Query("limit"), "500");
}

TEST_F(ReflectorTest, AnUnreadableLineIsListedAnew) {
  StartWatching();
  client_.last().Chunk("{\"type\":\"ADDED\",\"object\":{]}\n" + Line("ADDED", "z", 6));
  EXPECT_EQ(sink_.Take(), Log{"error"});
  EXPECT_EQ(client_.open(), 0U);
  Wait(absl::Seconds(1));
  EXPECT_EQ(client_.last().Query("limit"), "500");
}

TEST_F(ReflectorTest, TheDateOfAnswersFeedsTheClock) {
  Start();
  const absl::Time date = loop_.Now() + absl::Seconds(2);
  client_.last().Answer(200, Page(5, {}),
                        {{"date", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", date, absl::UTCTimeZone())}});
  EXPECT_TRUE(clock_.known());
  EXPECT_NEAR(static_cast<double>(clock_.NowMs()), static_cast<double>(absl::ToUnixMillis(date)), 1000);
}

TEST_F(ReflectorTest, StoppedItIsSilentAndStartedItGoesOn) {
  StartWatching();
  client_.last().Chunk(Bookmark(11));
  sink_.Take();
  reflector_->Stop();
  EXPECT_EQ(client_.open(), 0U);
  Wait(absl::Hours(1));
  EXPECT_EQ(client_.started(), 2U);
  reflector_->Start();
  EXPECT_EQ(client_.last().Query("resourceVersion"), "11");
  reflector_.reset();
  EXPECT_EQ(client_.open(), 0U);
  Wait(absl::Hours(1));
}

TEST_F(StreamingReflectorTest, TheListIsToldAtTheBookmarkAndTheStreamGoesOn) {
  Start();
  ScriptedClient::Exchange& stream = client_.last();
  EXPECT_EQ(stream.Query("sendInitialEvents"), "true");
  EXPECT_EQ(stream.Query("resourceVersionMatch"), "NotOlderThan");
  EXPECT_EQ(stream.Query("allowWatchBookmarks"), "true");
  stream.Head(200);
  stream.Chunk(Line("ADDED", "a", 3) + Line("ADDED", "b", 4) + Line("ADDED", "c", 2));
  stream.Chunk(Bookmark(4) + Line("MODIFIED", "a", 6) + Line("DELETED", "c", 7));
  EXPECT_TRUE(sink_.Take().empty());
  stream.Chunk(Bookmark(8, /*end=*/true) + Line("ADDED", "d", 9));
  EXPECT_EQ(sink_.Take(), (Log{"replace@8 a b", "added d@9"}));
  Wait(absl::Minutes(2));
  EXPECT_TRUE(stream.open()) << "only the list is bounded in time";
  stream.End(absl::UnknownError("reset"));
  Wait(absl::Seconds(1));
  EXPECT_EQ(client_.last().Query("resourceVersion"), "9");
  EXPECT_EQ(client_.last().Query("sendInitialEvents"), "");
}

TEST_F(StreamingReflectorTest, ABrokenStreamTellsNothingOfItsPart) {
  Start();
  client_.last().Head(200);
  client_.last().Chunk(Line("ADDED", "a", 3));
  client_.last().End(absl::UnknownError("reset"));
  EXPECT_EQ(sink_.Take(), Log{"error"});
  Wait(absl::Seconds(1));
  client_.last().Head(200);
  client_.last().Chunk(Line("ADDED", "b", 4) + Bookmark(9, /*end=*/true));
  EXPECT_EQ(sink_.Take(), Log{"replace@9 b"});
}

TEST_F(StreamingReflectorTest, AServerWithoutStreamingListsIsListedInPages) {
  for (const int code : {400, 422}) {
    Following it(random_, options_);
    it.client.last().Answer(code, Refusal(code, "Invalid"));
    EXPECT_EQ(it.client.last().Query("limit"), "500");
    EXPECT_FALSE(it.reflector.streams_lists());
    it.client.last().Answer(200, Page(5, {}));
    EXPECT_EQ(it.sink.Take(), Log{"replace@5"});
  }
}

TEST_F(StreamingReflectorTest, AServerThatTakesItForAPlainWatchIsListedInPages) {
  Start();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(client_.last().Query("sendInitialEvents"), "true");
    client_.last().Head(200);
    client_.last().Chunk(Line("ADDED", "a", 3));
    Wait(absl::Seconds(61));
  }
  EXPECT_EQ(client_.last().Query("limit"), "500");
  EXPECT_EQ(client_.open(), 1U);
}

TEST_F(StreamingReflectorTest, AfterAnExpiredVersionTheListIsStreamedAgain) {
  Start();
  client_.last().Head(200);
  client_.last().Chunk(Bookmark(9, /*end=*/true));
  client_.last().Chunk("{\"type\":\"ERROR\",\"object\":" + Refusal(410, "Gone") + "}\n");
  EXPECT_EQ(client_.last().Query("sendInitialEvents"), "true");
  client_.last().Head(200);
  client_.last().Chunk(Line("ADDED", "b", 12) + Bookmark(15, /*end=*/true));
  EXPECT_EQ(sink_.Take(), (Log{"replace@9", "replace@15 b"}));
}

}  // namespace
}  // namespace basalt::gateway
