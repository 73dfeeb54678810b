#include "services/jobsvc/control/history/job_history.h"

#include <string>

#include "common/runtime/slots/damage.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

JobHistory::JobHistory(PartHost& host) : host_(host), store_(host.context().store(), host.options().history_limits) {}

JobHistory::~JobHistory() {
  if (timer_ != kNoTimer) host_.context().loop().Cancel(timer_);
}

void JobHistory::Open() {
  if (timer_ == kNoTimer) AgeLater();
}

absl::Status JobHistory::End(const JobEntry& entry, kv::WriteBatch& batch) {
  return store_.End(entry.slot, entry.key, entry.record.uid(), absl::ToUnixMillis(host_.Now()), batch);
}

void JobHistory::DropDamaged(const kv::Damage& damage) {
  const absl::Status status = runtime::DropDamaged(host_.context().store(), damage, &host_.metrics().registry());
  if (!status.ok()) host_.context().Fail(status);
}

absl::StatusOr<std::vector<storage::v1::HistoryRecord>> JobHistory::Read(uint32_t slot, std::string_view job_uid) {
  kv::Damage damage;
  auto entries = store_.Read(slot, job_uid, &damage);
  DropDamaged(damage);
  return entries;
}

absl::StatusOr<std::optional<storage::v1::HistoryRecord>> JobHistory::ReadOne(uint32_t slot, std::string_view job_uid,
                                                                              int64_t sequence) {
  kv::Damage damage;
  auto entry = store_.ReadOne(slot, job_uid, {sequence}, &damage);
  DropDamaged(damage);
  return entry;
}

absl::StatusOr<std::optional<storage::v1::SpecRecord>> JobHistory::ReadRecordedSpec(const JobEntry& entry) {
  kv::Damage damage;
  auto spec = ReadSpec(host_.context().store(), entry.slot, entry.key, &damage);
  DropDamaged(damage);
  return spec;
}

void JobHistory::Trim(JobEntry& entry, kv::WriteBatch& batch) {
  kv::Damage damage;
  const absl::Status status = store_.Trim(entry.slot, entry.record.uid(), entry.history_count, batch, damage);
  DropDamaged(damage);
  if (!status.ok()) host_.context().Fail(status);
}

void JobHistory::AgeLater() {
  const absl::Duration interval = history::Retention::TurnInterval(host_.entries().slots().size());
  timer_ = host_.context().loop().RunAfter(interval, [this] {
    timer_ = kNoTimer;
    if (host_.entries().slots().empty()) return;
    const auto turn = store_.retention().NextTurn(host_.entries().slots());
    // A slot that is starting does not know yet which jobs exist.
    if (host_.context().IsReady(turn->first)) Age(turn->first, turn->second);
    AgeLater();
  });
}

void JobHistory::Age(uint32_t slot, const std::set<std::string>& keys) {
  std::set<std::string> present;  // UIDs of jobs.
  for (const std::string& key : keys) {
    const JobEntry& entry = *host_.entries().Find(key);
    if (!entry.record.uid().empty() && !entry.record.gone()) present.insert(entry.record.uid());
    if (entry.job) present.insert(entry.job->meta().uid());
  }
  kv::WriteBatch batch;
  kv::Damage damage;
  const absl::Status trimmed = store_.retention().Trim(slot, present, host_.Now(), batch, damage);
  if (!trimmed.ok()) return host_.context().Fail(trimmed);
  runtime::ReportDamage(damage, &host_.metrics().registry());
  if (batch.empty()) return;
  if (const absl::Status status = host_.context().store().Write(batch); !status.ok()) host_.context().Fail(status);
}

}  // namespace basalt::jobsvc
