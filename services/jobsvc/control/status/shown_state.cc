#include "services/jobsvc/control/status/shown_state.h"

#include "common/watch/state_hash.h"
#include "services/jobsvc/control/job_entry.h"

namespace basalt::jobsvc {

uint64_t ShownStateOf(const JobEntry& entry, const GroupView& group, const QueueView& view) {
  watch::StateHash state;
  state.Add(static_cast<uint64_t>(entry.job->meta().resource_version()));
  state.Add(group.phase).Add(group.uid);
  for (const uint64_t part : {uint64_t{group.stale}, uint64_t{entry.pods.missing().size()},
                              uint64_t{entry.pods.removals().to_delete().size()}, uint64_t{entry.pods.held().size()}}) {
    state.Add(part);
  }
  if (WaitsForQueue(entry.job->status().phase(), group)) {
    state.Add(view.queue == nullptr ? "none" : view.queue->state());
    if (view.has_children) state.Add("has children");
  }
  return state.value();
}

}  // namespace basalt::jobsvc
