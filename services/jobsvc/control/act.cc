// The sending half of JobController: the status patch, then the effects that make the world match the status.
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

namespace {

// Returns true if no effect may begin. Effects follow from the newest status, and only while no transition is about to
// replace it.
bool HoldsEffects(const JobEntry& entry) {
  if (entry.job_dirty || !entry.compiled) return true;
  if (entry.record.has_intent() && entry.record.intent().has_history()) return true;
  return entry.job->status().phase() == kube::v1::JOB_PHASE_UNSPECIFIED || entry.newest_status.is_doubted();
}

}  // namespace

void JobController::Act(std::string_view key) {
  publisher_.NotifyListeners();
  JobEntry* found = Lookup(key);
  if (found == nullptr || !found->job) return;
  JobEntry& entry = *found;
  // Plugin objects go first: a user who edits a job may look at its plugin objects at once. Counts and Events can wait.
  if (entry.job->meta().deletion_ms() == 0 && !HoldsEffects(entry)) entry.plugin_objects.Apply(entry, host_);
  entry.commit.Send(entry, host_);
  events_.Record(entry);
  entry.newest_status.Apply(entry, host_);
  // The job has changed since Decide(): the pass already queued for this key will act on the newer state.
  if (entry.job_dirty || !entry.compiled) return;
  if (entry.job->meta().deletion_ms() != 0) return entry.claims.StopAwaiting(entry, host_);
  // A transition that is not written yet holds back the effects of the status before it.
  if (HoldsEffects(entry)) return;
  entry.command_cleanup.Apply(entry, host_);
  entry.forwarding.Apply(entry, host_);
  entry.group_sync.Apply(entry, host_);
  entry.pod_writes.Apply(entry, host_);
  entry.ttl.Apply(entry, host_);
}

}  // namespace basalt::jobsvc
