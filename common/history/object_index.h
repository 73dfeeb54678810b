#pragma once

// Which objects have a history: family kHistoryIndex, key slot | key of the object | first seen (ms) | UID. A history
// outlives its object, so it lies under the UID, and is found by the object's key here. A record of the index that
// cannot be read follows from its key, but for when the object went. Stateless; errors are those of the store.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/storage/v1/history.pb.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::history {

void PutObject(uint32_t slot, std::string_view object_key, std::string_view uid, int64_t first_ms,
               kv::WriteBatch& batch);
// The object was seen to be gone. Only the first time counts.
absl::Status PutGone(const kv::KvStore& store, uint32_t slot, std::string_view object_key, std::string_view uid,
                     int64_t gone_ms, kv::WriteBatch& batch);
// The objects that had this key, oldest first.
absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> ReadObjects(const kv::KvStore& store, uint32_t slot,
                                                                         std::string_view object_key);

struct IndexedObject {
  std::string index_key;  // In the store.
  storage::v1::HistoryIndexRecord record;
};
// The objects of the slot but those of `present` (UIDs). A record that cannot be read is put to `damage`, and is made
// anew from its key in the batch, or goes where the key cannot be read either.
absl::StatusOr<std::vector<IndexedObject>> ReadGoneObjects(const kv::KvStore& store, uint32_t slot,
                                                           const std::set<std::string>& present, kv::WriteBatch& batch,
                                                           kv::Damage& damage);

}  // namespace basalt::history
