// Tests when writes may begin: not before the former leader is surely done, and not after the lead has ended.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/exec/sim_loop.h"
#include "common/http/failure.h"
#include "gateway/kube/testing.h"
#include "gateway/kube/write/writer.h"

namespace basalt::gateway {
namespace {

class WriterWindowTest : public ::testing::Test {
 protected:
  WriterWindowTest() { options_.max_attempt = absl::Seconds(4); }

  // Returns a request about pods of the namespace.
  static v1::WriteRequest AboutPods() {
    v1::WriteRequest request;
    request.mutable_owner()->mutable_member()->set_replica("jobsvc-0");
    request.mutable_owner()->mutable_member()->set_incarnation("x");
    request.mutable_owner()->set_slot(7);
    request.mutable_owner()->set_slot_epoch(3);
    request.mutable_resource()->set_version("v1");
    request.mutable_resource()->set_plural("pods");
    request.set_namespace_("n");
    return request;
  }
  // The result goes into results_[tag].
  void Write(v1::WriteRequest request, const std::string& tag) {
    writer().Write(std::move(request), [this, tag](absl::StatusOr<v1::WriteResponse> result) {
      EXPECT_TRUE(results_.emplace(tag, std::move(result)).second) << tag << " ended twice";
    });
    time_.RunDueTasks();
  }
  void Patch(const std::string& name, int64_t timeout_ms = 0) {
    v1::WriteRequest request = AboutPods();
    request.set_name(name);
    request.mutable_patch()->set_type(v1::Patch::TYPE_MERGE);
    request.mutable_patch()->set_body("{}");
    request.set_timeout_ms(timeout_ms);
    Write(std::move(request), name);
  }
  void DeleteCollection(const std::string& name) {
    v1::WriteRequest request = AboutPods();
    request.mutable_delete_collection()->set_label_selector("of=" + name);
    Write(std::move(request), name);
  }
  void Get() {
    v1::GetRequest request;
    request.mutable_resource()->set_version("v1");
    request.mutable_resource()->set_plural("configmaps");
    request.set_namespace_("n");
    request.set_name("s");
    writer().Get(request, [](const absl::StatusOr<v1::GetResponse>&) {});
    time_.RunDueTasks();
  }
  KubeWriter& writer() {
    if (writer_ == nullptr) writer_ = std::make_unique<KubeWriter>(loop_, client_, random_, options_);
    return *writer_;
  }
  void Allow(absl::Duration from, absl::Duration until) {
    writer().AllowBetween(loop_.Now() + from, loop_.Now() + until);
    time_.RunDueTasks();
  }
  void Answer(size_t index = 0) {
    client_.at(index).Answer(200, R"({"metadata":{"name":"x","uid":"u","resourceVersion":"8"}})");
    time_.RunDueTasks();
  }
  std::string Result(const std::string& name) {
    const auto found = results_.find(name);
    if (found == results_.end()) return "none";
    return found->second.ok() ? "ok" : std::string(found->second.status().message());
  }

