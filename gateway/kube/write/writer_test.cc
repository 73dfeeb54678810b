#include "gateway/kube/write/writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "basalt/gateway/v1/user.pb.h"
#include "common/exec/sim_loop.h"
#include "common/http/date.h"
#include "gateway/kube/testing.h"

namespace basalt::gateway {
namespace {

class WriterTest : public ::testing::Test {
 protected:
  // Sends a patch of the pod `name` by `replica`. The result goes into results_[tag].
  void Patch(const std::string& tag, const std::string& name, const std::string& replica = "r",
             int64_t timeout_ms = 0) {
    v1::WriteRequest request;
    request.mutable_owner()->mutable_member()->set_replica(replica);
    request.mutable_resource()->set_version("v1");
    request.mutable_resource()->set_plural("pods");
    request.set_namespace_("n");
    request.set_name(name);
    request.mutable_patch()->set_type(v1::Patch::TYPE_MERGE);
    request.mutable_patch()->set_body(fmt::format(R"({{"tag":"{}"}})", tag));
    request.set_timeout_ms(timeout_ms);
    writer().Write(std::move(request), [this, tag](absl::StatusOr<v1::WriteResponse> result) {
      order_.push_back(tag);
      EXPECT_TRUE(results_.emplace(tag, std::move(result)).second) << tag << " ended twice";
    });
  }
  KubeWriter& writer() {
    if (writer_ == nullptr) writer_ = std::make_unique<KubeWriter>(loop_, client_, random_, options_, &clock_);
    return *writer_;
  }
  // Returns the tags of the requests that are open, in the order in which they went out.
  std::vector<std::string> Open() {
    std::vector<std::string> tags;
    for (size_t i = 0; i < client_.started(); ++i) {
      if (client_.at(i).open()) tags.push_back(TagOf(client_.at(i)));
    }
    return tags;
  }
  static std::string TagOf(const ScriptedClient::Exchange& exchange) {
    const std::string& body = exchange.request().body;
    return body.substr(8, body.size() - 10);
  }
  ScriptedClient::Exchange& Of(const std::string& tag) {
    for (size_t i = client_.started(); i-- > 0;) {
      if (client_.at(i).open() && TagOf(client_.at(i)) == tag) return client_.at(i);
    }
    ADD_FAILURE() << tag << " is not open";
    return client_.last();
  }
  void Answer(const std::string& tag, int status = 200, http::Headers headers = {}) {
    const std::string body = status == 200 ? R"({"metadata":{"name":"x","uid":"u","resourceVersion":"8"}})" : "";
    Of(tag).Answer(status, body, std::move(headers));
    time_.RunDueTasks();
  }
  void Break(const std::string& tag, const absl::Status& status) {
    Of(tag).End(status);
    time_.RunDueTasks();
  }
  // Returns "ok", the code of Kubernetes' refusal, or the status' code.
  std::string Result(const std::string& tag) {
    const auto found = results_.find(tag);
    if (found == results_.end()) return "none";
    if (!found->second.ok()) return absl::StatusCodeToString(found->second.status().code());
    if (found->second->has_error()) return std::to_string(found->second->error().code());
    return "ok";
  }

  // Returns the Date header of a server whose clock is ahead of ours.
  std::string HourAhead() const { return http::FormatDate(loop_.Now() + absl::Hours(1)); }

