// The elector meets a server, a Lease or a person that does not behave as expected.
#include "gateway/lead/elector.h"

#include <gmock/gmock.h>

#include "tests/leadership/elector_fixture.h"

namespace basalt::leadership {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- unknown outcomes ----

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

TEST_F(ElectorTest, ARequestThatIsRefusedForAWhileIsRepeated) {
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

// ---- a Lease that is gone, or that no gateway of ours holds ----

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

TEST_F(ElectorTest, TheNextLeaderWaitsForWhatTheLastOneWaitedFor) {
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

// ---- problems that a person has to solve ----

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
