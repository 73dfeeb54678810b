// How long the history of a job that is gone is kept.
#include "services/jobsvc/control/history/job_history.h"

#include <gtest/gtest.h>

#include <functional>

#include "services/jobsvc/control/history/history_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

class JobHistoryTest : public HistoryTest {
 protected:
  // Begins with a job that is there, and has one entry of this moment.
  void Begin() {
    ForgetAll();
    kv::WriteBatch batch;
    HistoryStore::Begin(job.slot, job.key, "job-uid", /*first_ms=*/1, batch);
    Write(batch);
    AddEntry(1);
    job.record.set_uid("job-uid");
    job.record.set_gone(false);
    job.job.emplace().mutable_meta()->set_uid("job-uid");
    job_history.Open();
  }
  void Lose() {
    job.job.reset();
    job.record.set_gone(true);
  }
};

TEST_F(JobHistoryTest, AgesOnceNothingOfItsJobIsThere) {
  struct Case {
    const char* what;
    std::function<void()> become;
    bool is_kept;
  };
  const Case cases[] = {
      {"the job is there", [] {}, true},
      {"a snapshot has left it out", [this] { job.job.reset(); }, true},
      {"it is shown, and its record is another's", [this] { job.record.set_uid("another"); }, true},
      {"it is shown once more after its end", [this] { job.record.set_gone(true); }, true},
      {"it is gone", [this] { Lose(); }, false},
      {"another job has the name",
       [this] {
         job.record.set_uid("another");
         job.job->mutable_meta()->set_uid("another");
       },
       false},
      {"there is no record, nor a job",
       [this] {
         Lose();
         job.record.clear_uid();
       },
       false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    test.become();
    context.Advance(host.options().history_limits.age - absl::Hours(2));
    EXPECT_EQ(Entries().size(), 1U);
    context.Advance(absl::Hours(4));
    EXPECT_EQ(Entries().size(), test.is_kept ? 1U : 0U);
    EXPECT_TRUE(context.failure().ok()) << context.failure();
  }
}

TEST_F(JobHistoryTest, IsKeptFromTheEndOfTheJobOn) {
  Begin();
  context.Advance(absl::Hours(24 * 6));
  kv::WriteBatch batch;
  ASSERT_TRUE(job_history.End(job, batch).ok());
  Write(batch);
  Lose();
  context.Advance(absl::Hours(24 * 6));
  EXPECT_EQ(Entries().size(), 1U);
  context.Advance(absl::Hours(24 * 2));
  EXPECT_TRUE(Entries().empty());
}

TEST_F(JobHistoryTest, AgesWhereItsSlotIsOpen) {
  Begin();
  const uint32_t slot = job.slot;
  const auto is_recorded = [this, slot] {
    const auto entries = job_history.store().Read(slot, "job-uid");
    return entries.ok() && !entries->empty();
  };
  host.entries().Close(slot);  // This closes the job of the fixture, too.
  context.Advance(absl::Hours(24 * 8));
  EXPECT_TRUE(is_recorded());
  host.entries().Open(slot);
  job_history.Open();
  context.Advance(absl::Hours(2));
  EXPECT_FALSE(is_recorded());
}

}  // namespace
}  // namespace basalt::jobsvc::testing