  using Tags = std::vector<std::string>;
  SimTime time_;
  SimLoop loop_{time_, "gateway"};
  ScriptedClient client_;
  SeededRandom random_{1};
  ApiClock clock_{loop_};
  WriterOptions options_;
  std::unique_ptr<KubeWriter> writer_;
  std::map<std::string, absl::StatusOr<v1::WriteResponse>> results_;
  Tags order_;
};

TEST_F(WriterTest, AWriteIsAnsweredWithTheObjectAndTheServersTime) {
  Patch("a", "p");
  EXPECT_EQ(client_.last().Query("timeout"), "10s");
  EXPECT_EQ(client_.last().request().timeout, absl::Seconds(12)) << "the server gives up before we do";
  Answer("a", 200, {{"Date", HourAhead()}});
  ASSERT_EQ(Result("a"), "ok");
  EXPECT_EQ(results_.at("a")->object().pod().resource_version(), 8);
  EXPECT_EQ(results_.at("a")->api_time_ms(), 0) << "one answer alone is not believed";
  for (const char* const tag : {"b", "c"}) {
    Patch(tag, "p");
    Answer(tag, 200, {{"Date", HourAhead()}});
  }
  EXPECT_NEAR(static_cast<double>(results_.at("c")->api_time_ms()),
              static_cast<double>(absl::ToUnixMillis(loop_.Now() + absl::Hours(1))), 1000);
  EXPECT_EQ(writer().in_flight() + writer().waiting(), 0U);
}

TEST_F(WriterTest, AProxysErrorPageSaysNothingOfTheServersTime) {
  for (const char* const tag : {"a", "b", "c", "d"}) {
    Patch(tag, tag);
    Answer(tag, 502, {{"Date", HourAhead()}});
    EXPECT_EQ(Result(tag), "502");
    EXPECT_EQ(results_.at(tag)->api_time_ms(), 0);
  }
  EXPECT_EQ(clock_.NowMs(), absl::ToUnixMillis(loop_.Now()));
}

TEST_F(WriterTest, WritesOfOneObjectGoOneAfterTheOther) {
  Patch("a1", "a");
  Patch("a2", "a", "other replica");
  Patch("b1", "b");
  Patch("a3", "a");
  EXPECT_EQ(Open(), (Tags{"a1", "b1"}));
  Answer("a1", 409);
  EXPECT_EQ(Open(), (Tags{"b1", "a2"}));
  Answer("a2");
  Answer("b1");
  EXPECT_EQ(Open(), Tags{"a3"});
  Answer("a3");
  EXPECT_EQ(order_, (Tags{"a1", "a2", "b1", "a3"}));
  EXPECT_EQ(Result("a1"), "409");
}

TEST_F(WriterTest, ReplicasTakeTurns) {
  options_.first_parallel = options_.min_parallel = options_.max_parallel = 1;
  for (int i = 0; i < 4; ++i) Patch(fmt::format("big{}", i), fmt::format("b{}", i), "big");
  Patch("x0", "x0", "x");
  Patch("y0", "y0", "y");
  Patch("x1", "x1", "x");
  Tags sent;
  while (!Open().empty()) {
    sent.push_back(Open().front());
    Answer(sent.back());
  }
  EXPECT_EQ(sent, (Tags{"big0", "x0", "y0", "big1", "x1", "big2", "big3"}));
}

struct OutcomeCase {
  std::string_view what;
  int http_status;  // 0 if the exchange ends with `end`.
  absl::Status end;
  http::Headers headers;
  bool resent;
  std::string_view result;  // The result if the request is not resent.
};

TEST_F(WriterTest, OnlyWhatWasSurelyNotCarriedOutIsSentAgain) {
  const std::vector<OutcomeCase> cases = {
      {"not sent", 0, absl::UnavailableError("refused"), {}, true, ""},
      {"429", 429, {}, {}, true, ""},
      {"429 with Retry-After", 429, {}, {{"Retry-After", "1"}}, true, ""},
      {"503 with Retry-After", 503, {}, {{"Retry-After", "1"}}, true, ""},
      {"503 alone", 503, {}, {}, false, "503"},
      {"the answer was lost", 0, absl::UnknownError("reset"), {}, false, "UNKNOWN"},
      {"timed out", 0, absl::DeadlineExceededError("slow"), {}, false, "DEADLINE_EXCEEDED"},
      {"timed out in the server", 504, {}, {}, false, "DEADLINE_EXCEEDED"},
      {"conflict", 409, {}, {}, false, "409"},
      {"internal error", 500, {}, {}, false, "500"},
      {"not found", 404, {}, {}, false, "404"},
  };
  for (const OutcomeCase& c : cases) {
    const std::string tag(c.what);
    const size_t before = client_.started();
    Patch(tag, "p");
    if (c.http_status == 0) {
      Break(tag, c.end);
    } else {
      Answer(tag, c.http_status, c.headers);
    }
    time_.Advance(absl::Seconds(2));
    EXPECT_EQ(client_.started() - before, c.resent ? 2U : 1U) << tag;
    if (c.resent) {
      ASSERT_EQ(Open(), Tags{tag});
      Answer(tag);
    }
    EXPECT_EQ(Result(tag), c.resent ? "ok" : c.result) << tag;
  }
}

TEST_F(WriterTest, ResendingEndsWithTheWritesOwnTime) {
  Patch("refused", "a", "r", 3000);
  for (int i = 0; i < 10 && !Open().empty(); ++i) {
    Answer("refused", 429, {{"Retry-After", "1"}});
    time_.Advance(absl::Milliseconds(1200));
  }
  EXPECT_EQ(Result("refused"), "429");
  EXPECT_LE(client_.started(), 3U);

  Patch("unconnected", "b", "r", 3000);
  const absl::Time end = time_.Now() + absl::Seconds(4);
  while (time_.Now() < end) {
    if (!Open().empty()) Break("unconnected", absl::UnavailableError("refused"));
    time_.Advance(absl::Milliseconds(50));
  }
  EXPECT_EQ(Result("unconnected"), "UNAVAILABLE");
}

TEST_F(WriterTest, AResentWriteKeepsItsPlaceBeforeItsFollowers) {
  Patch("a1", "a");
  Patch("a2", "a");
  Answer("a1", 429, {{"Retry-After", "1"}});
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(Open(), Tags{"a1"});
  EXPECT_LT(client_.last().Query("timeout"), "9s") << "the server is told what is left";
  Answer("a1");
  Answer("a2");
  EXPECT_EQ(order_, (Tags{"a1", "a2"}));
}

TEST_F(WriterTest, RetryAfterPausesEverythingAndHalvesOnce) {
  options_.first_parallel = 8;
  for (int i = 0; i < 12; ++i) Patch(fmt::format("w{:02}", i), fmt::format("p{}", i));
  EXPECT_EQ(writer().in_flight(), 8U);
  for (int i = 0; i < 8; ++i) Answer(fmt::format("w{:02}", i), 429, {{"Retry-After", "2"}});
  EXPECT_EQ(writer().parallel(), 4) << "eight refusals of one burst are one sign";
  time_.Advance(absl::Milliseconds(1900));
  EXPECT_TRUE(Open().empty());
  time_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(writer().in_flight(), 4U);
}

// Returns a refusal in the form of a Status, as a webhook makes it.
std::string Later(int code, int seconds) {
  return fmt::format(R"({{"kind":"Status","code":{},"reason":"TooManyRequests","message":"denied the request: later",)"
                     R"("details":{{"retryAfterSeconds":{}}}}})",
                     code, seconds);
}

TEST_F(WriterTest, AWebhookThatSaysComeAgainTomorrowHoldsUpWhatItRefusedAndNothingElse) {
  options_.first_parallel = 8;
  for (const int code : {429, 503}) {
    const std::string bad = fmt::format("bad {}", code);
    const std::string good = fmt::format("good {}", code);
    const size_t before = client_.started();
    Patch(bad, "hooked");
    Patch(bad + " again", "hooked");
    Of(bad).Answer(code, Later(code, 86400), {{"Retry-After", "86400"}});
    time_.RunDueTasks();
    EXPECT_EQ(Result(bad), std::to_string(code)) << "its own time is shorter";
    EXPECT_EQ(results_.at(bad)->error().retry_after_ms(), 86'400'000);
    Patch(good, "other");
    EXPECT_EQ(Open(), (Tags{bad + " again", good})) << "at once";
    EXPECT_EQ(client_.started(), before + 3);
    Answer(good);
    EXPECT_EQ(Result(good), "ok");
    Of(bad + " again").Answer(200, R"({"metadata":{"name":"x","uid":"u","resourceVersion":"8"}})");
    time_.RunDueTasks();
    EXPECT_EQ(writer().parallel(), 8) << "a webhook says nothing about what the server bears";
  }
}

TEST_F(WriterTest, AnObjectWaitsForItsRepeatedWriteWhileOthersGoOn) {
  Patch("a1", "a");
  Patch("a2", "a");
  Patch("b1", "b");
  Of("a1").Answer(429, Later(429, 2), {{"Retry-After", "2"}});
  time_.RunDueTasks();
  Answer("b1");
  Patch("b2", "b");
  EXPECT_EQ(Open(), Tags{"b2"});
  time_.Advance(absl::Milliseconds(1900));
  EXPECT_EQ(Open(), Tags{"b2"});
  time_.Advance(absl::Milliseconds(400));
  EXPECT_EQ(Open(), (Tags{"b2", "a1"})) << "without anybody's call";
  Answer("a1");
  Answer("a2");
  EXPECT_EQ(Result("a2"), "ok");
}

TEST_F(WriterTest, AWriteThatWaitsToComeAgainIsDroppedWithItsSlot) {
  Patch("a", "a", "old");
  Of("a").Answer(429, Later(429, 2), {{"Retry-After", "2"}});
  time_.RunDueTasks();
  writer().DropWaiting([](const v1::WriteRequest& w) { return w.owner().member().replica() == "old"; });
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(Result("a"), "UNAVAILABLE");
  EXPECT_EQ(client_.started(), 1U);
}

TEST_F(WriterTest, OneAnswerStopsEverythingForHalfAMinuteAtMost) {
  Patch("refused", "a");
  Answer("refused", 429, {{"Retry-After", "86400"}});
  EXPECT_EQ(Result("refused"), "429");
  Patch("next", "b", "r", 60000);
  time_.Advance(absl::Seconds(29));
  EXPECT_EQ(Open(), Tags{});
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Open(), Tags{"next"});
}

TEST_F(WriterTest, AMissingRightHoldsUpNothingElseWhileTheServerStarts) {
  Patch("lost", "a");
  Break("lost", absl::UnavailableError("refused"));
  time_.Advance(absl::Milliseconds(200));
  Of("lost").Answer(403, R"({"kind":"Status","message":"User \"g\" cannot patch resource \"pods\""})");
  time_.RunDueTasks();
  Patch("b", "b");
  EXPECT_EQ(Open(), Tags{"b"});
}

