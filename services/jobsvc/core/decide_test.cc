#include "services/jobsvc/core/decide.h"

#include <gtest/gtest.h>

#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

// What is observed and recorded is shared, also with those who read it meanwhile.
TEST(DecideTest, S21ADecisionLeavesWhatItFollowsFromAlone) {
  testing::DecideFacts facts({{"t", 1}});
  facts.job.mutable_status()->set_version(4);
  facts.pods.Apply(testing::MakePod("j-t-0", "u", kube::v1::POD_PHASE_FAILED, 4));
  auto* action = facts.pending.Add();
  action->set_event("PodFailed");
  action->set_action("RestartJob");
  action->set_version(4);
  const auto text = [&facts] {
    return facts.job.SerializeAsString() + facts.spec.SerializeAsString() + facts.pending.Get(0).SerializeAsString();
  };
  const std::string before = text();
  const Decision first = Decide(facts.Input());
  const Decision second = Decide(facts.Input());
  EXPECT_EQ(first.status.version(), 5);
  EXPECT_EQ(first.status.retry_count(), 1);
  EXPECT_EQ(first.status.SerializeAsString(), second.status.SerializeAsString());
  EXPECT_EQ(text(), before);
  EXPECT_EQ(facts.pods.counts().failed(), 1);
}

}  // namespace
}  // namespace basalt::jobsvc
