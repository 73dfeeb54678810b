// Who holds the Lease, and for how long that counts: two electors, or one, on an API server in memory.
#include "gateway/lead/elector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/leadership/world.h"

namespace basalt::leadership {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One gateway process: its elector, and what it has heard.
class Site : public gateway::ElectorListener {
 public:
  Site(World& world, std::string replica, std::string incarnation = "a", absl::Duration skew = absl::ZeroDuration(),
       std::string ns = "default")
      : world_(world), loop_(world.time(), skew) {
    gateway::ElectorOptions options;
    options.lease_namespace = std::move(ns);
    options.self = {std::move(replica), std::move(incarnation)};
    options.address = options.self.replica + ":50";
    options.duration = kDuration;
    elector_ = std::make_unique<gateway::Elector>(loop_, client_, random_, *metrics_, *this, options);
    elector_->Start();
  }
  ~Site() override { Kill(); }

  void Kill() {
    loop_.Kill();
    elector_.reset();
  }
  void Release() {
    elector_->Release([this] { heard.emplace_back("released"); });
  }

  void OnTaken(const Taken& taken) override {
    heard.push_back(
        fmt::format("taken, waits {}{}", absl::FormatDuration(taken.wait), taken.was_absent ? ", was absent" : ""));
    taken_at = world_.time().Now();
    if (taken.was_absent) elector_->Waited();
  }
  void OnRenewed(absl::Time until) override { left = until - loop_.Now(); }
  void OnFollow(const std::string& leader, const std::string& address) override {
    heard.push_back(leader.empty() ? "follows nobody" : fmt::format("follows {} at {}", leader, address));
    lost_at = world_.time().Now();
  }
  void OnCondition(const obs::Health::Condition& said) override { condition = said; }
  void OnFatal(const absl::Status& why) override { fatal = why; }

  std::vector<std::string> Take() { return std::exchange(heard, {}); }
  bool leads() const { return elector_ != nullptr && elector_->leads(); }
  gateway::Elector& elector() { return *elector_; }
  PausableLoop& loop() { return loop_; }
  http::DirectClient& client() { return client_; }
  obs::Metrics& metrics() { return *metrics_; }

  std::vector<std::string> heard;
  absl::Duration left;  // Of its lead, as of the last renewal.
  absl::Time taken_at, lost_at;
  obs::Health::Condition condition;
  std::optional<absl::Status> fatal;

