// Which phases in a status are somebody else's, and how history records them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "services/jobsvc/control/history/history_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using kube::v1::JOB_PHASE_ABORTED;
using kube::v1::JOB_PHASE_RUNNING;
using kube::v1::JOB_PHASE_TERMINATED;

class RecordPhaseEditTest : public HistoryTest {
 protected:
  // The last write of ours, number 5, led to Running.
  void Begin() {
    ForgetAll();
    job.ResetParts();
    job.record.Clear();
    job.record.set_uid("job-uid");
    job.record.set_recorded_phase(JOB_PHASE_RUNNING);
    job.record.set_committed_sequence(5);
    job.persisted.sequence = 5;
    job.job->mutable_meta()->set_generation(2);
    SetPhase(JOB_PHASE_ABORTED);
  }
  void RecordEdit() {
    kv::WriteBatch batch;
    job_history.RecordPhaseEdit(job, batch);
    Write(batch);
    EXPECT_TRUE(context.failure().ok()) << context.failure();
  }
};

TEST_F(RecordPhaseEditTest, APhaseThatNoWriteOfOursLedToIsSomebodyElses) {
  struct Case {
    const char* what;
    std::function<void()> become;
    bool is_edit;
  };
  const Case cases[] = {
      {"a phase", [] {}, true},
      {"ours", [this] { SetPhase(JOB_PHASE_RUNNING); }, false},
      {"nothing is known of it", [this] { job.record.clear_recorded_phase(); }, false},
      {"a write of ours is under way", [this] { job.record.mutable_intent()->set_sequence(6); }, false},
      {"a write of ours that is not recorded", [this] { job.persisted.sequence = 6; }, false},
      {"the status may be old", [this] { job.record.set_status_unread(true); }, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    test.become();
    RecordEdit();
    RecordEdit();
    ASSERT_EQ(Entries().size(), test.is_edit ? 1U : 0U);
    if (!test.is_edit) continue;
    const storage::v1::HistoryRecord edit = Entries()[0];
    EXPECT_EQ(edit.from_phase(), JOB_PHASE_RUNNING);
    EXPECT_EQ(edit.to_phase(), JOB_PHASE_ABORTED);
    EXPECT_EQ(edit.rule(), "somebody wrote the phase into the status");
    EXPECT_EQ(edit.outcome(), "Aborted was written over Running");
    EXPECT_EQ(edit.sequence(), 5);
    EXPECT_EQ(edit.time_ms(), absl::ToUnixMillis(host.Now()));
  }
}

TEST_F(RecordPhaseEditTest, EditsBetweenTwoWritesOfOursAreOneEntry) {
  Begin();
  storage::v1::HistoryRecord spec_edit;
  spec_edit.set_sequence(5);
  spec_edit.set_generation(2);
  spec_edit.set_from_phase(JOB_PHASE_RUNNING);
  spec_edit.set_outcome("minAvailable 2 -> 3");
  AddEntry(spec_edit);
  RecordEdit();
  SetPhase(JOB_PHASE_TERMINATED);
  RecordEdit();
  ASSERT_EQ(Entries().size(), 1U);
  EXPECT_EQ(Entries()[0].outcome(),
            "minAvailable 2 -> 3; Aborted was written over Running; Terminated was written over Aborted");
  EXPECT_EQ(Entries()[0].from_phase(), JOB_PHASE_RUNNING);
  EXPECT_EQ(Entries()[0].to_phase(), JOB_PHASE_TERMINATED);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
