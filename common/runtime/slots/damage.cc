#include "common/runtime/slots/damage.h"

#include <string>

#include "common/obs/log.h"

namespace basalt::runtime {
namespace {

constexpr size_t kMostLogged = 20;

std::string SlotText(const kv::DamagedRecord& record) {
  std::string_view key = record.key;
  uint32_t slot = 0;
  return record.family != kv::Family::kMeta && kv::TakeSlot(key, slot) ? std::to_string(slot) : "";
}

}  // namespace

void ReportDamage(const kv::Damage& damage, obs::Metrics* metrics) {
  size_t logged = 0;
  for (const kv::DamagedRecord& record : damage) {
    if (metrics != nullptr) {
      metrics
          ->GetCounter("basalt_store_damaged_records_total", "Records that could not be read and were dropped.",
                       {{"kind", std::string(record.kind)}})
          .Add();
    }
    if (logged == kMostLogged) continue;
    ++logged;
    obs::LogWarning("a record that cannot be read was dropped", {{"kind", std::string(record.kind)},
                                                                 {"slot", SlotText(record)},
                                                                 {"owner", record.owner},
                                                                 {"name", record.name}});
  }
  if (damage.size() > logged) {
    obs::LogWarning("more records that cannot be read were dropped",
                    {{"records", std::to_string(damage.size() - logged)}});
  }
}

absl::Status DropDamaged(kv::KvStore& store, const kv::Damage& damage, obs::Metrics* metrics) {
  if (damage.empty()) return absl::OkStatus();
  kv::WriteBatch batch;
  for (const kv::DamagedRecord& record : damage) batch.Delete(record.family, record.key);
  if (absl::Status status = store.Write(batch); !status.ok()) return status;
  ReportDamage(damage, metrics);
  return absl::OkStatus();
}

}  // namespace basalt::runtime
