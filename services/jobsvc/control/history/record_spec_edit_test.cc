// Which edits of the spec history records, and which spec is kept to compare the next one with.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "services/jobsvc/control/history/history_fixture.h"
#include "services/jobsvc/core/spec/spec_change.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc::testing {
namespace {

// History keeps four entries of a job.
JobControllerOptions FourEntries() {
  JobControllerOptions options;
  options.history_limits.entries = 4;
  return options;
}

class RecordSpecEditTest : public HistoryTest {
 protected:
  RecordSpecEditTest() : HistoryTest(FourEntries()) { Begin(); }

  // Begins with generation 1 of the spec in history, and generation 2 observed.
  void Begin() {
    ForgetAll();
    job.ResetParts();
    job.record_dirty = false;
    job.record.set_recorded_generation(1);
    job.compiled->refusal = {};
    kube::v1::Job& stored = *job.job;
    stored.mutable_meta()->set_generation(2);
    stored.clear_decode_error();
    stored.clear_spec();
    stored.mutable_spec()->set_min_available(2);
    stored.mutable_spec()->set_queue("batch");
    Keep(SpecFacts(stored.spec()));
  }
  void Keep(const storage::v1::SpecRecord& spec) {
    kv::WriteBatch batch;
    PutSpec(job.slot, job.key, spec, batch);
    Write(batch);
  }
  void EditSize() { job.job->mutable_spec()->set_min_available(3); }
  void EditQueue() { job.job->mutable_spec()->set_queue("other"); }
  // Returns the changes of the stored records.
  std::string RecordEdit() {
    kv::WriteBatch batch;
    job_history.RecordSpecEdit(job, batch);
    Write(batch);
    EXPECT_TRUE(context.failure().ok()) << context.failure();
    return ChangesOf(batch);
  }
};

TEST_F(RecordSpecEditTest, AnEditIsToldByWhatHistoryKnewBefore) {
  struct Case {
    const char* what;
    std::function<void()> become;
    const char* outcome;  // Empty if history records nothing.
    bool is_kept;         // The spec is kept from here on.
    int64_t generation;
    bool warns;
  };
  const Case cases[] = {
      {"a size", [this] { EditSize(); }, "minAvailable 2 -> 3", true, 2, false},
      {"what may not change", [this] { EditQueue(); }, "spec edited: queue", true, 2, true},
      {"nothing, as of a deletion", [] {}, "", false, 2, false},
      {"the generation is known",
       [this] {
         EditSize();
         job.record.set_recorded_generation(2);
       },
       "", false, 2, false},
      {"the spec cannot be read",
       [this] {
         EditSize();
         job.job->set_decode_error("no");
       },
       "", false, 1, false},
      {"it begins here",
       [this] {
         EditQueue();
         job.record.set_recorded_generation(0);
       },
       "", true, 2, false},
      {"what is kept is of another format",
       [this] {
         storage::v1::SpecRecord before = SpecFacts(job.job->spec());
         before.set_format(kSpecFormat + 1);
         Keep(before);
         EditQueue();
       },
       "", true, 2, false},
      {"no spec was accepted before",
       [this] {
         storage::v1::SpecRecord before = SpecFacts(job.job->spec());
         before.set_never_accepted(true);
         Keep(before);
         EditQueue();
       },
       "spec edited: queue", true, 2, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    test.become();
    const int64_t known = job.record.recorded_generation();
    EXPECT_EQ(RecordEdit(), test.is_kept ? "put spec; " : "");
    const std::vector<storage::v1::HistoryRecord> entries = Entries();
    ASSERT_EQ(entries.size(), *test.outcome == 0 ? 0U : 1U);
    if (!entries.empty()) {
      EXPECT_EQ(entries[0].outcome(), test.outcome);
    }
    EXPECT_EQ(job.record.recorded_generation(), test.generation);
    if (test.is_kept) {
      EXPECT_TRUE(job.record_dirty);
    }
    if (test.generation == known) {
      EXPECT_FALSE(job.record_dirty);
    }
    const bool has_warned = std::any_of(job.pending_events.begin(), job.pending_events.end(),
                                        [](const PendingEvent& event) { return event.reason == kSpecWarning; });
    EXPECT_EQ(has_warned, test.warns);
  }
}

TEST_F(RecordSpecEditTest, AJobBeginsWithTheFirstSpecThatIsAccepted) {
  for (const bool is_refused : {true, false}) {
    Begin();
    job.record.set_recorded_generation(0);
    if (is_refused) job.compiled->refusal = {"SpecError", "no"};
    RecordEdit();
    const auto kept = job_history.ReadRecordedSpec(job);
    ASSERT_TRUE(kept.ok() && kept->has_value());
    EXPECT_EQ((*kept)->never_accepted(), is_refused);
  }
}

TEST_F(RecordSpecEditTest, AnUnreadableRecordIsCountedAndWrittenAnew) {
  kv::WriteBatch damage;
  damage.Put(kv::Family::kAux, SpecKey(job.slot, job.key), "\xff");
  Write(damage);
  EditSize();
  EXPECT_EQ(RecordEdit(), "put spec; ");
  EXPECT_TRUE(Entries().empty());
  EXPECT_EQ(Damaged("spec"), 1);
}

TEST_F(RecordSpecEditTest, AnEditComesAfterTheLastWriteBeforeIt) {
  struct Case {
    int64_t persisted;
    int64_t committed;
    int64_t sequence;
  };
  for (const Case& test : {Case{4, 5, 5}, Case{7, 5, 7}}) {
    Begin();
    EditSize();
    job.persisted.sequence = test.persisted;
    job.record.set_committed_sequence(test.committed);
    RecordEdit();
    ASSERT_EQ(Entries().size(), 1U);
    const storage::v1::HistoryRecord edit = Entries()[0];
    EXPECT_EQ(edit.sequence(), test.sequence);
    EXPECT_EQ(edit.generation(), 2);
    EXPECT_EQ(edit.from_phase(), kube::v1::JOB_PHASE_RUNNING);
    EXPECT_EQ(edit.to_phase(), kube::v1::JOB_PHASE_RUNNING);
    EXPECT_TRUE(edit.committed());
  }
}

TEST_F(RecordSpecEditTest, TheOldestEntryGivesWayToAnEdit) {
  for (int64_t sequence = 1; sequence <= 4; ++sequence) AddEntry(sequence);
  job.record.set_committed_sequence(4);
  EditSize();
  RecordEdit();
  const std::vector<storage::v1::HistoryRecord> entries = Entries();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries.front().sequence(), 2);
  EXPECT_EQ(entries.back().generation(), 2);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
