// Records edits of the spec in history: the changes since the spec was recorded last, also those made while no process
// was running. They are written in the batch of the pass that acts by the new spec. A change of a field that may not
// change, made past the checks, is reported in an Event, too.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "services/jobsvc/control/history/job_history.h"
#include "services/jobsvc/core/events/events.h"
#include "services/jobsvc/core/spec/spec_change.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

void JobHistory::RecordSpecEdit(JobEntry& entry, kv::WriteBatch& batch) {
  const kube::v1::Job& job = *entry.job;
  storage::v1::JobRecord& record = entry.record;
  const int64_t generation = job.meta().generation();
  // A spec that cannot be read is reported as refused, and compared once it can be read.
  if (record.recorded_generation() == generation || !job.decode_error().empty()) return;
  const bool is_refused = entry.compiled->invalid();
  storage::v1::SpecRecord facts = SpecFacts(job.spec());
  std::string change;
  bool is_kept = false;
  if (record.recorded_generation() != 0) {
    const auto before = ReadRecordedSpec(entry);
    if (!before.ok()) return host_.context().Fail(before.status());
    is_kept = before->has_value() && (*before)->format() == kSpecFormat;
    if (is_kept) {
      change = SpecChange(**before, facts);
      const int64_t now_ms = absl::ToUnixMillis(host_.Now());
      const std::string departure = FollowEdit(**before, is_refused, now_ms, facts);
      if (!departure.empty()) {
        entry.pending_events.push_back({true, std::string(kSpecWarning), fmt::format("{}: {}", departure, kUndoEdit)});
      }
    }
  }
  if (!is_kept) facts.set_never_accepted(is_refused);
  // A deletion makes a generation, too.
  if (!is_kept || !change.empty()) PutSpec(entry.slot, entry.key, facts, batch);
  record.set_recorded_generation(generation);
  entry.record_dirty = true;
  if (change.empty()) return;
  storage::v1::HistoryRecord edit;
  // The status that came with the edit is that of the last write before it: a write since would have been refused.
  edit.set_sequence(std::max(entry.persisted.sequence, record.committed_sequence()));
  edit.set_generation(generation);
  edit.set_time_ms(absl::ToUnixMillis(host_.Now()));
  edit.set_from_phase(job.status().phase());
  edit.set_to_phase(job.status().phase());
  edit.set_event(std::string(kEventOutOfSync));
  edit.set_action("SyncJob");
  edit.set_rule("the spec was edited");
  edit.set_outcome(std::move(change));
  edit.set_committed(true);
  *edit.mutable_counts() = job.status().counts();
  edit.set_version(job.status().version());
  HistoryStore::Put(entry.slot, record.uid(), edit, batch);
  Trim(entry, batch);
}

}  // namespace basalt::jobsvc
