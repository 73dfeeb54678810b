// Handles records that cannot be read. A job has either all records that are needed in order to act, or none: a job
// that lost a record begins as on an empty disk (correctness 3), and the other jobs go on.
#include <string>
#include <utility>

#include "common/runtime/slots/damage.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

absl::Status JobController::BeginAnew(uint32_t slot, const std::set<std::string>& incomplete,
                                      const kv::Damage& damage) {
  kv::WriteBatch batch;
  for (const kv::DamagedRecord& record : damage) batch.Delete(record.family, record.key);
  for (const std::string& key : incomplete) {
    if (key.empty()) continue;  // The key of the damaged record cannot be read, either.
    DropJobRecords(slot, key, batch);
    if (JobEntry* const entry = Lookup(key); entry != nullptr && entry->slot == slot) Erase(*entry);
  }
  // A lost job may have been deleted, and nothing would ever announce that to watching clients: they begin anew.
  publisher_.BeginAnew(slot, batch);
  for (const std::string& key : entries_.KeysOf(slot)) Lookup(key)->shown = {};
  if (absl::Status status = context_.store().Write(batch); !status.ok()) return status;
  runtime::ReportDamage(damage, &metrics_.registry());
  return absl::OkStatus();
}

}  // namespace basalt::jobsvc