TEST_F(WriterTest, WhoIsNotKnownToTheServerTriesAgainWithinItsTime) {
  Patch("a", "a");
  Patch("b", "b", "r", 500);
  Answer("a", 401);
  Answer("b", 401);
  EXPECT_EQ(client_.open(), 0U);
  time_.Advance(absl::Milliseconds(300));
  Answer("a", 401);
  Answer("b", 401);
  EXPECT_EQ(Result("a"), "none");
  EXPECT_EQ(Result("b"), "401") << "its time is over";
  time_.Advance(absl::Seconds(1));
  Answer("a");
  EXPECT_EQ(Result("a"), "ok");
}

TEST_F(WriterTest, AServerThatHasJustStartedIsNotBelievedThatWeHaveNoRights) {
  const char* const kNoRight =
      R"({"kind":"Status","code":403,"message":"pods is forbidden: User \"g\" cannot patch resource \"pods\""})";
  Patch("a", "a");
  Of("a").Answer(403, kNoRight);
  time_.RunDueTasks();
  EXPECT_EQ(Result("a"), "403");
  Patch("b", "b");
  Break("b", absl::UnavailableError("refused"));
  time_.Advance(absl::Milliseconds(200));
  Of("b").Answer(403, kNoRight);
  time_.Advance(absl::Milliseconds(500));
  EXPECT_EQ(Result("b"), "none");
  Answer("b");
  EXPECT_EQ(Result("b"), "ok");
  Patch("c", "c");
  Answer("c", 403);
  EXPECT_EQ(Result("c"), "403") << "another refusal than for want of rights is one";
}

