#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/exec/sim_loop.h"
#include "gateway/kube/testing.h"
#include "gateway/kube/write/writer.h"

namespace basalt::gateway {
namespace {

// The outcome of one write, as observed on both sides.
struct Fate {
  std::string object;
  int requests = 0;
  int maybe_carried_out = 0;  // Requests whose outcome was not "surely not".
  int done = 0;
  absl::StatusOr<v1::WriteResponse> result = absl::UnknownError("none yet");
};

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed), writer_(loop_, client_, random_, Options()) {}

  void Play() {
    for (int i = 0; i < 300; ++i) {
      if (random_.OneIn(2)) Write();
      Look();
      if (!random_.OneIn(3)) Serve();
      time_.Advance(absl::Milliseconds(static_cast<int64_t>(random_.Uniform(80))));
    }
    for (int i = 0; i < 5000 && finished_ < fates_.size(); ++i) {
      Look();
      Serve();
      time_.Advance(absl::Milliseconds(20));
    }
    CheckFates();
  }

 private:
  static WriterOptions Options() {
    WriterOptions options;
    options.first_parallel = options.min_parallel = 2;
    options.max_parallel = 6;
    return options;
  }

  void Write() {
    const size_t id = fates_.size();
    Fate& fate = fates_[id];
    fate.object = std::string(1, static_cast<char>('a' + random_.Uniform(4)));
    v1::WriteRequest request;
    request.mutable_owner()->mutable_member()->set_replica(std::string(1, static_cast<char>('x' + random_.Uniform(3))));
    request.mutable_resource()->set_version("v1");
    request.mutable_resource()->set_plural("pods");
    request.set_name(fate.object);
    request.mutable_delete_()->set_uid(std::to_string(id));
    request.set_timeout_ms(500 + static_cast<int64_t>(random_.Uniform(5000)));
    writer_.Write(std::move(request), [this, &fate](absl::StatusOr<v1::WriteResponse> result) {
      ++fate.done;
      ++finished_;
      fate.result = std::move(result);
    });
  }

  static size_t IdOf(ScriptedClient::Exchange& exchange) {
    const std::string& body = exchange.request().body;
    const size_t at = body.find("\"uid\":\"") + 7;
    return std::stoul(body.substr(at));
  }

  // Counts new requests. There is never more than one open request for an object, and never one before its turn.
  void Look() {
    std::map<std::string, size_t> open;
    for (size_t i = 0; i < client_.started(); ++i) {
      ScriptedClient::Exchange& exchange = client_.at(i);
      const size_t id = IdOf(exchange);
      Fate& fate = fates_.at(id);
      if (i >= looked_) {
        ++fate.requests;
        ASSERT_GE(id, latest_[fate.object]) << "an earlier write of the object after a later one";
        latest_[fate.object] = id;
      }
      if (exchange.open()) {
        ASSERT_TRUE(open.emplace(fate.object, id).second) << "two writes of one object at once";
      }
    }
    looked_ = client_.started();
    ASSERT_LE(open.size(), 6U);
  }

  void Serve() {
    std::vector<size_t> open;
    for (size_t i = 0; i < client_.started(); ++i) {
      if (client_.at(i).open()) open.push_back(i);
    }
    if (open.empty()) return;
    ScriptedClient::Exchange& exchange = client_.at(open[random_.Uniform(open.size())]);
    Fate& fate = fates_.at(IdOf(exchange));
    switch (random_.Uniform(8)) {
      case 0:
        return exchange.End(absl::UnavailableError("refused"));
      case 1:
        return exchange.Answer(429, "", {{"Retry-After", "1"}});
      case 2:
        return exchange.Answer(503, "", {{"Retry-After", "0"}});
      case 3:
        ++fate.maybe_carried_out;
        return exchange.End(absl::UnknownError("reset"));
      case 4:
        ++fate.maybe_carried_out;
        return exchange.Answer(409, "");
      default:
        ++fate.maybe_carried_out;
        return exchange.Answer(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
    }
  }

  void CheckFates() {
    ASSERT_EQ(finished_, fates_.size());
    for (const auto& [id, fate] : fates_) {
      ASSERT_EQ(fate.done, 1) << id;
      ASSERT_LE(fate.maybe_carried_out, 1) << id << " was sent again although it may have been carried out";
      if (absl::IsUnavailable(fate.result.status())) {
        ASSERT_EQ(fate.maybe_carried_out, 0) << id;
      }
      if (fate.result.ok() && !fate.result->has_error()) {
        ASSERT_EQ(fate.maybe_carried_out, 1) << id;
      }
    }
    ASSERT_EQ(writer_.in_flight() + writer_.waiting(), 0U);
  }

  SeededRandom random_;
  SimTime time_;
  SimLoop loop_{time_, "gateway"};
  ScriptedClient client_;
  std::map<size_t, Fate> fates_;
  std::map<std::string, size_t> latest_;
  size_t finished_ = 0;
  size_t looked_ = 0;
  KubeWriter writer_;
};

TEST(WriterPropertyTest, OrderFairnessAndAtMostOnceHoldUnderRandomAnswers) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun(seed).Play();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace basalt::gateway
