#include "common/discovery/gateway_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/exec/sim_loop.h"

namespace basalt::discovery {
namespace {

using ::testing::HasSubstr;

// Answers a lookup when the test calls the lookup's `Done`.
struct FakeResolver final : Resolver {
  explicit FakeResolver(std::map<std::string, int>& counts) : asked(counts) {}
  void Resolve(HostPort name, Done done) override {
    ++asked[name.host];
    under_way.emplace_back(name.host, std::move(done));
  }
  std::map<std::string, int>& asked;
  std::vector<std::pair<std::string, Done>> under_way;
};

class GatewayRingTest : public ::testing::Test {
 protected:
  void Make(const std::vector<std::string>& values) {
    auto names = ParseGatewayNames(values);
    ASSERT_TRUE(names.ok()) << names.status();
    auto resolver = std::make_unique<FakeResolver>(asked_);
    resolver_ = resolver.get();
    ring_ = std::make_unique<GatewayRing>(loop_, *std::move(names), std::move(resolver));
  }
  // Answers the oldest lookup of the name.
  void Answer(const std::string& host, absl::StatusOr<std::vector<std::string>> answer) {
    auto& all = resolver_->under_way;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == host; });
    ASSERT_NE(found, all.end()) << host << " is not being looked up";
    Resolver::Done done = std::move(found->second);
    all.erase(found);
    done(std::move(answer));
  }
  std::string Current() const { return ring_->Current().value_or(""); }
  std::vector<std::string> Turns(int count) {
    std::vector<std::string> turns;
    for (int i = 0; i < count; ++i) {
      turns.push_back(Current());
      ring_->Failed("");
    }
    return turns;
  }
  void Await() {
    outcome_.reset();
    ring_->Await([this](const absl::Status& status) { outcome_ = status; });
    EXPECT_FALSE(outcome_.has_value()) << "never before Await returns";
  }

  SimTime time_;
  SimLoop loop_{time_, "test"};
  std::map<std::string, int> asked_;
  FakeResolver* resolver_ = nullptr;
  std::unique_ptr<GatewayRing> ring_;
  std::optional<absl::Status> outcome_;
};

