#pragma once

// Where queuesvc's records lie in the key-value store, and nothing else: keys begin with the slot, so that handing
// over, scanning or dropping a slot is one range. Stateless; errors are those of the store.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "common/history/history.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::queuesvc {

// What was decided of queues, and what became of it.
using QueueHistories = history::History<storage::v1::QueueHistoryRecord>;

void PutQueue(uint32_t slot, std::string_view name, const storage::v1::QueueRecord& record, kv::WriteBatch& batch);
void DropQueue(uint32_t slot, std::string_view name, kv::WriteBatch& batch);

// Visits every record of the slot in the order of the keys. A record that cannot be read, or that contradicts its key,
// is put to `damage` and left out.
absl::Status ForEachQueue(const kv::KvStore& store, uint32_t slot,
                          const std::function<void(const std::string& name, storage::v1::QueueRecord record)>& visit,
                          kv::Damage& damage);

}  // namespace basalt::queuesvc
