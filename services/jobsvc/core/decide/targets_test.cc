#include "services/jobsvc/core/decide/decide.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/jobsvc/core/decide/kill.h"
#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

// A running job with tasks a and b of given numbers of pods.
class TargetsTest : public ::testing::Test {
 protected:
  void Begin(size_t of_a, size_t of_b) {
    facts_ = testing::DecideFacts({{"a", static_cast<int32_t>(of_a)}, {"b", static_cast<int32_t>(of_b)}});
    for (const auto& [task, count] : {std::pair("a", of_a), {"b", of_b}}) {
      for (size_t i = 0; i < count; ++i) {
        const std::string name = fmt::format("j-{}-{}", task, i);
        facts_.pods.Apply(testing::MakePod(name, name, kube::v1::POD_PHASE_RUNNING));
      }
    }
    FollowStatus(facts_.job.status());
  }
  storage::v1::PendingAction& Ask(std::string_view task) {
    auto& action = *facts_.pending.Add();
    action.set_event("PodFailed");
    action.set_action("RestartTask");
    action.set_task(std::string(task));
    return action;
  }
  void FollowStatus(const kube::v1::JobStatus& status) {
    *facts_.job.mutable_status() = status;
    facts_.persisted = ReadControlledState(status);
    facts_.pods.SetRules(RulesOf(status, facts_.persisted));
    facts_.pods.SetReported(status, facts_.persisted.done);
  }
  void Remove(std::string_view task, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("j-{}-{}", task, i);
      facts_.pods.Remove(name, name);
    }
  }
  Decision Decide() const { return jobsvc::Decide(facts_.Input()); }

  testing::DecideFacts facts_{{}};
};

TEST_F(TargetsTest, ARestartOfTooManyPodsIsRefusedAndTheJobGoesOn) {
  Begin(kMostTargets + 1, 1);
  for (int i = 0; i < 3; ++i) Ask("a");
  const Decision decision = Decide();
  EXPECT_EQ(decision.dropped, 3);
  EXPECT_EQ(decision.consumed, 0);
  EXPECT_FALSE(decision.kills);
  EXPECT_EQ(decision.write, Decision::Write::kCounts) << "what a plain sync would write";
  ASSERT_EQ(decision.refusals.size(), 1u) << "said once";
  EXPECT_EQ(decision.refusals[0].reason, "ActionRefused");
  EXPECT_EQ(decision.refusals[0].message,
            "RestartTask of task a is refused: it is about 20001 pods, and at most 20000 are restarted together; "
            "RestartJob restarts any number");
  facts_.pending.Clear();
  Ask("b");
  EXPECT_TRUE(Decide().kills);
}

TEST_F(TargetsTest, ACommandThatIsRefusedIsAnsweredAllTheSame) {
  Begin(kMostTargets + 1, 0);
  Ask("a").set_command_uid("c");
  const Decision decision = Decide();
  EXPECT_EQ(decision.write, Decision::Write::kNow);
  EXPECT_FALSE(decision.kills);
  EXPECT_EQ(decision.consumed, 1);
  EXPECT_EQ(ReadControlledState(decision.status).last_command_uid, "c");
  EXPECT_TRUE(decision.history.outcome().starts_with("RestartTask of task a is refused")) << decision.history.outcome();
  EXPECT_EQ(decision.history.result(), storage::v1::HistoryRecord::RESULT_REFUSED);
  ASSERT_EQ(decision.pending_events.size(), 1u);
  EXPECT_EQ(decision.pending_events[0].reason, "ActionRefused");
  EXPECT_TRUE(decision.refusals.empty());
}

TEST_F(TargetsTest, TooManyPodsOfTwoRestartsGoOneAfterTheOther) {
  Begin(kMostTargets, 3);
  Ask("a");
  const Decision first = Decide();
  ASSERT_TRUE(first.kills);
  EXPECT_EQ(ReadControlledState(first.status).kill->targets.size(), kMostTargets);
  facts_.pending.Clear();
  FollowStatus(first.status);
  Ask("b");
  const Decision second = Decide();
  EXPECT_FALSE(second.kills);
  EXPECT_EQ(second.dropped + second.consumed, 0) << "it waits";
  EXPECT_TRUE(second.refusals.empty());
  EXPECT_NE(second.write, Decision::Write::kNow) << "and nothing is concluded before it";
  Remove("a", 3);
  const Decision third = Decide();
  EXPECT_TRUE(third.kills) << "there is room for the three";
  EXPECT_EQ(third.consumed, 1);
  const std::set<std::string> targets = ReadControlledState(third.status).kill->targets;
  EXPECT_EQ(targets.size(), kMostTargets);
  EXPECT_TRUE(targets.contains("j-b-0"));
  EXPECT_FALSE(targets.contains("j-a-0"));
}

