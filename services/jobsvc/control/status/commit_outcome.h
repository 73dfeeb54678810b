#pragma once

// The outcome of the status commit that was recorded last, as a pass finds it in the job's status: the job's record
// takes in a commit that took effect, and is made anew if others have committed since (docs/contracts.md). Runs on the
// controller's loop.
#include "common/kv/kv_store.h"
#include "services/jobsvc/control/history/job_history.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class CommitOutcome {
 public:
  // Both outlive the object.
  CommitOutcome(PartHost& host, JobHistory& history) : host_(host), history_(history) {}

  // Finds the outcome of the last commit. Returns false if the outcome is not known yet, or if the next commit has to
  // wait.
  bool Resolve(JobEntry& entry, kv::WriteBatch& batch);

 private:
  void RecordCommitted(JobEntry& entry, kv::WriteBatch& batch);
  void RecordLate(JobEntry& entry, kv::WriteBatch& batch);
  void Rebaseline(JobEntry& entry, kv::WriteBatch& batch);

  PartHost& host_;
  JobHistory& history_;
};

}  // namespace basalt::jobsvc
