// When a job is deleted after its time to live, which effects answers have, and when its history records the deletion.
#include "services/jobsvc/control/history/ttl_deletion.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "services/jobsvc/control/history/history_fixture.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::JOB_PHASE_COMPLETED;
using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

class TtlDeletionTest : public HistoryTest {
 protected:
  // Begins with a job that has ended now, and whose time to live is over.
  void Begin() {
    job.ResetParts();
    context.writes.clear();
    job.record.clear_intent();
    job.compiled->spec.set_ttl_seconds_after_finished(0);
    SetPhase(JOB_PHASE_COMPLETED);
  }
  // Returns the history of the deletion.
  std::vector<storage::v1::HistoryRecord> End() {
    ForgetAll();
    kv::WriteBatch batch;
    job.ttl.RecordEnd(job, host.Now(), batch);
    Write(batch);
    return Entries();
  }
};

TEST_F(TtlDeletionTest, IsDueSoManySecondsAfterTheEnd) {
  struct Case {
    const char* what;
    kube::v1::JobPhase phase;
    std::optional<int32_t> ttl;
    absl::Duration ended;  // After a whole second.
    absl::Duration due;    // After the same second; infinite if the deletion never is.
  };
  const absl::Duration never = absl::InfiniteDuration();
  const Case cases[] = {
      {"none", JOB_PHASE_COMPLETED, std::nullopt, absl::ZeroDuration(), never},
      {"at once", JOB_PHASE_COMPLETED, 0, absl::ZeroDuration(), absl::ZeroDuration()},
      {"it may have ended late in that second", kube::v1::JOB_PHASE_FAILED, 10, absl::ZeroDuration(),
       absl::Seconds(11)},
      {"the very time is known", kube::v1::JOB_PHASE_TERMINATED, 10, absl::Milliseconds(500),
       absl::Milliseconds(10'500)},
      {"it runs", kube::v1::JOB_PHASE_RUNNING, 10, absl::ZeroDuration(), never},
      {"it ends", kube::v1::JOB_PHASE_COMPLETING, 10, absl::ZeroDuration(), never},
      {"it may be resumed", kube::v1::JOB_PHASE_ABORTED, 10, absl::ZeroDuration(), never},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    SetPhase(test.phase);
    const absl::Time second = host.Now();
    ASSERT_EQ(absl::ToUnixMillis(second) % 1000, 0);
    job.job->mutable_status()->set_last_transition_ms(absl::ToUnixMillis(second + test.ended));
    job.compiled->spec.clear_ttl_seconds_after_finished();
    if (test.ttl) job.compiled->spec.set_ttl_seconds_after_finished(*test.ttl);
    if (test.due == never) {
      context.Advance(absl::Hours(1));
    } else if (test.due > absl::ZeroDuration()) {
      context.Advance(test.due - absl::Milliseconds(1));
    }
    job.ttl.Apply(job, host);
    EXPECT_EQ(context.writes.size(), test.due == absl::ZeroDuration() ? 1U : 0U);
    if (test.due != never) {
      context.Advance(absl::Milliseconds(1));
      job.ttl.Apply(job, host);
      EXPECT_EQ(context.writes.size(), 1U);
    }
    context.Advance(second + absl::Hours(2) - host.Now());
  }
}

TEST_F(TtlDeletionTest, DeletesTheStateThatItHasSeen) {
  Begin();
  job.ttl.Apply(job, host);
  ASSERT_EQ(context.writes.size(), 1U);
  const gateway::v1::WriteRequest& request = context.writes.front().request;
  EXPECT_EQ(request.name(), "j");
  EXPECT_EQ(request.delete_().uid(), "job-uid");
  EXPECT_EQ(request.delete_().resource_version(), 7);
  EXPECT_EQ(request.delete_().propagation_policy(), "Foreground");
}

TEST_F(TtlDeletionTest, WaitsForWhatIsNotKnown) {
  Begin();
  job.record.mutable_intent();
  job.ttl.Apply(job, host);
  EXPECT_TRUE(context.writes.empty()) << "a write of the status is meant";
  Begin();
  job.job->mutable_status()->clear_last_transition_ms();
  job.ttl.Apply(job, host);
  EXPECT_TRUE(context.writes.empty()) << "when it ended";
}

TEST_F(TtlDeletionTest, AFailedWriteIsTriedAgainAndARefusalIsReported) {
  job.compiled->spec.set_ttl_seconds_after_finished(0);
  SetPhase(JOB_PHASE_COMPLETED);
  const AnswerCase cases[] = {
      {"accepted: the watch shows the end", Done(), false, false},
      {"gone already", Refused(404, "NotFound"), true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), true, true},
      {"too many", Refused(429, "TooManyRequests"), true, false},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, true, false},
  };
  for (const AnswerCase& test : cases) CheckAnswer(test, "TTLError", [this] { job.ttl.Apply(job, host); });
}

