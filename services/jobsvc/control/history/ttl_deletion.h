#pragma once

// The part of a job that deletes the job after its time to live (job spec 12.2), and records that in history: nothing
// else distinguishes it from a deletion by a user. Its state is lost with the process on purpose. Runs on the
// controller's loop.
#include <cstdint>

#include "common/kv/kv_store.h"
#include "common/reconcile/effect.h"
#include "common/runtime/write_outcome.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class TtlDeletion {
 public:
  // Deletes the job when its deletion is due.
  void Apply(JobEntry& entry, PartHost& host);
  // Call when the job is gone. If this process requested the deletion, the job's history, which outlives the job,
  // records that.
  void RecordEnd(const JobEntry& entry, absl::Time now, kv::WriteBatch& batch) const;
  // The spec has changed: the next try is due at once.
  void TryNow() { effect_.retry().Succeed(); }
  const Retry& retry() const { return effect_.retry(); }

 private:
  // `version` is the resourceVersion that the deletion named.
  void Answered(JobEntry& entry, int64_t version, const runtime::WriteOutcome& outcome, PartHost& host);

  Effect effect_;
  OutdatedVersion outdated_;  // The version of the job that a conflict has outdated.
  bool asked_ = false;        // A deletion was sent and not refused. Its outcome may be unknown.
};

}  // namespace basalt::jobsvc