 private:
  World& world_;
  PausableLoop loop_;
  SeededRandom random_{7};
  std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  http::DirectClient client_{loop_, world_.server_loop(), world_.api()};
  std::unique_ptr<gateway::Elector> elector_;
};

class ElectorTest : public ::testing::Test {
 protected:
  // The first gateway leads, the second follows it.
  void StartTwo(absl::Duration skew = absl::ZeroDuration()) {
    first_ = std::make_unique<Site>(world_, "gateway-0");
    world_.Advance(absl::Seconds(1));
    second_ = std::make_unique<Site>(world_, "gateway-1", "b", skew);
    world_.Advance(absl::Seconds(10));
    ASSERT_TRUE(first_->leads());
    ASSERT_FALSE(second_->leads());
    first_->Take();
    second_->Take();
  }
  // How long after `then` the second gateway took the Lease.
  absl::Duration TakenAfter(absl::Time then) {
    EXPECT_TRUE(world_.AdvanceUntil([&] { return second_->leads(); }, absl::Minutes(2)));
    return second_->taken_at - then;
  }
  void MakeForeign(std::string_view spec) {
    const http::Response made = world_.Do(
        "POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        fmt::format(R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"basalt-gateway"}},)"
                    R"("spec":{}}})",
                    spec));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void Patch(const std::string& target, const std::string& patch) {
    const http::Response answer = world_.Do("PATCH", target, patch, "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  World world_;
  std::unique_ptr<Site> first_, second_;
};

TEST_F(ElectorTest, TheFirstLeadsAtOnceAndTheSecondFollowsIt) {
  Site first(world_, "gateway-0");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(first.Take(), ElementsAre("follows nobody", "taken, waits 0, was absent"));
  EXPECT_EQ(first.left, kDuration * 2 / 3);
  EXPECT_EQ(first.condition.state, "leading");
  Site second(world_, "gateway-1", "b");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(second.Take(), ElementsAre("follows nobody", "follows gateway-0 at gateway-0:50"));
  EXPECT_EQ(second.condition.state, "following");
  EXPECT_TRUE(second.condition.ready);
  EXPECT_EQ(second.condition.why, "gateway-0 at gateway-0:50 leads");
}

TEST_F(ElectorTest, ALeaderRenewsAndNobodyTakesItFromIt) {
  StartTwo(absl::Hours(-3));
  world_.Advance(absl::Minutes(10));
  EXPECT_THAT(first_->Take(), IsEmpty());
  EXPECT_THAT(second_->Take(), IsEmpty());
  EXPECT_EQ(first_->left, kDuration * 2 / 3);
  EXPECT_NEAR(first_->metrics().GetCounter("basalt_lease_renewals_total", "").Value(), 305, 10);
  EXPECT_EQ(first_->metrics().GetCounter("basalt_lease_transitions_total", "").Value(), 1);
  EXPECT_EQ(first_->metrics().GetGauge("basalt_gateway_leads", "").Value(), 1);
  EXPECT_EQ(second_->metrics().GetGauge("basalt_gateway_leads", "").Value(), 0);
}

TEST_F(ElectorTest, OfTwoThatStartTogetherOneLeads) {
  Site first(world_, "gateway-0");
  Site second(world_, "gateway-1", "b");
  world_.Advance(absl::Seconds(1));
  EXPECT_NE(first.leads(), second.leads());
}

TEST_F(ElectorTest, ADeadLeaderIsFollowedWithinOneAndAHalfDurations) {
  for (const absl::Duration skew : {absl::ZeroDuration(), absl::Hours(5), absl::Hours(-5)}) {
    SCOPED_TRACE(absl::FormatDuration(skew));
    first_.reset();
    second_.reset();
    world_.DeleteLease();
    StartTwo(skew);
    first_->Kill();
    const absl::Duration after = TakenAfter(world_.time().Now());
    EXPECT_GT(after, kDuration - absl::Seconds(3)) << "it may have been renewed so long before";
    EXPECT_LT(after + kDuration / 4, kDuration * 1.5) << "with the wait before the first write";
    EXPECT_THAT(second_->Take(), ElementsAre("taken, waits 3.75s"));
  }
}

TEST_F(ElectorTest, AReleasedLeaseIsTakenAtOnceAndWithoutAWait) {
  StartTwo();
  first_->Release();
  const absl::Duration after = TakenAfter(world_.time().Now());
  EXPECT_LT(after, absl::Seconds(2.5));
  EXPECT_THAT(first_->Take(), ElementsAre("released"));
  EXPECT_THAT(second_->Take(), ElementsAre("follows nobody", "taken, waits 0"));
}

TEST_F(ElectorTest, AReleaseOutlivesALostAnswerAndAConflict) {
  StartTwo();
  second_->Kill();
  world_.Fault(kubesim::FaultAction::kDropRequest, "update", 1);
  Patch(World::LeasePath(), R"({"metadata":{"labels":{"a":"b"}}})");
  first_->Release();
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(first_->Take(), ElementsAre("released"));
  EXPECT_EQ(world_.Holder(), "");
}

TEST_F(ElectorTest, AReleaseEndsAlsoWhereTheServerIsGone) {
  StartTwo();
  first_->client().SetCut(true);
  first_->Release();
  world_.Advance(kDuration / 3);
  EXPECT_THAT(first_->Take(), ElementsAre("released"));
}

TEST_F(ElectorTest, AStandbyReleasesNothing) {
  StartTwo();
  second_->Release();
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(second_->Take(), ElementsAre("released"));
  EXPECT_TRUE(first_->leads());
  EXPECT_EQ(world_.Holder(), "basalt-gateway/gateway-0/a");
}

TEST_F(ElectorTest, ALeaderThatCannotRenewLeadsNoLongerThanTwoThirds) {
  StartTwo();
  world_.Advance(absl::Seconds(1));
  first_->client().SetCut(true);
  const absl::Time until = world_.time().Now() + absl::Seconds(10);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return !first_->leads(); }, absl::Minutes(1)));
  EXPECT_LE(world_.time().Now(), until) << "counted from when it asked for its last renewal";
  EXPECT_GT(world_.time().Now(), until - absl::Seconds(3));
  EXPECT_THAT(first_->Take(), ElementsAre("follows nobody"));
  EXPECT_EQ(first_->condition.state, "lost");
  EXPECT_FALSE(first_->condition.ready);
  TakenAfter(until);
  EXPECT_FALSE(first_->leads());
  first_->client().SetCut(false);
  world_.Advance(absl::Seconds(5));
  EXPECT_THAT(first_->Take(), ElementsAre("follows gateway-1 at gateway-1:50"));
  EXPECT_TRUE(first_->condition.ready);
}

