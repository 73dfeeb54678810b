#include <algorithm>

#include "common/runtime/slots/damage.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/store/history_store.h"

namespace basalt::jobsvc {
namespace {

constexpr absl::Duration kHistoryLap = absl::Hours(1);

}  // namespace

// One slot after the other, each about once an hour. One that is starting does not know yet which jobs there are.
void JobController::AgeHistoryLater() {
  const auto count = static_cast<int64_t>(std::max<size_t>(1, entries_.slots().size()));
  history_timer_ = context_.loop().RunAfter(kHistoryLap / count, [this] {
    history_timer_ = kNoTimer;
    const auto& slots = entries_.slots();
    if (slots.empty()) return;
    auto slot = slots.upper_bound(aged_slot_);
    if (slot == slots.end()) slot = slots.begin();
    aged_slot_ = slot->first;
    if (context_.IsReady(slot->first)) AgeHistory(slot->first, slot->second);
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
  const auto gone = ListGoneHistory(context_.store(), slot, present, batch, damage);
  if (!gone.ok()) return context_.Fail(gone.status());
  runtime::ReportDamage(damage, &metrics_.registry());
  int64_t bytes = 0;
  for (const GoneHistory& history : *gone) bytes += history.bytes;
  history_bytes_[slot] = bytes;
  const int64_t most = MostHistoryBytes(bytes);
  const int64_t before_ms = absl::ToUnixMillis(context_.ApiNow() - options_.history_age);
  for (const GoneHistory& history : *gone) {
    if (history.end_ms >= before_ms && bytes <= most) break;
    DropHistory(slot, history, batch);
    bytes -= history.bytes;
  }
  history_bytes_[slot] = bytes;
  if (batch.empty()) return;
  if (const absl::Status status = context_.store().Write(batch); !status.ok()) context_.Fail(status);
}

// What a slot that has so many may keep: each gives up the same part of what all have, as of their last laps.
int64_t JobController::MostHistoryBytes(int64_t of_slot) const {
  int64_t all = 0;
  for (const auto& [slot, bytes] : history_bytes_) all += bytes;
  if (all <= options_.history_bytes) return of_slot;
  return static_cast<int64_t>(static_cast<double>(of_slot) * static_cast<double>(options_.history_bytes) /
                              static_cast<double>(all));
}

}  // namespace basalt::jobsvc