TEST_F(TargetsTest, TheStatusNamesThePodsWhoseEventsAKillAnswers) {
  Begin(3, 0);
  Ask("a").set_pod_uid("failed");
  Ask("a").set_pod_uid("failed beside it");
  facts_.pending.Mutable(1)->set_partition(1);  // RestartTask takes all pods.
  auto& other = Ask("a");
  other.set_action("AbortJob");
  other.set_pod_uid("asks for more, and is answered by that");
  Ask("a").set_command_uid("c");
  Decision decision = Decide();
  ASSERT_TRUE(decision.kills);
  EXPECT_EQ(ReadControlledState(decision.status).answered, (std::vector<std::string>{"failed", "failed beside it"}));
  for (size_t i = 0; i < kMostAnswered; ++i) Ask("a").set_pod_uid(fmt::format("{}", i));
  decision = Decide();
  const std::vector<std::string> answered = ReadControlledState(decision.status).answered;
  ASSERT_EQ(answered.size(), kMostAnswered);
  EXPECT_EQ(answered.back(), fmt::format("{}", kMostAnswered - 1)) << "the newest";
  facts_.pending.Clear();
  FollowStatus(decision.status);
  Ask("a").set_action("AbortJob");
  decision = Decide();
  ASSERT_TRUE(decision.kills);
  EXPECT_TRUE(ReadControlledState(decision.status).answered.empty()) << "its pods are of an older version";
}

// The kill also answers actions that request meanwhile what it does already.
TEST_F(TargetsTest, TheNextWriteNamesThePodsThatTheKillUnderWayAnswers) {
  using Uids = std::vector<std::string>;
  Begin(3, 1);
  facts_.spec.set_min_available(2);  // The job is Restarting until pods of `a` are there again.
  Ask("a").set_pod_uid("j-a-0");
  FollowStatus(Decide().status);
  facts_.pending.Clear();
  for (const char* pod : {"j-a-1", "j-a-2"}) Ask("a").set_pod_uid(pod);
  Decision decision = Decide();
  EXPECT_EQ(decision.dropped, 2);
  EXPECT_EQ(decision.answered, (Uids{"j-a-1", "j-a-2"}));
  EXPECT_EQ(decision.write, Decision::Write::kCounts);
  facts_.pending.Clear();
  facts_.unreported_answered = decision.answered;
  decision = Decide();
  ASSERT_EQ(decision.write, Decision::Write::kCounts);
  EXPECT_EQ(ReadControlledState(decision.status).answered, (Uids{"j-a-0", "j-a-1", "j-a-2"}));
  facts_.unreported_answered.clear();
  FollowStatus(decision.status);
  Ask("a").set_pod_uid("j-a-1");
  decision = Decide();
  EXPECT_TRUE(decision.answered.empty()) << "the status names the pod";
  EXPECT_EQ(decision.write, Decision::Write::kNone);
}

TEST_F(TargetsTest, RefusedAndOutdatedActionsAnswerNoPod) {
  Begin(kMostTargets + 1, 2);
  for (const char* pod : {"j-a-0", "j-a-1"}) Ask("a").set_pod_uid(pod);
  EXPECT_TRUE(Decide().answered.empty());
  facts_.pending.Clear();
  facts_.job.mutable_status()->set_version(1);
  for (const int version : {1, 0}) {
    auto& action = Ask("b");
    action.set_pod_uid(std::to_string(version));
    action.set_version(version);
  }
  EXPECT_EQ(ReadControlledState(Decide().status).answered, (std::vector<std::string>{"1"}));
}

}  // namespace
}  // namespace basalt::jobsvc
