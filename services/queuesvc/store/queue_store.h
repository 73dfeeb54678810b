#pragma once

// The layout of queuesvc's records in the key-value store. Keys begin with the slot, so that a slot is handed over,
// scanned or dropped as one range. Stateless; errors are those of the store.
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

// Decisions about queues, and their outcomes.
using QueueHistories = history::History<storage::v1::QueueHistoryRecord>;

void PutQueue(uint32_t slot, std::string_view name, const storage::v1::QueueRecord& record, kv::WriteBatch& batch);
void DropQueue(uint32_t slot, std::string_view name, kv::WriteBatch& batch);

// Calls `visit` for each record of the slot in the order of the keys. A record that cannot be read, or that contradicts
// its key, is added to `damage` and left out.
absl::Status ForEachQueue(const kv::KvStore& store, uint32_t slot,
                          const std::function<void(const std::string& name, storage::v1::QueueRecord record)>& visit,
                          kv::Damage& damage);

}  // namespace basalt::queuesvc
