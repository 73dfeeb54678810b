#include "services/jobsvc/control/history/ttl_deletion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/kube/requests.h"
#include "common/kube/text.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/events/events.h"
#include "services/jobsvc/store/history_store.h"

namespace basalt::jobsvc {

namespace {

// Once the deletion is accepted, the watch shows the end of the job. After a conflict the newer state is read, and the
// deletion is decided anew.
constexpr EffectPolicy kTtlDeletion{.done = Meaning::kAwaited,
                                    .already_exists = Meaning::kTryAgain,
                                    .not_found = Meaning::kTryAgain,
                                    .conflict = Meaning::kHeld};

// Returns the end of the time to live.
absl::Time DueOf(const JobEntry& entry) {
  const int64_t ended_ms = entry.job->status().last_transition_ms();
  const absl::Duration ttl = absl::Seconds(entry.compiled->spec.ttl_seconds_after_finished());
  return absl::FromUnixMillis(ttl > absl::ZeroDuration() ? EndOfSecond(ended_ms) : ended_ms) + ttl;
}

}  // namespace

// The precondition on the resourceVersion is the second check of the live object.
void TtlDeletion::Apply(JobEntry& entry, PartHost& host) {
  const kube::v1::JobStatus& status = entry.job->status();
  if (!IsFinished(status.phase()) || !entry.compiled->spec.has_ttl_seconds_after_finished() || effect_.under_way() ||
      entry.record.has_intent() || status.last_transition_ms() == 0) {
    return;
  }
  const absl::Time due = DueOf(entry);
  if (host.Now() < due) return host.WakeAt(entry, due);
  if (host.Waits(entry, effect_.retry())) return;
  const int64_t version = entry.job->meta().resource_version();
  const bool is_outdated = outdated_.Blocks(version);
  outdated_.Forget();
  // The job was read meanwhile and has the same version: the conflict has another cause.
  if (is_outdated) return host.TryAgain(entry, effect_.retry());
  effect_.Begin();
  asked_ = true;
  auto request = kube::WriteOf(kube::kJobs, entry.ns, entry.name);
  gateway::v1::Delete& deletion = *request.mutable_delete_();
  deletion.set_uid(entry.record.uid());
  deletion.set_resource_version(version);
  deletion.set_propagation_policy("Foreground");
  host.Write(entry, std::move(request), [&host, version](JobEntry& live, const runtime::WriteOutcome& outcome) {
    live.ttl.Answered(live, version, outcome, host);
  });
}

void TtlDeletion::Answered(JobEntry& entry, int64_t version, const runtime::WriteOutcome& outcome, PartHost& host) {
  const Meaning meaning = effect_.End(AnswerOf(outcome), kTtlDeletion, host.Now(), host.context().random());
  if (meaning == Meaning::kAwaited) return;
  if (outcome.kind != runtime::WriteOutcome::Kind::kUnknown) asked_ = false;
  if (meaning == Meaning::kHeld) {
    outdated_.Record(version);
    entry.newest_status.Doubt();
    return host.Wake(entry);
  }
  host.WakeAt(entry, effect_.retry().until());
  if (meaning != Meaning::kRefused || !runtime::ShouldReportToUser(outcome.error)) return;
  host.ReportProblem(entry, "TTLError",
                     fmt::format("its time to live is over and it cannot be deleted: {}", outcome.error.message()));
}

void TtlDeletion::RecordEnd(const JobEntry& entry, absl::Time now, kv::WriteBatch& batch) const {
  if (!asked_ || !entry.compiled) return;
  const storage::v1::JobRecord& record = entry.record;
  storage::v1::HistoryRecord deletion;
  deletion.set_sequence(std::max(entry.persisted.sequence, record.committed_sequence()));
  deletion.set_generation(record.recorded_generation() + 1);  // A deletion makes a generation.
  deletion.set_time_ms(absl::ToUnixMillis(now));
  deletion.set_from_phase(record.recorded_phase());
  deletion.set_to_phase(record.recorded_phase());
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
