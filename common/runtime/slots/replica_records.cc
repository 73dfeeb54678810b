#include "common/runtime/slots/replica_records.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/base/status_macros.h"
#include "common/kv/damage.h"
#include "common/rpc/held_slots.h"
#include "common/runtime/slots/damage.h"
#include "common/runtime/slots/slot_records.h"

namespace basalt::runtime {
namespace {

// Keys of kv::Family::kMeta.
constexpr std::string_view kEpochKey = "!epoch";
constexpr std::string_view kNameSecretKey = "!name_secret";

}  // namespace

absl::StatusOr<int64_t> LoadLastEpoch(kv::KvStore& store, obs::Metrics* metrics) {
  int64_t last_epoch = 0;
  kv::Damage damage;
  BASALT_ASSIGN_OR_RETURN(const auto metas, ReadSlotMetas(store, &damage));
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> stored, store.Get(kv::Family::kMeta, kEpochKey));
  if (stored.has_value()) {
    std::string_view bytes = *stored;
    uint64_t epoch = 0;
    if (kv::TakeFixed64(bytes, epoch)) {
      last_epoch = static_cast<int64_t>(epoch);
    } else {
      damage.push_back({"epoch", kv::Family::kMeta, std::string(kEpochKey), "", ""});
      for (const auto& [slot, meta] : metas) last_epoch = std::max({last_epoch, meta.epoch(), meta.history_epoch()});
    }
  }
  if (absl::Status dropped = DropDamaged(store, damage, metrics); !dropped.ok()) return dropped;
  return last_epoch;
}

void PutLastEpoch(int64_t epoch, kv::WriteBatch& batch) {
  std::string value;
  kv::PutFixed64(value, static_cast<uint64_t>(epoch));
  batch.Put(kv::Family::kMeta, kEpochKey, value);
}

absl::StatusOr<std::string> LoadNameSecret(kv::KvStore& store, const std::string& fresh) {
  BASALT_ASSIGN_OR_RETURN(std::optional<std::string> stored, store.Get(kv::Family::kMeta, kNameSecretKey));
  if (stored.has_value() && !stored->empty()) return *std::move(stored);
  kv::WriteBatch batch;
  batch.Put(kv::Family::kMeta, kNameSecretKey, fresh);
  if (absl::Status written = store.Write(batch); !written.ok()) return written;
  return fresh;
}

absl::Status AddHeldSlots(const kv::KvStore& store, gateway::v1::Hello& hello) {
  BASALT_ASSIGN_OR_RETURN(const auto metas, ReadSlotMetas(store));
  for (const auto& [slot, meta] : metas) {
    const bool only_history = meta.epoch() == 0;
    const int64_t epoch = only_history ? meta.history_epoch() : meta.epoch();
    if (epoch != 0) rpc::AddHeldSlot(slot, epoch, only_history, *hello.mutable_record_inventory());
  }
  return absl::OkStatus();
}

}  // namespace basalt::runtime