TEST_F(ElectorTest, WhoFindsItsOwnLeaseAfterACutGoesOn) {
  StartTwo();
  second_->Kill();
  first_->client().SetCut(true);
  world_.Advance(absl::Seconds(40));
  EXPECT_THAT(first_->Take(), ElementsAre("follows nobody"));
  first_->client().SetCut(false);
  world_.Advance(absl::Seconds(3));
  EXPECT_THAT(first_->Take(), ElementsAre("taken, waits 0"));
  EXPECT_EQ(first_->condition.state, "leading");
}

TEST_F(ElectorTest, APausedLeaderFindsThatItLeadsNoMore) {
  StartTwo();
  first_->loop().Pause();
  world_.Advance(absl::Seconds(30));
  EXPECT_TRUE(second_->leads());
  first_->loop().Continue();
  world_.Advance(absl::ZeroDuration());
  EXPECT_FALSE(first_->leads()) << "before it has asked anybody";
  world_.Advance(absl::Seconds(1));
  EXPECT_TRUE(second_->leads());
  EXPECT_THAT(first_->Take(), ElementsAre("follows nobody", "follows gateway-1 at gateway-1:50"));
}

TEST_F(ElectorTest, APausedStandbyTakesNothingThatWasRenewedMeanwhile) {
  StartTwo();
  second_->loop().Pause();
  world_.Advance(absl::Minutes(5));
  second_->loop().Continue();
  world_.Advance(absl::Seconds(14));
  EXPECT_TRUE(first_->leads());
  EXPECT_THAT(second_->Take(), IsEmpty());
}

// ---- the same name ----

TEST_F(ElectorTest, ANewProcessOfTheSameNameTakesTheLeaseAtOnce) {
  StartTwo();
  first_->Kill();
  Site again(world_, "gateway-0", "c");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(again.Take(), ElementsAre("follows nobody", "taken, waits 3.75s"));
  world_.Advance(absl::Seconds(30));
  EXPECT_FALSE(second_->leads());
}

// An API server that has just started refuses everybody for a while.
TEST_F(ElectorTest, ANewProcessOfTheSameNameGoesOnTryingToTakeTheLeaseOfTheOneBefore) {
  for (const int code : {0, 403, 409, 500, 503}) {
    World world;
    Site before(world, "gateway-0");
    world.Advance(absl::Seconds(10));
    ASSERT_TRUE(before.leads());
    before.Kill();
    const auto action = code == 0 ? kubesim::FaultAction::kDropRequest : kubesim::FaultAction::kAnswer;
    world.Fault(action, "update", 3, code);
    Site again(world, "gateway-0", "c");
    world.Advance(absl::Seconds(10));
    EXPECT_TRUE(again.leads()) << code;
    EXPECT_FALSE(again.fatal.has_value()) << code << ": " << *again.fatal;
  }
}

TEST_F(ElectorTest, AnOlderProcessOfTheSameNameEnds) {
  StartTwo();
  Site again(world_, "gateway-0", "c");
  world_.Advance(absl::Seconds(3));
  EXPECT_TRUE(again.leads());
  EXPECT_FALSE(first_->leads());
  ASSERT_TRUE(first_->fatal.has_value());
  EXPECT_THAT(std::string(first_->fatal->message()),
              HasSubstr("replaced by 'basalt-gateway/gateway-0/c', another process of the same --replica"));
  EXPECT_EQ(first_->condition.state, "replaced");
  world_.Advance(absl::Minutes(1));
  EXPECT_TRUE(again.leads());
  EXPECT_FALSE(again.fatal.has_value());
}

TEST_F(ElectorTest, AnOlderStandbyOfTheSameNameEndsTooAndDoesNotTakeItBack) {
  StartTwo();
  Site again(world_, "gateway-1", "c");
  world_.Advance(absl::Seconds(3));
  first_->Release();
  world_.Advance(absl::Milliseconds(1));
  first_->Kill();
  ASSERT_TRUE(world_.AdvanceUntil([&] { return again.leads() || second_->leads(); }, absl::Seconds(5)));
  Site& winner = again.leads() ? again : *second_;
  Site& other = again.leads() ? *second_ : again;
  world_.Advance(absl::Minutes(1));
  EXPECT_TRUE(winner.leads());
  EXPECT_FALSE(winner.fatal.has_value());
  EXPECT_TRUE(other.fatal.has_value());
}