  static constexpr char kNotSent[] = "not sent to the API server: this gateway does not lead";
  SimTime time_;
  SimLoop loop_{time_, "gateway", absl::Hours(-2)};
  ScriptedClient client_;
  SeededRandom random_{1};
  WriterOptions options_;
  std::unique_ptr<KubeWriter> writer_;
  std::map<std::string, absl::StatusOr<v1::WriteResponse>> results_;
};

TEST_F(WriterWindowTest, AnEarlyWriteWaitsAndThenGoesOut) {
  Allow(absl::Seconds(3), absl::Seconds(10));
  Patch("a");
  time_.Advance(absl::Seconds(2.9));
  EXPECT_EQ(client_.started(), 0U);
  EXPECT_EQ(Result("a"), "none");
  time_.Advance(absl::Seconds(0.1));
  ASSERT_EQ(client_.started(), 1U) << "without anybody's call";
  Answer();
  EXPECT_EQ(Result("a"), "ok");
}

TEST_F(WriterWindowTest, AnEarlyWriteEndsWithItsOwnTime) {
  Allow(absl::Seconds(3), absl::Seconds(10));
  Patch("a", 1000);
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(Result("a"), "not sent to the API server: its time ran out while it was waiting");
  EXPECT_EQ(client_.started(), 0U);
}

TEST_F(WriterWindowTest, FromTheEndOnNothingBeginsAndWhatWaitsEnds) {
  options_.first_parallel = options_.min_parallel = options_.max_parallel = 1;
  Allow(absl::ZeroDuration(), absl::Seconds(2));
  Patch("under way");
  Patch("waiting");
  time_.Advance(absl::Seconds(1.9));
  EXPECT_EQ(Result("waiting"), "none");
  time_.Advance(absl::Seconds(0.1));
  EXPECT_EQ(Result("waiting"), kNotSent) << "without anybody's call";
  Patch("late");
  EXPECT_EQ(Result("late"), kNotSent);
  EXPECT_EQ(Result("under way"), "none");
  Answer();
  EXPECT_EQ(Result("under way"), "ok");
  EXPECT_EQ(client_.started(), 1U);
  EXPECT_EQ(writer().waiting(), 0U);
}

TEST_F(WriterWindowTest, AFollowerOfAWriteThatEndsLateIsNotSent) {
  Allow(absl::ZeroDuration(), absl::Seconds(2));
  Patch("a");
  v1::WriteRequest second = AboutPods();
  second.set_name("a");
  second.mutable_delete_()->set_uid("u");
  Write(std::move(second), "second");
  time_.Advance(absl::Seconds(2));
  Answer();
  EXPECT_EQ(Result("a"), "ok");
  EXPECT_EQ(Result("second"), kNotSent);
  EXPECT_EQ(client_.started(), 1U);
}

TEST_F(WriterWindowTest, AWriteIsNotSentAgainAfterTheLead) {
  Allow(absl::ZeroDuration(), absl::Seconds(2));
  Patch("a");
  time_.Advance(absl::Seconds(2));
  client_.at(0).End(absl::UnavailableError("refused"));
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(Result("a"), kNotSent);
  EXPECT_EQ(client_.started(), 1U);
}

TEST_F(WriterWindowTest, ARenewalLetsItGoOn) {
  Allow(absl::ZeroDuration(), absl::Seconds(2));
  for (int i = 0; i < 5; ++i) {
    time_.Advance(absl::Seconds(1));
    Allow(absl::Seconds(-1), absl::Seconds(2));
    Patch(fmt::format("{}", i));
  }
  EXPECT_EQ(client_.started(), 5U);
  Allow(absl::ZeroDuration(), -absl::InfiniteDuration());
  Patch("late");
  EXPECT_EQ(Result("late"), kNotSent);
  Allow(absl::ZeroDuration(), absl::Seconds(2));
  Patch("again");
  EXPECT_EQ(client_.started(), 6U);
}

TEST_F(WriterWindowTest, AWindowThatIsExtendedBeforeItOpensOpens) {
  Allow(absl::Seconds(15), absl::Seconds(10));
  Patch("a");
  time_.Advance(absl::Seconds(8));
  Allow(absl::Seconds(7), absl::Seconds(10));
  Patch("b");
  time_.Advance(absl::Seconds(7));
  EXPECT_EQ(Result("a"), "not sent to the API server: its time ran out while it was waiting");
  ASSERT_EQ(client_.started(), 1U);
}

TEST_F(WriterWindowTest, ReadsAreNotBound) {
  Allow(absl::Seconds(3), absl::Seconds(10));
  Patch("a");
  Get();
  EXPECT_EQ(client_.started(), 1U);
  EXPECT_EQ(client_.at(0).request().method, "GET");
  Allow(absl::ZeroDuration(), -absl::InfiniteDuration());
  Get();
  EXPECT_EQ(client_.started(), 2U);
}

TEST_F(WriterWindowTest, OneAttemptTakesNoMoreThanTheNextLeaderWaits) {
  Allow(absl::ZeroDuration(), absl::Seconds(10));
  Patch("a");
  EXPECT_EQ(client_.at(0).Query("timeout"), "4s");
  EXPECT_EQ(client_.at(0).request().timeout, absl::Seconds(6));
  Patch("b", 1500);
  EXPECT_EQ(client_.at(1).Query("timeout"), "1.5s");
  Get();
  EXPECT_EQ(client_.at(2).Query("timeout"), "10s");
}

TEST_F(WriterWindowTest, ADeletionOfManyMayTakeWhatIsLeftOfTheLeadAsWell) {
  Allow(absl::ZeroDuration(), absl::Seconds(10));
  const absl::Time until = loop_.Now() + absl::Seconds(10);
  const auto ends = [&](size_t index) {
    absl::Duration timeout;
    EXPECT_TRUE(absl::ParseDuration(client_.at(index).Query("timeout"), &timeout));
    return client_.at(index).request().send_by + timeout;
  };
  DeleteCollection("at first");
  EXPECT_EQ(client_.at(0).Query("timeout"), "10s") << "its own time";
  time_.Advance(absl::Seconds(5));
  DeleteCollection("later");
  EXPECT_EQ(client_.at(1).Query("timeout"), "7s");
  EXPECT_EQ(client_.at(1).request().timeout, absl::Seconds(9));
  EXPECT_EQ(ends(1), until + options_.max_attempt) << "the next leader writes from then on";
  time_.Advance(absl::Seconds(4.5));
  DeleteCollection("at the end");
  EXPECT_EQ(client_.at(2).Query("timeout"), "4s");
  EXPECT_EQ(ends(2), until + options_.max_attempt);
  Patch("a");
  EXPECT_EQ(client_.at(3).Query("timeout"), "4s") << "one object takes no longer, but for a server that hangs";
}

TEST_F(WriterWindowTest, NothingOfAWriteGoesOutOnceTheLeadHasEnded) {
  Allow(absl::ZeroDuration(), absl::Seconds(10));
  const absl::Time until = loop_.Now() + absl::Seconds(10);
  Patch("early");
  EXPECT_EQ(client_.at(0).request().send_by, loop_.Now() + options_.patience) << "so that the server gives up first";
  time_.Advance(absl::Seconds(9));
  Patch("a");
  ASSERT_EQ(client_.started(), 2U);
  EXPECT_EQ(client_.at(1).request().send_by, until);
  Get();
  EXPECT_EQ(client_.at(2).request().send_by, absl::InfiniteFuture());
  time_.Advance(absl::Seconds(1));
  client_.at(1).End(http::LateStatus());
  time_.RunDueTasks();
  EXPECT_EQ(Result("a"), kNotSent);
  EXPECT_EQ(client_.started(), 3U);
}

TEST_F(WriterWindowTest, AWriteThatWasLateIsSentAgainAtOnceAndTheWriterSlows) {
  Allow(absl::ZeroDuration(), absl::Seconds(10));
  Patch("a");
  const int before = writer().parallel();
  client_.at(0).End(http::LateStatus());
  time_.RunDueTasks();
  EXPECT_EQ(writer().parallel(), before / 2);
  ASSERT_EQ(client_.started(), 2U);
  // The server was not out of reach, so its refusal for a missing right is believed.
  client_.at(1).Answer(403,
                       R"({"kind":"Status","code":403,"message":"User \"x\" cannot patch resource \"pods\" here"})");
  time_.RunDueTasks();
  EXPECT_EQ(Result("a"), "ok");
  EXPECT_EQ(client_.started(), 2U);
}

TEST_F(WriterWindowTest, QuietIsWhenNoWriteIsUnderWay) {
  int quiet = 0;
  writer().WhenQuiet([&] { ++quiet; });
  EXPECT_EQ(quiet, 0) << "not before the call returns";
  time_.RunDueTasks();
  EXPECT_EQ(quiet, 1);
  Patch("a");
  Patch("b");
  Get();
  Allow(absl::ZeroDuration(), absl::ZeroDuration());
  writer().WhenQuiet([&] { ++quiet; });
  Answer(0);
  EXPECT_EQ(quiet, 1);
  Answer(1);
  EXPECT_EQ(quiet, 2) << "reads do not count";
}

TEST_F(WriterWindowTest, ItIsNotQuietWhileTheServerMayBeAtAWriteOfUnknownOutcome) {
  bool quiet = false;
  Patch("a");  // The server gives the write up after 4 s, the gateway after 6 s.
  DeleteCollection("b");
  time_.Advance(absl::Seconds(1));
  client_.at(0).End(absl::UnknownError("reset"));
  time_.RunDueTasks();
  Allow(absl::ZeroDuration(), absl::ZeroDuration());
  writer().WhenQuiet([&] { quiet = true; });
  Answer(1);
  time_.Advance(absl::Milliseconds(4'900));
  EXPECT_FALSE(quiet);
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(quiet) << "without anybody's call";
}

TEST_F(WriterWindowTest, ADeletionOfManyOfUnknownOutcomeMayTakeItsWholeTimeAtTheServer) {
  bool quiet = false;
  Allow(absl::ZeroDuration(), absl::Seconds(15));
  DeleteCollection("a");
  client_.at(0).End(absl::UnknownError("reset"));
  time_.RunDueTasks();
  Allow(absl::ZeroDuration(), absl::ZeroDuration());
  writer().WhenQuiet([&] { quiet = true; });
  time_.Advance(absl::Milliseconds(11'900));
  EXPECT_FALSE(quiet);
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(quiet);
}

TEST_F(WriterWindowTest, AWriteThatAProxyGaveUpMayBeUnderWay) {
  for (const int code : {500, 502, 504}) {
    bool quiet = false;
    Allow(absl::ZeroDuration(), absl::Seconds(15));
    Patch(fmt::format("{}", code));
    client_.at(client_.started() - 1).Answer(code, "<html>gateway</html>");
    time_.RunDueTasks();
    Allow(absl::ZeroDuration(), absl::ZeroDuration());
    writer().WhenQuiet([&] { quiet = true; });
    time_.Advance(absl::Milliseconds(5'900));
    EXPECT_FALSE(quiet) << code;
    time_.Advance(absl::Milliseconds(100));
    EXPECT_TRUE(quiet) << code;
  }
}

TEST_F(WriterWindowTest, AWriteThatWasSurelyNotCarriedOutIsNotWaitedFor) {
  int quiet = 0;
  Patch("a");
  client_.at(0).Answer(409, R"({"kind":"Status","code":409,"reason":"Conflict"})");
  time_.RunDueTasks();
  Patch("b");
  Get();
  Allow(absl::ZeroDuration(), absl::ZeroDuration());
  client_.at(1).End(http::LateStatus());
  client_.at(2).End(absl::UnknownError("reset"));
  time_.RunDueTasks();
  writer().WhenQuiet([&] { ++quiet; });
  time_.RunDueTasks();
  EXPECT_EQ(quiet, 1);
}

TEST_F(WriterWindowTest, EachWriteSaysWhoseItIs) {
  options_.user_agent = "basalt-gateway/1.2";
  Patch("a");
  EXPECT_EQ(http::FindHeader(client_.at(0).request().headers, "User-Agent"),
            "basalt-gateway/1.2 (jobsvc-0/x slot 7 epoch 3)");
}

}  // namespace
}  // namespace basalt::gateway
