// How a kill ended, told in the history entry of the decision that began it: a write of ours alone, once for each kill.
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
  // Its pods: when the PodGroup goes is of no interest. One that is terminating has been dealt with and is still there.
  if (entry.pods.counts().terminating() > 0 || (kill && !IsOver(*kill, entry.pods, /*group_uid=*/""))) return;
  AddToOutcome(entry, "", batch);
  entry.record.clear_open_kill();
  entry.record_dirty = true;
}

// Empty words: it is over.
void JobHistory::AddToOutcome(const JobEntry& entry, std::string_view words, kv::WriteBatch& batch) {
  const std::string& uid = entry.record.uid();
  auto told = ReadOne(entry.slot, uid, entry.record.open_kill());
  if (!told.ok()) return host_.context().Fail(told.status());
  // Over as soon as it began, with nothing to kill; or the entry was trimmed, or is at another replica still.
  if (!told->has_value()) return;
  storage::v1::HistoryRecord& record = **told;
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
