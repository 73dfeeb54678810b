#pragma once

// The part of a job that deletes it after its time to live (job spec 12.2), and tells history of that: nothing else
// tells it from a deletion by somebody. Lost with the process on purpose. On the controller's loop.
#include <cstdint>

#include "common/kv/kv_store.h"
#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class TtlDeletion {
 public:
  // Deletes the job when that is due.
  void Apply(JobEntry& entry, PartHost& host);
  // The job is gone: that this process asked for it goes into its history, which outlives it.
  void RecordEnd(const JobEntry& entry, absl::Time now, kv::WriteBatch& batch) const;
  // The spec is another one: nothing is waited for.
  void TryNow() { effect_.retry().Succeed(); }
  const Retry& retry() const { return effect_.retry(); }

 private:
  // `version` is what the deletion named.
  void Answered(JobEntry& entry, int64_t version, const runtime::WriteOutcome& outcome, PartHost& host);

  Effect effect_;
  OutdatedVersion outdated_;  // Of the job.
  bool asked_ = false;        // And not refused: what becomes of it may not be known.
};

}  // namespace basalt::jobsvc
