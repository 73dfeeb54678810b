#include "services/jobsvc/core/decide/decide.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/kube/text.h"
#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

// The inputs are shared with readers that may be reading them meanwhile.
TEST(DecideTest, ADecisionLeavesWhatItFollowsFromAlone) {
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

// A controller that decides again and again without writing draws no nonce.
TEST(DecideTest, ANonceIsDrawnForWhatIsWrittenAlone) {
  testing::DecideFacts facts({{"t", 1}});
  int drawn = 0;
  const auto decide = [&facts, &drawn] {
    DecideInput input = facts.Input();
    input.counts_due = false;
    input.draw_nonce = [&drawn] { return fmt::format("nonce-{}", ++drawn); };
    return Decide(input);
  };
  EXPECT_NE(decide().write, Decision::Write::kNow);
  EXPECT_EQ(drawn, 0);
  auto* action = facts.pending.Add();
  action->set_event("PodFailed");
  action->set_action("RestartJob");
  facts.pods.Apply(testing::MakePod("j-t-0", "u", kube::v1::POD_PHASE_FAILED, 0));
  const Decision decision = decide();
  EXPECT_EQ(decision.write, Decision::Write::kNow);
  EXPECT_EQ(drawn, 1);
  EXPECT_EQ(decision.nonce, "nonce-1");
  EXPECT_EQ(ReadControlledState(decision.status).nonce, "nonce-1");
}

// A process that dies before it hears what it has made leaves the status to the next one, and nothing else.
TEST(DecideTest, TheStatusNamesObjectsBeforeTheyAreMade) {
  WantedObject object;
  object.plural = "services";
  object.name = "j";
  struct Case {
    const char* what;
    kube::v1::JobPhase phase;
    const char* action;
    std::map<std::string, std::string> named;
    bool is_named;
    bool is_urgent;
  };
  const Case cases[] = {
      {"a new job", kube::v1::JOB_PHASE_UNSPECIFIED, nullptr, {}, true, true},
      {"one that is resumed", kube::v1::JOB_PHASE_ABORTED, "ResumeJob", {}, true, true},
      {"one that is suspended", kube::v1::JOB_PHASE_ABORTED, nullptr, {}, false, false},
      {"one that is aborted", kube::v1::JOB_PHASE_RUNNING, "AbortJob", {}, true, true},
      {"an edit of one that runs", kube::v1::JOB_PHASE_RUNNING, nullptr, {}, true, true},
      {"one that runs", kube::v1::JOB_PHASE_RUNNING, nullptr, {{"services/j", ""}}, false, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    testing::DecideFacts facts({{"t", 1}});
    facts.wanted_objects = {object};
    facts.job.mutable_status()->set_phase(test.phase);
    facts.persisted.objects = test.named;
    if (test.action != nullptr) {
      storage::v1::PendingAction& action = *facts.pending.Add();
      action.set_event("CommandIssued");
      action.set_action(test.action);
    }
    if (MakesPods(test.phase)) facts.objects["services/j"] = "";
    DecideInput input = facts.Input();
    input.counts_due = false;
    const Decision decision = Decide(input);
    EXPECT_EQ(decision.write == Decision::Write::kNow, test.is_urgent);
    EXPECT_EQ(ReadControlledState(decision.status).objects.contains("services/j"), test.is_named);
  }
}

using History = storage::v1::HistoryRecord;

// The answer is a text, and a result for programs.
TEST(DecideTest, HistoryAndEventSayWhatBecameOfACommand) {
  struct Row {
    kube::v1::JobPhase phase;
    const char* action;
    const char* outcome;
    History::Result result = History::RESULT_NOTHING_TO_DO;
  };
  const Row rows[] = {
      {kube::v1::JOB_PHASE_FAILED, "RestartJob", "nothing to do: the job is Failed, which is final; submit it again"},
      {kube::v1::JOB_PHASE_COMPLETED, "AbortJob", "nothing to do: the job is Completed, which is final"},
      {kube::v1::JOB_PHASE_ABORTED, "CompleteJob",
       "nothing to do: the job is Aborted; only a resume is carried out there"},
      {kube::v1::JOB_PHASE_ABORTED, "RestartJob",
       "nothing to do: the job is Aborted; only a resume is carried out there"},
      {kube::v1::JOB_PHASE_ABORTING, "AbortJob", "nothing to do: the job is Aborting already"},
      {kube::v1::JOB_PHASE_COMPLETING, "RestartJob", "nothing to do: the job is Completing, and ends with that"},
      {kube::v1::JOB_PHASE_RUNNING, "ResumeJob",
       "nothing to do: the job is Running; only one that is aborted is resumed"},
      {kube::v1::JOB_PHASE_RUNNING, "RestartTask", "nothing to do: there is no pod of what it names"},
      {kube::v1::JOB_PHASE_RUNNING, "Nonsense", "Nonsense is refused: there is no such action",
       History::RESULT_REFUSED},
      {kube::v1::JOB_PHASE_ABORTED, "ResumeJob",
       "resumed: pods that succeeded stay, all others are made anew; version 1", History::RESULT_CARRIED_OUT},
      {kube::v1::JOB_PHASE_RUNNING, "AbortJob", "kill of all pods but the finished; version 1",
       History::RESULT_CARRIED_OUT},
      {kube::v1::JOB_PHASE_RESTARTING, "ResumeJob",
       "nothing to do: the job is Restarting; only one that is aborted is resumed"},
  };
  for (const Row& row : rows) {
    testing::DecideFacts facts({{.name = "a", .replicas = 2, .needed = 2}});
    facts.job.mutable_status()->set_phase(row.phase);
    auto& pending = *facts.pending.Add();
    pending.set_event("CommandIssued");
    pending.set_action(row.action);
    pending.set_version(-1);
    pending.set_command_uid("c");
    const Decision decision = Decide(facts.Input());
    const std::string about = fmt::format("{} {}", kube::JobPhaseName(row.phase), row.action);
    EXPECT_EQ(decision.history.outcome(), row.outcome) << about;
    EXPECT_EQ(decision.history.result(), row.result) << about;
    // The Event of an action that is carried out names it. Any other Event states why it is not.
    ASSERT_EQ(decision.pending_events.size(), 1u) << about;
    const PendingEvent& note = decision.pending_events[0];
    EXPECT_EQ(note.reason, row.result == History::RESULT_REFUSED ? "ActionRefused" : "ExecuteAction") << about;
    EXPECT_EQ(note.message.find(row.outcome) == std::string::npos, row.result == History::RESULT_CARRIED_OUT)
        << about << ": " << note.message;
  }
}

}  // namespace
}  // namespace basalt::jobsvc
