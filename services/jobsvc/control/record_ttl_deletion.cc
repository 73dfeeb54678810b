// That a job was deleted because its time to live was over (job spec 12.2), in the history that outlives it: nothing
// else tells it from a deletion by somebody. Told by the process that asked for it.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "common/kube/text.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/core/events.h"

namespace basalt::jobsvc {

void JobController::RecordTtlDeletion(JobEntry& entry, kv::WriteBatch& batch) {
  if (!entry.ttl.asked || !entry.compiled) return;
  const storage::v1::JobRecord& record = entry.record;
  storage::v1::HistoryRecord deletion;
  deletion.set_sequence(std::max(entry.persisted.sequence, record.committed_sequence()));
  deletion.set_generation(record.told_generation() + 1);  // A deletion makes one.
  deletion.set_time_ms(absl::ToUnixMillis(context_.ApiNow()));
  deletion.set_from_phase(record.told_phase());
  deletion.set_to_phase(record.told_phase());
  deletion.set_event(std::string(kEventOutOfSync));
  deletion.set_action("SyncJob");
  deletion.set_rule("spec.ttlSecondsAfterFinished");
  deletion.set_outcome(
      fmt::format("deleted: its time to live of {} was over",
                  kube::FormatGoDuration(absl::Seconds(entry.compiled->spec.ttl_seconds_after_finished()))));
  deletion.set_committed(true);
  *deletion.mutable_counts() = entry.pods.counts();
  HistoryStore::Put(entry.slot, record.uid(), deletion, batch);
}

}  // namespace basalt::jobsvc
