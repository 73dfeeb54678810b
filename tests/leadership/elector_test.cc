// Tests which gateway holds the Lease, and for how long the Lease is valid.
#include "gateway/lead/elector.h"

#include <gmock/gmock.h>

#include "tests/leadership/elector_fixture.h"

namespace basalt::leadership {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(ElectorTest, OneLeadsOfTwoThatStartTogether) {
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

// ---- two processes of the same name ----

TEST_F(ElectorTest, ANewProcessOfTheSameNameTakesTheLeaseAtOnce) {
  StartTwo();
  first_->Kill();
  Site again(world_, "gateway-0", "c");
  world_.Advance(absl::Milliseconds(10));
  EXPECT_THAT(again.Take(), ElementsAre("follows nobody", "taken, waits 3.75s"));
  world_.Advance(absl::Seconds(30));
  EXPECT_FALSE(second_->leads());
}

// An API server that has just started refuses every request for a while.
TEST_F(ElectorTest, ANewProcessOfTheSameNameGoesOnTryingToTakeTheLease) {
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

}  // namespace
}  // namespace basalt::leadership