// ---- outcomes that nobody knows ----

TEST_F(ElectorTest, ALostAnswerToARenewalIsFoundByReading) {
  StartTwo();
  world_.Fault(kubesim::FaultAction::kDropAnswer, "update", 5);
  world_.Advance(absl::Minutes(1));
  EXPECT_THAT(first_->Take(), IsEmpty());
  EXPECT_TRUE(first_->leads());
}

TEST_F(ElectorTest, ALostAnswerToTakingIsFoundByReading) {
  StartTwo();
  first_->Kill();
  world_.Advance(absl::Seconds(12));
  world_.Fault(kubesim::FaultAction::kDropAnswer, "update", 1);
  EXPECT_LT(TakenAfter(world_.time().Now()), absl::Seconds(6));
  EXPECT_THAT(second_->Take(), ElementsAre("taken, waits 3.75s"));
}

TEST_F(ElectorTest, ALostAnswerToMakingIsFoundByReading) {
  world_.Fault(kubesim::FaultAction::kDropAnswer, "create", 1);
  Site first(world_, "gateway-0");
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(first.Take(), ElementsAre("follows nobody", "taken, waits 0, was absent"));
}

TEST_F(ElectorTest, WhatTheServerRefusesForAWhileIsAskedForAgain) {
  StartTwo();
  for (const int code : {409, 429, 500, 503, 504}) {
    world_.Fault(kubesim::FaultAction::kAnswer, "update", 3, code);
    world_.Advance(absl::Seconds(30));
    EXPECT_TRUE(first_->leads()) << code;
    EXPECT_THAT(first_->Take(), IsEmpty()) << code;
  }
}

TEST_F(ElectorTest, SomebodyElsesChangeOfALabelCostsNothing) {
  StartTwo();
  for (int i = 0; i < 20; ++i) {
    Patch(World::LeasePath(), fmt::format(R"({{"metadata":{{"labels":{{"a":"{}"}}}}}})", i));
    world_.Advance(absl::Seconds(1));
  }
  EXPECT_TRUE(first_->leads());
  EXPECT_THAT(first_->Take(), IsEmpty());
  first_->Kill();
  const absl::Time dead = world_.time().Now();
  for (int i = 0; i < 15; ++i) {
    Patch(World::LeasePath(), fmt::format(R"({{"metadata":{{"labels":{{"b":"{}"}}}}}})", i));
    world_.Advance(absl::Seconds(1));
  }
  EXPECT_LT(TakenAfter(dead), absl::Seconds(19)) << "labels are no renewals";
}

// ---- a Lease that is gone, or no one's ----

TEST_F(ElectorTest, ALeaderMakesADeletedLeaseAnewAndGoesOn) {
  StartTwo();
  second_->Kill();
  world_.DeleteLease();
  world_.Advance(absl::Seconds(5));
  EXPECT_EQ(world_.Holder(), "basalt-gateway/gateway-0/a");
  EXPECT_THAT(first_->Take(), IsEmpty());
}

TEST_F(ElectorTest, AStandbyThatMakesADeletedLeaseWaitsForWhoHeldIt) {
  StartTwo();
  first_->loop().Pause();
  world_.DeleteLease();
  world_.Advance(absl::Seconds(3));
  EXPECT_THAT(second_->Take(), ElementsAre("follows nobody", "taken, waits 15s"));
  first_->loop().Continue();
  world_.Advance(absl::Seconds(3));
  EXPECT_FALSE(first_->leads());
  EXPECT_TRUE(second_->leads());
}

TEST_F(ElectorTest, WhatALeaderHadToWaitForTheNextOneWaitsForToo) {
  StartTwo();
  first_->loop().Pause();
  world_.DeleteLease();
  world_.Advance(absl::Seconds(3));
  ASSERT_THAT(second_->Take(), ElementsAre("follows nobody", "taken, waits 15s"));
  second_->Release();
  world_.Advance(absl::Seconds(1));
  Site third(world_, "gateway-2", "c");
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(third.Take(), ElementsAre("follows nobody", "taken, waits 15s"));
  third.Kill();
  Site again(world_, "gateway-2", "d");
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(again.Take(), ElementsAre("follows nobody", "taken, waits 15s"));
  again.elector().Waited();
  world_.Advance(absl::Seconds(3));
  again.Kill();
  Site last(world_, "gateway-2", "e");
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(last.Take(), ElementsAre("follows nobody", "taken, waits 3.75s"));
}