TEST_F(GatewayRingTest, StaticAddressesAreTriedOneAfterTheOther) {
  Make({"a:1", "b:2", "a:1"});
  EXPECT_THAT(Turns(4), ::testing::ElementsAre("a:1", "b:2", "a:1", "b:2"));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(GatewayRingTest, ANameIsLookedUpBeforeTheFirstAttempt) {
  Make({"dns:///gw:7"});
  EXPECT_EQ(Current(), "");
  Await();
  Answer("gw", std::vector<std::string>{"10.0.0.1:7", "10.0.0.2:7"});
  EXPECT_EQ(outcome_, absl::OkStatus());
  EXPECT_THAT(Turns(3), ::testing::ElementsAre("10.0.0.1:7", "10.0.0.2:7", "10.0.0.1:7"));
}

TEST_F(GatewayRingTest, NamesAndAddressesMix) {
  Make({"a:1", "dns:///gw:7", "b:2"});
  EXPECT_EQ(Current(), "a:1") << "nothing has to be looked up for it";
  ring_->Failed("");
  EXPECT_EQ(Current(), "b:2");
  Answer("gw", std::vector<std::string>{"g:7"});
  EXPECT_EQ(Current(), "b:2") << "an attempt goes on while the ring grows";
  EXPECT_THAT(Turns(4), ::testing::ElementsAre("b:2", "a:1", "g:7", "b:2"));
}

TEST_F(GatewayRingTest, WhileAttemptsFailNamesAreLookedUpAgainButNotAllTheTime) {
  Make({"dns:///gw:7"});
  Await();
  Answer("gw", std::vector<std::string>{"10.0.0.1:7"});
  Turns(10);
  EXPECT_EQ(asked_["gw"], 1);
  time_.Advance(GatewayRing::kLookUpAgain);
  EXPECT_EQ(asked_["gw"], 1) << "nobody looks up what works";
  Turns(10);
  EXPECT_EQ(asked_["gw"], 2);
  Answer("gw", std::vector<std::string>{"10.0.0.9:7"});
  EXPECT_EQ(Current(), "10.0.0.9:7");
}

TEST_F(GatewayRingTest, TheLastAddressesCountWhileALookupFails) {
  Make({"dns:///gw:7"});
  Await();
  Answer("gw", std::vector<std::string>{"10.0.0.1:7"});
  time_.Advance(GatewayRing::kLookUpAgain);
  ring_->Failed("");
  Answer("gw", absl::UnavailableError("no server"));
  EXPECT_EQ(Current(), "10.0.0.1:7");
}

TEST_F(GatewayRingTest, WhereNothingIsFoundTheErrorNamesFlagValueAndReasonAndItIsTriedAgain) {
  Make({"dns:///gw:7", "dns:///other:8"});
  Await();
  Answer("gw", absl::UnavailableError("gw cannot be looked up: Name or service not known"));
  EXPECT_FALSE(outcome_.has_value()) << "the other one may have addresses";
  Answer("other", std::vector<std::string>());
  ASSERT_TRUE(outcome_.has_value());
  EXPECT_EQ(outcome_->code(), absl::StatusCode::kUnavailable);
  const std::string words(outcome_->message());
  EXPECT_THAT(words, HasSubstr("--gateway 'dns:///gw:7': gw cannot be looked up: Name or service not known"));
  EXPECT_THAT(words, HasSubstr("'dns:///other:8': it has no address"));

  Await();
  time_.RunDueTasks();
  EXPECT_EQ(outcome_->message(), words) << "too soon: as it was a moment ago";
  EXPECT_EQ(asked_["gw"], 1);
  time_.Advance(GatewayRing::kLookUpAgain);
  Await();
  EXPECT_EQ(asked_["gw"], 2);
  Answer("gw", std::vector<std::string>{"g:7"});
  EXPECT_EQ(outcome_, absl::OkStatus()) << "one is enough to begin";
  EXPECT_EQ(Current(), "g:7");
}

TEST_F(GatewayRingTest, ALeaderIsTriedOutOfTurnAndOnlyOnce) {
  Make({"a:1", "b:2", "c:3"});
  ring_->Failed("b:2");
  EXPECT_EQ(Current(), "b:2");
  ring_->Failed("a:1");
  EXPECT_EQ(Current(), "c:3") << "two that point at one another must not hide the third";
  ring_->Failed("a:1");
  EXPECT_EQ(Current(), "a:1");
  ring_->Failed("");
  EXPECT_EQ(Current(), "b:2");
  ring_->Failed("somewhere");
  EXPECT_EQ(Current(), "c:3") << "that is no address";
}

TEST_F(GatewayRingTest, ALeaderThatFailedOutOfTurnIsNotTheNextOneInTurn) {
  Make({"a:1", "b:2"});
  EXPECT_EQ(Current(), "a:1");
  ring_->Failed("b:2");
  EXPECT_EQ(Current(), "b:2");
  ring_->Failed("");
  EXPECT_EQ(Current(), "a:1") << "it may lead by now";
}

TEST_F(GatewayRingTest, ALeaderNeedNotStandInTheRing) {
  Make({"a:1"});
  ring_->Failed("z:9");
  EXPECT_EQ(Current(), "z:9");
  ring_->Failed("");
  EXPECT_EQ(Current(), "a:1");
}

TEST_F(GatewayRingTest, NobodyIsToldAfterItsEnd) {
  Make({"dns:///gw:7"});
  Await();
  Resolver::Done done = std::move(resolver_->under_way.front().second);
  ring_.reset();
  done(std::vector<std::string>{"g:7"});
  EXPECT_FALSE(outcome_.has_value());
}

}  // namespace
}  // namespace basalt::discovery
