#pragma once

// The deadlines of one job (core/deadlines.h) over time: which are there at the start, which are due, and what is kept
// of them in the store. Free functions over one job; on the controller's loop.
#include <vector>

#include "basalt/storage/v1/job_record.pb.h"
#include "common/kv/kv_store.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

// Of a job without a record, or whose record is stale: takes those that Kubernetes remembers for us, of events that
// nobody can read from the present. The others come with the events that are raised.
void AdoptDeadlines(JobEntry& entry);
// Where a process starts: adds those of pods that are pending to those that are kept.
void DeriveDeadlines(JobEntry& entry, PartHost& host);
// What is due becomes pending, after the events of the pass, which may cancel it; the job is woken for what is due
// next.
void FireDueDeadlines(JobEntry& entry, PartHost& host, kv::WriteBatch& batch);
// Job spec 7.5: what these, which have been carried out, clean up of what waits for its time, and of what is due and
// was not carried out yet.
void ClearDeadlines(JobEntry& entry, const std::vector<storage::v1::PendingAction>& done);
// Writes what has changed of those that are kept.
void StoreDeadlines(JobEntry& entry, kv::WriteBatch& batch);

}  // namespace basalt::jobsvc