TEST_F(ElectorTest, ALeaseEmptiedByHandMayStillBeUsed) {
  StartTwo();
  first_->loop().Pause();
  Patch(World::LeasePath(), R"({"spec":{"holderIdentity":""}})");
  world_.Advance(absl::Seconds(3));
  EXPECT_THAT(second_->Take(), ElementsAre("follows nobody", "taken, waits 15s"));
}

TEST_F(ElectorTest, AForeignHolderIsNamedAndLeftAloneWhileItRenews) {
  MakeForeign(R"({"holderIdentity":"vc-controller-manager_1","leaseDurationSeconds":40})");
  Site site(world_, "gateway-0");
  for (int i = 0; i < 60; ++i) {
    Patch(World::LeasePath(), fmt::format(R"({{"spec":{{"renewTime":"2026-01-02T03:04:05.{:06}Z"}}}})", i));
    world_.Advance(absl::Seconds(2));
  }
  EXPECT_FALSE(site.leads());
  EXPECT_FALSE(site.condition.ready);
  EXPECT_EQ(site.condition.state, "held");
  EXPECT_EQ(site.condition.why,
            "Lease default/basalt-gateway is held by 'vc-controller-manager_1', which is no gateway of ours");
  EXPECT_THAT(site.condition.cure, HasSubstr("--lease_name"));
  EXPECT_THAT(site.condition.cure, HasSubstr("40s"));
  world_.Advance(absl::Seconds(37));
  EXPECT_FALSE(site.leads()) << "its own duration counts";
  world_.Advance(absl::Seconds(4));
  EXPECT_TRUE(site.leads());
  EXPECT_TRUE(site.condition.ready);
  EXPECT_THAT(site.Take(), ElementsAre("follows nobody", "taken, waits 3.75s"));
}

TEST_F(ElectorTest, AForeignLeaseWithoutADurationIsWaitedForAsOurs) {
  MakeForeign(R"({"holderIdentity":"someone"})");
  Site site(world_, "gateway-0");
  world_.Advance(absl::Seconds(14.9));
  EXPECT_FALSE(site.leads());
  world_.Advance(absl::Seconds(1));
  EXPECT_TRUE(site.leads());
}

// ---- what somebody has to do something about ----

TEST_F(ElectorTest, AMissingRightIsNamedAndTriedAgain) {
  world_.Fault(kubesim::FaultAction::kAnswer, "get", -1, 403);
  Site site(world_, "gateway-0");
  world_.Advance(absl::Seconds(30));
  EXPECT_FALSE(site.condition.ready);
  EXPECT_EQ(site.condition.state, "forbidden");
  EXPECT_THAT(site.condition.why, HasSubstr("cannot get Lease default/basalt-gateway"));
  EXPECT_THAT(site.condition.cure, HasSubstr("deploy/rbac/gateway.yaml"));
  world_.api().faults().Clear();
  world_.Advance(absl::Seconds(3));
  EXPECT_TRUE(site.condition.ready);
  EXPECT_TRUE(site.leads());
}

TEST_F(ElectorTest, AServerThatDoesNotAnswerIsNoNewsForAWhile) {
  StartTwo();
  second_->client().SetCut(true);
  world_.Advance(absl::Seconds(10));
  EXPECT_TRUE(second_->condition.ready);
  world_.Advance(absl::Seconds(10));
  EXPECT_FALSE(second_->condition.ready);
  EXPECT_EQ(second_->condition.state, "unreachable");
}

TEST_F(ElectorTest, AMissingNamespaceIsNamed) {
  Site site(world_, "gateway-0", "a", absl::ZeroDuration(), "elsewhere");
  world_.Advance(absl::Seconds(1));
  EXPECT_EQ(site.condition.state, "absent");
  EXPECT_THAT(site.condition.why, HasSubstr("namespaces \"elsewhere\" not found"));
  EXPECT_THAT(site.condition.cure, HasSubstr("--lease_namespace"));
  const http::Response made = world_.Do("POST", "/api/v1/namespaces",
                                        R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"elsewhere"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  world_.Advance(absl::Seconds(3));
  EXPECT_TRUE(site.leads());
}

TEST_F(ElectorTest, SteppingDownWaitsForWhoeverActsAsLeader) {
  StartTwo();
  first_->elector().StepDown("somebody else has written");
  world_.Advance(absl::Seconds(1));
  EXPECT_THAT(first_->Take(), ElementsAre("follows nobody", "taken, waits 15s"));
}

}  // namespace
}  // namespace basalt::leadership
