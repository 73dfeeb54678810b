// Tests single shutdowns of the simulated suite, the check of a shutdown in quiet, and the share of seeds with
// shutdowns.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/lead/lease.h"
#include "tests/simulation/faults/shutdowns.h"
#include "tests/simulation/quiet_shutdown.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {
namespace {

class ShutdownTest : public ::testing::Test {
 protected:
  void Start(int replicas, int gateways) {
    SimSuiteOptions options;
    options.seed = 5;
    options.replicas = {replicas, 1, 1};  // Replicas of jobsvc, pgsvc and queuesvc.
    options.gateways = gateways;
    suite_.emplace(options);
    suite_->StartAll();
    suite_->time().Advance(absl::Seconds(10));
    ASSERT_TRUE(suite_->Problems().empty()) << suite_->Problems().front();
  }
  bool EndsWithin(std::string_view host, absl::Duration limit) {
    return suite_->time().AdvanceUntil([&] { return !suite_->IsRunning(host); }, limit);
  }
  std::string Leader() const { return gateway::ParseIdentity(suite_->Leader()).value_or(gateway::Holder()).replica; }
  uint64_t Probe(std::string_view name) const { return suite_->probes().Count(name); }

  std::optional<SimSuite> suite_;
};

TEST_F(ShutdownTest, AReplicaGivesItsSlotsAwayAndIsOneOfThemAgain) {
  Start(/*replicas=*/2, /*gateways=*/1);
  suite_->ShutDown("jobsvc-0");
  EXPECT_TRUE(suite_->IsShuttingDown("jobsvc-0"));
  EXPECT_TRUE(EndsWithin("jobsvc-0", absl::Seconds(1)));
  EXPECT_EQ(Probe("replica gave its slots away"), 1U);
  EXPECT_TRUE(suite_->IsJoined("jobsvc-0"));
  EXPECT_TRUE(suite_->WasShutDown("jobsvc-0"));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(suite_->OwnerOf("jobsvc", "default/" + std::to_string(i)), "jobsvc-1");
  suite_->Start("jobsvc-0");
  EXPECT_FALSE(suite_->WasShutDown("jobsvc-0"));
  suite_->time().Advance(absl::Seconds(2));
  EXPECT_TRUE(suite_->Problems().empty()) << suite_->Problems().front();
  EXPECT_EQ(suite_->SlotsWithoutRecords("jobsvc"), 0U);
  EXPECT_TRUE(suite_->overdue().empty());
}

TEST_F(ShutdownTest, AReplicaThatIsAloneEndsAtOnceAndKeepsItsSlots) {
  Start(/*replicas=*/1, /*gateways=*/1);
  suite_->ShutDown("jobsvc-0");
  EXPECT_TRUE(EndsWithin("jobsvc-0", absl::Milliseconds(100)));
  EXPECT_EQ(Probe("replica shut down with nobody to give its slots to"), 1U);
  EXPECT_EQ(Probe("replica gave its slots away"), 0U);
  suite_->Start("jobsvc-0");
  suite_->time().Advance(absl::Seconds(2));
  EXPECT_EQ(suite_->SlotsWithoutRecords("jobsvc"), 0U);
}

TEST_F(ShutdownTest, AReplicaThatIsKilledMeanwhileHasNotShutDown) {
  Start(/*replicas=*/2, /*gateways=*/1);
  suite_->ShutDown("jobsvc-0");
  suite_->time().Advance(absl::Milliseconds(2));
  ASSERT_TRUE(suite_->IsShuttingDown("jobsvc-0"));
  suite_->Kill("jobsvc-0");
  EXPECT_FALSE(suite_->WasShutDown("jobsvc-0"));
  EXPECT_EQ(Probe("replica killed while it gave its slots away"), 1U);
  suite_->time().Advance(absl::Seconds(20));
  EXPECT_EQ(Probe("replica gave its slots away"), 0U);
  EXPECT_FALSE(suite_->IsRunning("jobsvc-0"));
  EXPECT_TRUE(suite_->overdue().empty());
}

TEST_F(ShutdownTest, AGatewayGivesItsLeadBackAndAnotherLeads) {
  Start(/*replicas=*/1, /*gateways=*/2);
  const std::string leader = Leader();
  suite_->ShutDown(leader);
  EXPECT_TRUE(EndsWithin(leader, absl::Seconds(3)));
  EXPECT_EQ(Probe("gateway gave its lead back"), 1U);
  suite_->time().Advance(absl::Seconds(4));
  EXPECT_FALSE(Leader().empty());
  EXPECT_NE(Leader(), leader);
}

TEST_F(ShutdownTest, AGatewayThatCannotGiveItsLeadBackEndsInItsTime) {
  Start(/*replicas=*/1, /*gateways=*/2);
  const std::string leader = Leader();
  suite_->CutApi(leader, true);
  suite_->ShutDown(leader);
  EXPECT_TRUE(EndsWithin(leader, absl::Seconds(8)));
  EXPECT_EQ(Probe("gateway gave its lead back"), 0U);
  EXPECT_TRUE(suite_->overdue().empty());
}

TEST_F(ShutdownTest, AGatewayThatDoesNotLeadEndsAtOnce) {
  Start(/*replicas=*/1, /*gateways=*/2);
  const std::string other = Leader() == "gateway-0" ? "gateway-1" : "gateway-0";
  suite_->ShutDown(other);
  EXPECT_TRUE(EndsWithin(other, absl::Milliseconds(100)));
}

TEST_F(ShutdownTest, WhatIsPausedMeanwhileIsKilledWhenItsTimeIsOver) {
  Start(/*replicas=*/2, /*gateways=*/1);
  suite_->ShutDown("jobsvc-0");
  suite_->Pause("jobsvc-0");
  EXPECT_FALSE(EndsWithin("jobsvc-0", absl::Seconds(12)));
  EXPECT_TRUE(EndsWithin("jobsvc-0", absl::Seconds(1)));
  EXPECT_EQ(Probe("killed at the end of its time to shut down"), 1U);
  EXPECT_TRUE(suite_->overdue().empty());
}

TEST_F(ShutdownTest, AReplicaWhoseSlotsNobodyTakesEndsWhenItsTimeIsOver) {
  Start(/*replicas=*/2, /*gateways=*/1);
  suite_->Pause("jobsvc-1");
  suite_->ShutDown("jobsvc-0");
  EXPECT_FALSE(EndsWithin("jobsvc-0", absl::Milliseconds(9'900)));
  EXPECT_TRUE(EndsWithin("jobsvc-0", absl::Milliseconds(200)));
  EXPECT_EQ(Probe("replica shut down though others had not taken its slots"), 1U);
  EXPECT_TRUE(suite_->overdue().empty());
}

TEST_F(ShutdownTest, WhoeverTakesTheSlotsMayShutDownMeanwhile) {
  Start(/*replicas=*/3, /*gateways=*/1);
  suite_->ShutDown("jobsvc-0");
  ASSERT_TRUE(
      suite_->time().AdvanceUntil([&] { return !suite_->IsMemberAt("jobsvc-1", "jobsvc-0"); }, absl::Seconds(1)));
  suite_->ShutDown("jobsvc-1");
  EXPECT_TRUE(EndsWithin("jobsvc-0", absl::Seconds(1)));
  EXPECT_TRUE(EndsWithin("jobsvc-1", absl::Seconds(1)));
  EXPECT_GE(Probe("replica shut down while its slots moved"), 1U);
  EXPECT_EQ(Probe("replica gave its slots away"), 2U);
  EXPECT_EQ(suite_->SlotsWithoutRecords("jobsvc"), 0U);
}

TEST_F(ShutdownTest, OneInQuietIsJudged) {
  Start(/*replicas=*/2, /*gateways=*/1);
  std::vector<std::string> violations;
  Probes probes;
  ShutDownInQuiet(*suite_, 1, violations, probes);
  EXPECT_TRUE(violations.empty()) << violations.front();
  EXPECT_EQ(probes.Count("replica shut down in quiet"), 1U) << "pgsvc and queuesvc have one replica each";
  EXPECT_TRUE(suite_->Problems().empty()) << suite_->Problems().front();
}

TEST_F(ShutdownTest, OneWhoseSlotsNobodyTakesIsFound) {
  Start(/*replicas=*/2, /*gateways=*/1);
  std::vector<std::string> violations;
  Probes probes;
  suite_->network().Partition("jobsvc-0", "jobsvc-1");  // Records cannot get from one to the other.
  ShutDownInQuiet(*suite_, 1, violations, probes);
  EXPECT_EQ(violations.size(), 2U);
}

TEST(ShutdownsTest, AboutHalfOfTheSeedsHaveSome) {
  int with = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) with += Shutdowns::AreIn(seed) ? 1 : 0;
  EXPECT_GT(with, 450);
  EXPECT_LT(with, 550);
}

}  // namespace
}  // namespace basalt::simulation
