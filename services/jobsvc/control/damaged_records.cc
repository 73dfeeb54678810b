// Records that cannot be read. Of what is needed in order to act a job has all or nothing: a job of which a record is
// lost begins as on an empty disk (correctness 3), and the others go on.
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
    if (key.empty()) continue;  // Of a record whose key cannot be read, either.
    DropJobRecords(slot, key, batch);
    if (JobEntry* const entry = Lookup(key); entry != nullptr && entry->slot == slot) Erase(*entry);
  }
  // A job that is lost may be gone, and nobody would ever tell them.
  publisher_.BeginAnew(slot, batch);
  for (const std::string& key : entries_.KeysOf(slot)) Lookup(key)->shown = {};
  if (absl::Status status = context_.store().Write(batch); !status.ok()) return status;
  runtime::ReportDamage(damage, &metrics_.registry());
  return absl::OkStatus();
}

}  // namespace basalt::jobsvc
