#pragma once

// The deadlines of one job (core/events/deadlines.h) over time: which exist at the start, which are due, and which
// records the store keeps. Free functions over one job; they run on the controller's loop.
#include <vector>

#include "basalt/storage/v1/job_record.pb.h"
#include "common/kv/kv_store.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

// For a job without a record, or whose record is stale: takes over the deadlines in the job's status, which belong to
// events that leave no trace. The other deadlines follow from the events that the pass raises.
void AdoptDeadlines(JobEntry& entry);
// For the first pass over a stored job: adds the deadlines of pending pods to those that were restored from the store.
void DeriveDeadlines(JobEntry& entry, PartHost& host);
// Moves due deadlines to the pending actions, and wakes the job for the next one. Runs after the events of the pass,
// since an event may cancel a deadline.
void FireDueDeadlines(JobEntry& entry, PartHost& host, kv::WriteBatch& batch);
// Job spec 7.5: removes what the actions in `done`, which have been carried out, clean up: deadlines that still wait,
// and due deadlines that are pending and not carried out yet.
void ClearDeadlines(JobEntry& entry, const std::vector<storage::v1::PendingAction>& done);
// Writes the records of kept deadlines that have changed.
void StoreDeadlines(JobEntry& entry, kv::WriteBatch& batch);

}  // namespace basalt::jobsvc
