// Records in history a phase that somebody else wrote into the status: the phase is obeyed, and no decision of ours
// records it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/kube/text.h"
#include "services/jobsvc/control/history/job_history.h"
#include "services/jobsvc/core/events/events.h"

namespace basalt::jobsvc {

namespace {

// True if all our status writes are recorded, and the status has them.
bool IsUpToDate(const JobEntry& entry) {
  return !entry.record.has_intent() && !entry.commit.under_way() && !entry.record.status_unread() &&
         entry.persisted.sequence == entry.record.committed_sequence();
}

}  // namespace

void JobHistory::RecordPhaseEdit(JobEntry& entry, kv::WriteBatch& batch) {
  storage::v1::JobRecord& record = entry.record;
  const kube::v1::JobStatus& status = entry.job->status();
  const kube::v1::JobPhase before = record.recorded_phase();
  if (before == status.phase() || before == kube::v1::JOB_PHASE_UNSPECIFIED || !IsUpToDate(entry)) return;
  record.set_recorded_phase(status.phase());
  entry.record_dirty = true;
  // An edit of the spec since the same write, or an earlier edit of the phase, has the same number: they are one entry.
  const int64_t generation = std::max<int64_t>(1, entry.job->meta().generation());
  auto known = store_.ReadOne(entry.slot, record.uid(), {entry.persisted.sequence, generation});
  if (!known.ok()) return host_.context().Fail(known.status());
  storage::v1::HistoryRecord edit = known->has_value() ? **known : storage::v1::HistoryRecord();
  if (!known->has_value()) edit.set_from_phase(before);
  edit.set_sequence(entry.persisted.sequence);
  edit.set_generation(generation);
  edit.set_time_ms(absl::ToUnixMillis(host_.Now()));
  edit.set_to_phase(status.phase());
  edit.set_event(std::string(kEventOutOfSync));
  edit.set_action("SyncJob");
  edit.set_rule("somebody wrote the phase into the status");
  edit.set_outcome(fmt::format("{}{}{} was written over {}", edit.outcome(), edit.outcome().empty() ? "" : "; ",
                               kube::JobPhaseName(status.phase()), kube::JobPhaseName(before)));
  edit.set_committed(true);
  *edit.mutable_counts() = status.counts();
  edit.set_version(status.version());
  HistoryStore::Put(entry.slot, record.uid(), edit, batch);
  Trim(entry, batch);
}

}  // namespace basalt::jobsvc
