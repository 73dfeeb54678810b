#include "services/jobsvc/core/decide.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "services/jobsvc/core/kill.h"

namespace basalt::jobsvc {
namespace {

// A job that runs, with tasks a and b of so many pods each.
class TargetsTest : public ::testing::Test {
 protected:
  void Begin(size_t of_a, size_t of_b) {
    job_.mutable_meta()->set_name("j");
    job_.mutable_status()->set_phase(kube::v1::JOB_PHASE_RUNNING);
    spec_.set_max_retry(3);
    spec_.set_min_available(1);
    pods_.Reset("j", "job-uid");
    pods_.Reshape({{"a", static_cast<int32_t>(of_a)}, {"b", static_cast<int32_t>(of_b)}});
    for (const auto& [task, count] : {std::pair("a", of_a), {"b", of_b}}) {
      spec_.add_tasks()->set_name(task);
      for (size_t i = 0; i < count; ++i) {
        kube::v1::Pod pod;
        pod.set_name(fmt::format("j-{}-{}", task, i));
        pod.set_uid(pod.name());
        pod.set_owner_uid("job-uid");
        pod.set_task(task);
        pod.set_job_version(0);
        pod.set_phase(kube::v1::POD_PHASE_RUNNING);
        pods_.Apply(pod);
      }
    }
    FollowStatus(job_.status());
  }
  storage::v1::PendingAction& Ask(std::string_view task) {
    auto& action = *pending_.Add();
    action.set_event("PodFailed");
    action.set_action("RestartTask");
    action.set_task(std::string(task));
    return action;
  }
  void FollowStatus(const kube::v1::JobStatus& status) {
    *job_.mutable_status() = status;
    own_ = ReadControlledState(status);
    pods_.SetRules(RulesOf(status, own_));
    pods_.SetTold(status, own_.done);
  }
  void Remove(std::string_view task, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("j-{}-{}", task, i);
      pods_.Remove(name, name);
    }
  }
  Decision Decide() const {
    const std::map<std::string, std::string> none;
    return jobsvc::Decide({.job = job_,
                           .spec = spec_,
                           .own = own_,
                           .pods = pods_,
                           .pending = pending_,
                           .deadlines = deadlines_,
                           .words = words_,
                           .objects = none,
                           .markers = none,
                           .now_ms = 1000});
  }

  kube::v1::Job job_;
  kube::v1::JobSpec spec_;
  PodSet pods_;
  ControlledState own_;
  PendingActions pending_;
  DeadlineSet deadlines_;
  Words words_;
};

TEST_F(TargetsTest, ATaskOfMorePodsThanAStatusCanNameIsNotRestartedAndTheJobGoesOn) {
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
  pending_.Clear();
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
  ASSERT_EQ(decision.notes.size(), 1u);
  EXPECT_EQ(decision.notes[0].reason, "ActionRefused");
  EXPECT_TRUE(decision.refusals.empty());
}

TEST_F(TargetsTest, TooManyPodsOfTwoRestartsGoOneAfterTheOther) {
  Begin(kMostTargets, 3);
  Ask("a");
  const Decision first = Decide();
  ASSERT_TRUE(first.kills);
  EXPECT_EQ(ReadControlledState(first.status).kill->targets.size(), kMostTargets);
  pending_.Clear();
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

}  // namespace
}  // namespace basalt::jobsvc
