#include "services/jobsvc/control/status/status_commit.h"

#include <gtest/gtest.h>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using State = StatusCommit::State;
using Step = StatusCommit::Step;
using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

TEST(StatusCommitStatesTest, FollowTheStepsOfOneCommit) {
  struct Case {
    Step step;
    State idle;
    State recorded;
    State sent;
    State unknown;
  };
  const Case cases[] = {
      {Step::kRecord, State::kRecorded, State::kRecorded, State::kRecorded, State::kRecorded},
      {Step::kSend, State::kIdle, State::kSent, State::kSent, State::kUnknown},
      {Step::kLose, State::kIdle, State::kRecorded, State::kUnknown, State::kUnknown},
      {Step::kAnswer, State::kIdle, State::kRecorded, State::kIdle, State::kIdle},
      {Step::kResolve, State::kIdle, State::kIdle, State::kIdle, State::kIdle},
  };
  for (const Case& test : cases) {
    const int step = static_cast<int>(test.step);
    EXPECT_EQ(StatusCommit::Next(State::kIdle, test.step), test.idle) << step;
    EXPECT_EQ(StatusCommit::Next(State::kRecorded, test.step), test.recorded) << step;
    EXPECT_EQ(StatusCommit::Next(State::kSent, test.step), test.sent) << step;
    EXPECT_EQ(StatusCommit::Next(State::kUnknown, test.step), test.unknown) << step;
  }
}

TEST(CommitShownTest, IsReadFromSequenceAndNonce) {
  struct Case {
    const char* what;
    bool has_intent;  // The intent has sequence 6 and nonce b; the commit before has 5 and a.
    int64_t sequence;
    const char* nonce;
    CommitShown expected;
  };
  const Case cases[] = {
      {"ours, and nothing is meant", false, 5, "a", CommitShown::kNothing},
      {"an older state is looked at", false, 4, "x", CommitShown::kNothing},
      {"another commit of the same number", false, 5, "x", CommitShown::kStale},
      {"a later one", false, 6, "b", CommitShown::kStale},
      {"not there yet", true, 5, "a", CommitShown::kNotYet},
      {"what is meant", true, 6, "b", CommitShown::kCommitted},
      {"another in the place of what is meant", true, 6, "x", CommitShown::kStale},
      {"one after it", true, 7, "b", CommitShown::kStale},
  };
  for (const Case& test : cases) {
    storage::v1::JobRecord record;
    record.set_committed_sequence(5);
    record.set_committed_nonce("a");
    if (test.has_intent) {
      record.mutable_intent()->set_sequence(6);
      record.mutable_intent()->set_nonce("b");
    }
    ControlledState persisted;
    persisted.sequence = test.sequence;
    persisted.nonce = test.nonce;
    EXPECT_EQ(ShownOf(record, persisted), test.expected) << test.what;
  }
}

class StatusCommitTest : public PartTest {
 protected:
  void Send() {
    Decision decision;
    decision.sequence = 1;
    decision.nonce = "n";
    job.commit.Record(job, decision);
    job.commit.Send(job, host);
  }
};

TEST_F(StatusCommitTest, AnAnswerSaysWhetherAndWhenItIsDecidedAgain) {
  struct Case {
    const char* what;
    WriteOutcome outcome;
    bool under_way;
    bool is_doubted;  // The job is read first.
    bool waits;       // The job is decided on anew after a pause.
    bool has_problem;
  };
  const Case cases[] = {
      {"done: the pass sees it", Done(), false, false, false, false},
      {"a newer state is there", Refused(409, "Conflict"), false, true, false, false},
      {"refused", Refused(422, "Invalid", "no"), false, false, true, true},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, false, false, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, true, false, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    job.ResetParts();
    Send();
    EXPECT_TRUE(job.commit.under_way());
    Answer(test.outcome);
    EXPECT_EQ(job.commit.under_way(), test.under_way);
    EXPECT_EQ(job.newest_status.is_doubted(), test.is_doubted);
    EXPECT_EQ(job.commit.retry().Blocks(host.Now()), test.waits);
    EXPECT_EQ(!job.commit.problem().empty(), test.has_problem);
  }
}

TEST_F(StatusCommitTest, AConflictIsOverOnceAnotherVersionIsReadAndElseIsARefusal) {
  for (const bool is_newer : {false, true}) {
    SCOPED_TRACE(is_newer);
    job.ResetParts();
    Send();
    Answer(Refused(409, "Conflict"));
    job.newest_status.Apply(job, host);
    if (is_newer) job.job->mutable_meta()->set_resource_version(8);
    gateway::v1::GetResponse read;
    *read.mutable_object()->mutable_job()->mutable_meta() = job.job->meta();
    AnswerRead(read);
    EXPECT_EQ(job.commit.retry().Blocks(host.Now()), !is_newer);
  }
}

TEST_F(StatusCommitTest, AnAnswerToTheCommitBeforeChangesNothing) {
  Send();
  job.commit.Resolve(job);  // The watch was faster.
  Decision next;
  next.sequence = 2;
  next.nonce = "m";
  job.commit.Record(job, next);
  Answer(Refused(422, "Invalid", "no"));
  EXPECT_TRUE(job.commit.under_way());
  EXPECT_TRUE(job.commit.problem().empty());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
