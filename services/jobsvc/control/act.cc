// The sending half of JobController: the status patch, then whatever is left to be done so that the world matches it.
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

namespace {

// What is left to be done follows from the newest status, which no transition is about to replace.
bool HoldsEffects(const JobEntry& entry) {
  if (entry.job_dirty || !entry.compiled) return true;
  if (entry.record.has_intent() && entry.record.intent().has_history()) return true;
  return entry.job->status().phase() == kube::v1::JOB_PHASE_UNSPECIFIED || entry.newest_status.is_doubted();
}

}  // namespace

void JobController::Act(std::string_view key) {
  publisher_.Tell();
  JobEntry* found = Lookup(key);
  if (found == nullptr || !found->job) return;
  JobEntry& entry = *found;
  // Whoever edits a job may look at once at what its plugins make of the edit: counts and Events come behind.
  if (entry.job->meta().deletion_ms() == 0 && !HoldsEffects(entry)) entry.plugin_objects.Apply(entry, host_);
  entry.commit.Send(entry, host_);
  RecordEvents(entry);
  entry.newest_status.Apply(entry, host_);
  // Newer than what was judged: the pass that is due knows better.
  if (entry.job_dirty || !entry.compiled) return;
  if (entry.job->meta().deletion_ms() != 0) return entry.claims.StopAwaiting(entry, host_);
  // A transition that is meant holds back the effects of the status before it.
  if (HoldsEffects(entry)) return;
  entry.command_cleanup.Apply(entry, host_);
  entry.forwarding.Apply(entry, host_);
  entry.group_sync.Apply(entry, host_);
  entry.pod_writes.Apply(entry, host_);
  entry.ttl.Apply(entry, host_);
}

}  // namespace basalt::jobsvc