TEST_F(TtlDeletionTest, AConflictIsOverOnceAnotherVersionIsReadAndElseIsARefusal) {
  for (const bool is_newer : {false, true}) {
    SCOPED_TRACE(is_newer);
    Begin();
    job.job->mutable_meta()->set_resource_version(7);
    job.ttl.Apply(job, host);
    Answer(Refused(409, "Conflict"));
    ASSERT_TRUE(job.newest_status.is_doubted()) << "nothing is done before the job is read";
    if (is_newer) job.job->mutable_meta()->set_resource_version(8);
    job.ttl.Apply(job, host);
    ASSERT_EQ(context.writes.size(), is_newer ? 1U : 0U);
    if (is_newer) {
      EXPECT_EQ(context.writes.front().request.delete_().resource_version(), 8);
    } else {
      context.Advance(absl::Seconds(1));
      job.ttl.Apply(job, host);
      EXPECT_EQ(context.writes.size(), 1U) << "it backs off";
    }
  }
}

TEST_F(TtlDeletionTest, ARefusalHoldsNeitherAnotherSpecNorAnotherJob) {
  Begin();
  CheckPause(
      "TTLError", [this] { job.ttl.Apply(job, host); }, [this] { job.ttl.TryNow(); },
      [this] { return job.ttl.retry(); });
}

TEST_F(TtlDeletionTest, TheEndIsToldAsOursUnlessItWasRefused) {
  struct Case {
    const char* what;
    std::optional<WriteOutcome> outcome;  // Nullopt if no answer has come.
    bool is_recorded;
  };
  const Case cases[] = {
      {"under way", std::nullopt, true},
      {"accepted", Done(), true},
      {"no answer", WriteOutcome{.kind = WriteOutcome::Kind::kUnknown}, true},
      {"not sent", WriteOutcome{.kind = WriteOutcome::Kind::kNotSent}, false},
      {"somebody else has deleted it", Refused(404, "NotFound"), false},
      {"forbidden", Refused(403, "Forbidden", "no"), false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    job.ttl.Apply(job, host);
    if (test.outcome) Answer(*test.outcome);
    EXPECT_EQ(End().size(), test.is_recorded ? 1U : 0U);
  }
  Begin();
  EXPECT_TRUE(End().empty()) << "nobody has asked";
}

TEST_F(TtlDeletionTest, TheEndIsTheLastEntry) {
  Begin();
  job.compiled->spec.set_ttl_seconds_after_finished(90);
  job.record.set_committed_sequence(5);
  job.record.set_recorded_generation(3);
  job.record.set_recorded_phase(JOB_PHASE_COMPLETED);
  job.pods.Reset("j", kJobUid);
  job.pods.SetTasks({{"w", 1}});
  job.pods.Apply(MakePod("j-w-0", "a", kube::v1::POD_PHASE_SUCCEEDED));
  context.Advance(absl::Minutes(2));
  job.ttl.Apply(job, host);
  const std::vector<storage::v1::HistoryRecord> entries = End();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].sequence(), 5);
  EXPECT_EQ(entries[0].generation(), 4) << "a deletion makes one";
  EXPECT_EQ(entries[0].time_ms(), absl::ToUnixMillis(host.Now()));
  EXPECT_EQ(entries[0].to_phase(), JOB_PHASE_COMPLETED);
  EXPECT_EQ(entries[0].outcome(), "deleted: its time to live of 1m30s was over");
  EXPECT_EQ(entries[0].counts().succeeded(), 1);
}

TEST_F(TtlDeletionTest, TheNextJobOfTheNameHasNotAsked) {
  Begin();
  job.ttl.Apply(job, host);
  job.ResetParts();
  EXPECT_TRUE(End().empty());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
