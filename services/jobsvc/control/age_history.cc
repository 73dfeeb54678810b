// How much of history is kept: of a job, and of jobs that are gone (common/history/retention.h).
#include "common/runtime/slots/damage.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

void JobController::TrimHistory(JobEntry& entry, kv::WriteBatch& batch) {
  kv::Damage damage;
  const absl::Status status = history_.Trim(entry.slot, entry.record.uid(), entry.history_count, batch, damage);
  DropDamaged(damage);
  if (!status.ok()) context_.Fail(status);
}

void JobController::AgeHistoryLater() {
  const absl::Duration interval = history::Retention::TurnInterval(entries_.slots().size());
  history_timer_ = context_.loop().RunAfter(interval, [this] {
    history_timer_ = kNoTimer;
    if (entries_.slots().empty()) return;
    const auto turn = history_.retention().NextTurn(entries_.slots());
    // A slot that is starting does not know yet which jobs there are.
    if (context_.IsReady(turn->first)) AgeHistory(turn->first, turn->second);
    AgeHistoryLater();
  });
}

void JobController::AgeHistory(uint32_t slot, const std::set<std::string>& keys) {
  std::set<std::string> present;  // UIDs.
  for (const std::string& key : keys) {
    const JobEntry& entry = *Lookup(key);
    if (!entry.record.uid().empty() && !entry.record.gone()) present.insert(entry.record.uid());
    if (entry.job) present.insert(entry.job->meta().uid());
  }
  kv::WriteBatch batch;
  kv::Damage damage;
  const absl::Status trimmed = history_.retention().Trim(slot, present, context_.ApiNow(), batch, damage);
  if (!trimmed.ok()) return context_.Fail(trimmed);
  runtime::ReportDamage(damage, &metrics_.registry());
  if (batch.empty()) return;
  if (const absl::Status status = context_.store().Write(batch); !status.ok()) context_.Fail(status);
}

}  // namespace basalt::jobsvc
