#pragma once

// One job and its history in the store, for tests of the entries.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/history/entries.h"
#include "services/jobsvc/control/history/job_history.h"
#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {

class HistoryTest : public PartTest {
 protected:
  explicit HistoryTest(JobControllerOptions options = {}) : PartTest(std::move(options)) { job.slot = SlotOf(job.key); }

  void Write(const kv::WriteBatch& batch) { ASSERT_TRUE(context.store().Write(batch).ok()); }
  // Puts the entry of a decision into history.
  void AddEntry(const storage::v1::HistoryRecord& entry) {
    kv::WriteBatch batch;
    HistoryStore::Put(job.slot, "job-uid", entry, batch);
    Write(batch);
  }
  void AddEntry(int64_t sequence) {
    storage::v1::HistoryRecord entry;
    entry.set_sequence(sequence);
    entry.set_time_ms(absl::ToUnixMillis(host.Now()));
    AddEntry(entry);
  }
  void ForgetAll() {
    const std::string prefix = history::EntryPrefix(job.slot, "job-uid");
    kv::WriteBatch batch;
    batch.DeleteRange(kv::Family::kHistory, prefix, kv::PrefixEnd(prefix));
    Write(batch);
  }
  // Returns the history of the job, oldest first.
  std::vector<storage::v1::HistoryRecord> Entries() {
    auto entries = job_history.store().Read(job.slot, "job-uid");
    EXPECT_TRUE(entries.ok()) << entries.status();
    return entries.ok() ? *std::move(entries) : std::vector<storage::v1::HistoryRecord>();
  }
  double Damaged(const std::string& kind) {
    return prometheus->GetCounter("basalt_store_damaged_records_total", "", {{"kind", kind}}).Value();
  }

  JobHistory job_history{host};
};

}  // namespace basalt::jobsvc::testing
