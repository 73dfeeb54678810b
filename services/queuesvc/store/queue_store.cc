#include "services/queuesvc/store/queue_store.h"

#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"

namespace basalt::queuesvc {
namespace {

std::string KeyOf(uint32_t slot, std::string_view name) {
  std::string key;
  kv::PutSlot(key, slot);
  kv::PutText(key, name);
  return key;
}

}  // namespace

void PutQueue(uint32_t slot, std::string_view name, const storage::v1::QueueRecord& record, kv::WriteBatch& batch) {
  batch.Put(kv::Family::kRecords, KeyOf(slot, name), record.SerializeAsString());
}

void DropQueue(uint32_t slot, std::string_view name, kv::WriteBatch& batch) {
  batch.Delete(kv::Family::kRecords, KeyOf(slot, name));
}

absl::Status ForEachQueue(const kv::KvStore& store, uint32_t slot,
                          const std::function<void(const std::string& name, storage::v1::QueueRecord record)>& visit,
                          kv::Damage& damage) {
  std::string prefix;
  kv::PutSlot(prefix, slot);
  const auto take = [&](std::string_view key, std::string_view value) {
    std::string_view rest = key.substr(prefix.size());
    std::string name;
    storage::v1::QueueRecord record;
    const bool is_sound = kv::TakeText(rest, name) && rest.empty() && SlotOf(name) == slot &&
                          record.ParseFromArray(value.data(), static_cast<int>(value.size())) && !record.uid().empty();
    if (is_sound) {
      visit(name, std::move(record));
    } else {
      damage.push_back({"queue", kv::Family::kRecords, std::string(key), std::move(name), ""});
    }
    return true;
  };
  return store.Scan(kv::Family::kRecords, prefix, kv::PrefixEnd(prefix), take);
}

}  // namespace basalt::queuesvc
