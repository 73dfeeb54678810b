#pragma once

// The index of the objects that have a history: family kHistoryIndex, key slot | key of the object | first observed
// (ms) | UID. A history outlives its object, so the store has it under the UID; the index finds it by the object's key.
// The key replaces a record of the index that cannot be read, except for the time at which the object went. Stateless;
// errors are those of the store.
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
// Records that the object was observed to be gone. Only the first call counts.
absl::Status PutGone(const kv::KvStore& store, uint32_t slot, std::string_view object_key, std::string_view uid,
                     int64_t gone_ms, kv::WriteBatch& batch);
// Returns the objects that had this key, oldest first.
absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> ReadObjects(const kv::KvStore& store, uint32_t slot,
                                                                         std::string_view object_key);

struct IndexedObject {
  std::string index_key;  // The key of `record` in the store.
  storage::v1::HistoryIndexRecord record;
};
// Returns the objects of the slot except those of `present` (UIDs). A record that cannot be read is added to `damage`.
// The batch makes such a record anew from its key, or deletes it if the key cannot be read either.
absl::StatusOr<std::vector<IndexedObject>> ReadGoneObjects(const kv::KvStore& store, uint32_t slot,
                                                           const std::set<std::string>& present, kv::WriteBatch& batch,
                                                           kv::Damage& damage);

}  // namespace basalt::history