TEST_F(WriterTest, NoMoreGoOutInASecondThanIsAllowedAndReplicasTakeTurns) {
  options_.rate = {.per_second = 10, .burst = 3};
  for (int i = 0; i < 6; ++i) Patch(fmt::format("big{}", i), fmt::format("b{}", i), "big");
  EXPECT_EQ(Open(), (Tags{"big0", "big1", "big2"}));
  Patch("x0", "x0", "x");
  time_.Advance(absl::Milliseconds(99));
  EXPECT_EQ(client_.started(), 3U);
  time_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(client_.started(), 4U);
  time_.Advance(absl::Milliseconds(100));
  EXPECT_EQ(client_.started(), 5U);
  EXPECT_EQ(Open().at(3), "x0") << "who has sent little comes first";
  time_.Advance(absl::Milliseconds(400));
  EXPECT_EQ(client_.started(), 7U) << "all are out";
  time_.Advance(absl::Hours(1));
  for (int i = 0; i < 5; ++i) Patch(fmt::format("y{}", i), fmt::format("y{}", i));
  EXPECT_EQ(client_.started(), 10U) << "a rest saves up no more than the burst";
}

TEST_F(WriterTest, ParallelismGrowsWhileItIsUsedAndStaysWithinItsBounds) {
  options_.max_parallel = 6;
  options_.first_parallel = 4;
  int sent = 0;
  const auto fill = [&] {
    while (writer().waiting() < 4) Patch(fmt::format("w{}", sent), fmt::format("p{}", sent)), ++sent;
  };
  for (int i = 0; i < 100; ++i) {
    fill();
    Answer(Open().front());
  }
  EXPECT_EQ(writer().parallel(), 6);
  EXPECT_EQ(writer().in_flight(), 6U);
  for (int i = 0; i < 5; ++i) {
    time_.Advance(absl::Seconds(2));
    fill();
    Answer(Open().front(), 429, {{"Retry-After", "1"}});
  }
  EXPECT_EQ(writer().parallel(), 4) << "never below the least";
}

