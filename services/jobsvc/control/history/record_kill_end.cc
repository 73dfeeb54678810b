// Records how a kill ended, in the history entry of the decision that began it. That is a write to our own store alone,
// once for each kill.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/kube/text.h"
#include "services/jobsvc/control/history/job_history.h"

namespace basalt::jobsvc {

void JobHistory::OpenKill(JobEntry& entry, int64_t sequence, kv::WriteBatch& batch) {
  if (entry.record.open_kill() != 0) AddToOutcome(entry, "; taken over by the next kill", batch);
  entry.record.set_open_kill(sequence);
}

void JobHistory::RecordKillEnd(JobEntry& entry, kv::WriteBatch& batch) {
  const std::optional<Kill>& kill = entry.persisted.kill;
  // Only the pods of the kill count: when the PodGroup goes is of no interest. A terminating pod has been dealt with
  // and is still there.
  if (entry.pods.counts().terminating() > 0 || (kill && !IsOver(*kill, entry.pods, /*group_uid=*/""))) return;
  AddToOutcome(entry, "", batch);
  entry.record.clear_open_kill();
  entry.record_dirty = true;
}

// Empty `words` mean that the kill is over.
void JobHistory::AddToOutcome(const JobEntry& entry, std::string_view words, kv::WriteBatch& batch) {
  const std::string& uid = entry.record.uid();
  auto opened = ReadOne(entry.slot, uid, entry.record.open_kill());
  if (!opened.ok()) return host_.context().Fail(opened.status());
  // The kill was over as soon as it began, with nothing to kill; or its entry was trimmed, or is still at another
  // replica.
  if (!opened->has_value()) return;
  storage::v1::HistoryRecord& record = **opened;
  std::string outcome(words);
  if (words.empty()) {
    const int64_t lasted_ms = std::max<int64_t>(0, absl::ToUnixMillis(host_.Now()) - record.time_ms());
    outcome = fmt::format("; {}gone after {}", record.action() == "SyncJob" ? "what was left is " : "",
                          kube::FormatGoDuration(absl::Seconds(lasted_ms / 1000)));
  }
  record.set_outcome(record.outcome() + outcome);
  HistoryStore::Put(entry.slot, uid, record, batch);
}

}  // namespace basalt::jobsvc