TEST_F(WriterTest, AWriteThatWaitsTooLongWasSurelyNotSent) {
  options_.first_parallel = options_.min_parallel = 1;
  Patch("first", "a");
  Patch("behind", "a", "r", 1000);
  Patch("elsewhere", "b", "r", 1000);
  time_.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(Result("behind"), "UNAVAILABLE");
  EXPECT_EQ(Result("elsewhere"), "UNAVAILABLE");
  EXPECT_EQ(client_.started(), 1U);
  Answer("first");
  Patch("next", "a");
  Answer("next");
  EXPECT_EQ(Result("next"), "ok");
}

TEST_F(WriterTest, AWriteThatASlowServerWouldGiveUpIsNotSent) {
  options_.first_parallel = options_.min_parallel = options_.max_parallel = 1;
  for (int i = 0; i < 40; ++i) {
    const std::string tag = fmt::format("slow {}", i);
    Patch(tag, "a");
    time_.Advance(absl::Milliseconds(800));
    Answer(tag);
  }
  // The server takes 0.8 s. A request that has waited until less than twice that is left is not started.
  Patch("before", "a");
  Patch("late", "b", "r", 8000);
  Patch("short", "c", "r", 700);
  time_.Advance(absl::Milliseconds(6500));
  EXPECT_EQ(Result("short"), "UNAVAILABLE");
  Answer("before");
  EXPECT_EQ(Open(), Tags{});
  time_.Advance(absl::Milliseconds(1500));
  EXPECT_EQ(Result("late"), "UNAVAILABLE");
  // A request whose whole time is shorter than that is tried: a quarter of the time is enough.
  Patch("brief", "d", "r", 700);
  EXPECT_EQ(Open(), Tags{"brief"});
}

TEST_F(WriterTest, TheQueueIsBounded) {
  options_.first_parallel = options_.min_parallel = 1;
  options_.room = {.max_requests = 3, .share = 1};
  for (const char* tag : {"a", "b", "c", "d"}) Patch(tag, tag);
  EXPECT_EQ(Result("d"), "none") << "never before the call returns";
  time_.RunDueTasks();
  EXPECT_EQ(Result("d"), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(Result("c"), "none");
}

TEST_F(WriterTest, AWaitingWriteIsDroppedWithItsSlot) {
  Patch("a1", "a", "old");
  Patch("a2", "a", "old");
  Patch("a3", "a", "new");
  writer().DropWaiting([](const v1::WriteRequest& w) { return w.owner().member().replica() == "old"; });
  time_.RunDueTasks();
  EXPECT_EQ(Result("a2"), "UNAVAILABLE");
  EXPECT_EQ(Result("a1"), "none") << "it is under way";
  Answer("a1");
  EXPECT_EQ(Open(), Tags{"a3"});
}

TEST_F(WriterTest, AnAnswerThatCannotBeReadIsAnUnknownOutcome) {
  Patch("a", "a");
  Of("a").Answer(200, "<html>");
  time_.RunDueTasks();
  EXPECT_EQ(Result("a"), "UNKNOWN");
}

TEST_F(WriterTest, ABadRequestIsNeverSent) {
  writer().Write(v1::WriteRequest(),
                 [this](absl::StatusOr<v1::WriteResponse> result) { results_.emplace("bad", std::move(result)); });
  time_.RunDueTasks();
  EXPECT_EQ(Result("bad"), "INVALID_ARGUMENT");
  EXPECT_EQ(client_.started(), 0U);
}

TEST_F(WriterTest, ADestroyedWriterIsSilent) {
  Patch("a", "a");
  Patch("b", "a");
  writer_.reset();
  EXPECT_EQ(client_.open(), 0U);
  time_.Advance(absl::Hours(1));
  EXPECT_TRUE(results_.empty());
}

TEST_F(WriterTest, AReadIsRepeatedWhateverHappenedToIt) {
  v1::GetRequest request;
  request.mutable_resource()->set_version("v1");
  request.mutable_resource()->set_plural("configmaps");
  request.set_namespace_("n");
  request.set_name("s");
  std::vector<absl::StatusOr<v1::GetResponse>> answers;
  const auto get = [&] {
    writer().Get(request, [&](absl::StatusOr<v1::GetResponse> answer) { answers.push_back(std::move(answer)); });
  };
  get();
  EXPECT_EQ(client_.last().request().target, "/api/v1/namespaces/n/configmaps/s?timeout=10s");
  client_.last().End(absl::UnknownError("reset"));
  time_.Advance(absl::Seconds(1));
  client_.last().Answer(429, "", {{"Retry-After", "1"}});
  time_.Advance(absl::Seconds(2));
  const std::string body = R"({"kind":"ConfigMap","metadata":{"name":"s","uid":"u","resourceVersion":"3"},"data":{}})";
  client_.last().Answer(200, body);
  time_.RunDueTasks();
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_TRUE(answers[0].ok());
  EXPECT_EQ(answers[0]->object().generic().json(), body);

  get();
  client_.last().Answer(404, R"({"kind":"Status","reason":"NotFound","code":404})");
  time_.RunDueTasks();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1]->error().reason(), "NotFound");

  get();
  for (int i = 0; i < 1000 && answers.size() < 3; ++i) {
    if (client_.last().open()) client_.last().End(absl::UnavailableError("refused"));
    time_.Advance(absl::Milliseconds(50));
  }
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[2].status().code(), absl::StatusCode::kUnavailable);
}

// Returns a replica's request to create a job for a user.
v1::WriteRequest CreationFor(const std::string& user, const std::vector<std::string>& groups = {}) {
  v1::UserClaims claims;
  claims.set_user(user);
  for (const std::string& group : groups) claims.add_groups(group);
  v1::UserToken token;
  token.set_claims(claims.SerializeAsString());
  v1::WriteRequest request;
  request.mutable_owner()->set_key("n/j");
  request.mutable_owner()->mutable_member()->set_service(v1::SERVICE_KIND_JOB);
  request.mutable_resource()->set_group("batch.volcano.sh");
  request.mutable_resource()->set_version("v1alpha1");
  request.mutable_resource()->set_plural("jobs");
  request.set_namespace_("n");
  request.set_name("j");
  request.mutable_create()->set_body(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j","namespace":"n"}})");
  request.set_user_token(token.SerializeAsString());
  return request;
}

std::vector<std::string> ImpersonatedBy(const http::Request& request) {
  std::vector<std::string> found;
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("Impersonate-")) found.push_back(name.substr(12) + "=" + value);
  }
  return found;
}

TEST_F(WriterTest, AWriteForAUserIsMadeInTheNameOfTheUser) {
  const auto ignore = [](const absl::StatusOr<v1::WriteResponse>&) {};
  writer().Write(CreationFor("ann", {"team-a", "system:authenticated"}), ignore);
  EXPECT_EQ(ImpersonatedBy(client_.last().request()), (Tags{"User=ann", "Group=team-a"}));
  EXPECT_EQ(client_.last().request().body.find("annotations"), std::string::npos);
  client_.last().Answer(201, "{}");
  writer().Write(CreationFor("system:serviceaccount:a:b", {"system:serviceaccounts", "system:serviceaccounts:a"}),
                 ignore);
  EXPECT_EQ(ImpersonatedBy(client_.last().request()), (Tags{"User=system:serviceaccount:a:b"}));
}

TEST_F(WriterTest, WhereTheGatewayMayNotImpersonateAnAnnotationNamesTheUser) {
  constexpr char kRefused[] =
      R"({"kind":"Status","code":403,"reason":"Forbidden","message":"users.authentication.k8s.io \"ann\" is forbidden: )"
      R"(User \"gateway\" cannot impersonate:user-info resource \"users\""})";
  std::vector<absl::StatusOr<v1::WriteResponse>> results;
  const auto keep = [&](absl::StatusOr<v1::WriteResponse> result) { results.push_back(std::move(result)); };
  writer().Write(CreationFor("ann"), keep);
  client_.last().Answer(403, kRefused);
  ASSERT_EQ(client_.started(), 2u);
  EXPECT_TRUE(ImpersonatedBy(client_.last().request()).empty());
  EXPECT_NE(client_.last().request().body.find(R"("annotations":{"basalt.dev/requested-by":"ann"})"), std::string::npos)
      << client_.last().request().body;
  client_.last().Answer(201, R"({"metadata":{"name":"j","uid":"u","resourceVersion":"8"}})");
  time_.RunDueTasks();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].ok() && results[0]->has_object());
  // Other users are not held up by the refusal, and ann is impersonated again later.
  writer().Write(CreationFor("bob"), keep);
  EXPECT_EQ(ImpersonatedBy(client_.last().request()), (Tags{"User=bob"}));
  client_.last().Answer(201, "{}");
  writer().Write(CreationFor("ann"), keep);
  EXPECT_TRUE(ImpersonatedBy(client_.last().request()).empty());
  client_.last().Answer(201, "{}");
  time_.Advance(absl::Minutes(5));
  writer().Write(CreationFor("ann"), keep);
  EXPECT_EQ(ImpersonatedBy(client_.last().request()), (Tags{"User=ann"}));
}

TEST_F(WriterTest, ARightThatTheUserLacksIsTheUsersAffair) {
  std::vector<absl::StatusOr<v1::WriteResponse>> results;
  writer().Write(CreationFor("ann"), [&](absl::StatusOr<v1::WriteResponse> got) { results.push_back(std::move(got)); });
  client_.last().Answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"jobs is forbidden: User )"
                             R"(\"ann\" cannot create resource \"jobs\""})");
  time_.RunDueTasks();
  EXPECT_EQ(client_.started(), 1u);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0]->error().code(), 403);
}

TEST_F(WriterTest, ANameThatNoHeaderCanHoldIsPutIntoTheAnnotation) {
  for (const char* name : {"a\nImpersonate-Group: system:masters", "ann ", " ann"}) {
    writer().Write(CreationFor(name), [](const absl::StatusOr<v1::WriteResponse>&) {});
    EXPECT_TRUE(ImpersonatedBy(client_.last().request()).empty()) << name;
    EXPECT_NE(client_.last().request().body.find("requested-by"), std::string::npos);
    client_.last().Answer(201, "{}");
  }
}

TEST_F(WriterTest, NobodyElseSaysForWhomTheGatewayWrites) {
  v1::WriteRequest request = CreationFor("ann");
  request.mutable_create()->set_body(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j","namespace":"n",)"
      R"("annotations":{"a":"b","basalt.dev/requested-by":"root"}}})");
  writer().Write(request, [](const absl::StatusOr<v1::WriteResponse>&) {});
  EXPECT_EQ(client_.last().request().body.find("root"), std::string::npos);
  EXPECT_NE(client_.last().request().body.find(R"("a":"b")"), std::string::npos);
}

// The flow control of the API server counts an impersonated request to the user.
TEST_F(WriterTest, AUserWhoIsThrottledHoldsUpNobodyElse) {
  writer().Write(CreationFor("ann"), [](const absl::StatusOr<v1::WriteResponse>&) {});
  client_.last().Answer(429, "Too many requests, please try again later.", {{"Retry-After", "5"}});
  Patch("other", "p");
  EXPECT_EQ(client_.started(), 2u);
}

}  // namespace
}  // namespace basalt::gateway
