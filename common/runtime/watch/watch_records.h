#pragma once

// How a slot's revisions are recorded and read again: keys begin with the slot, so that they travel with it. Stateless;
// errors are those of the store.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/storage/v1/watch_record.pb.h"
#include "common/base/random.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"
#include "common/watch/revision_log.h"

namespace basalt::runtime {

std::string SlotWatchKey(uint32_t slot);
std::string ShownKey(uint32_t slot, std::string_view key);

using VisitShown = std::function<void(const std::string& key, const storage::v1::PublishedObject& shown)>;

// Visits what was last published of each object, deleted ones too, in the order of the keys. A record that cannot be
// read is put to `damage` and left out.
absl::Status ForEachShown(const kv::KvStore& store, uint32_t slot, const VisitShown& visit, kv::Damage& damage);

// `epoch`: the slot's. `visit` is told of the objects that are not deleted.
absl::StatusOr<watch::RevisionLog> LoadRevisions(const kv::KvStore& store, uint32_t slot, int64_t epoch,
                                                 const VisitShown& visit, kv::Damage& damage);

// The object is published in another state than before; `published` says all of that but the revision, which is
// returned.
int64_t RecordPublished(uint32_t slot, const std::string& key, storage::v1::PublishedObject published,
                        watch::RevisionLog& log, Random& random, kv::WriteBatch& batch);
void RecordDeleted(uint32_t slot, const std::string& key, const std::string& uid, watch::RevisionLog& log,
                   Random& random, kv::WriteBatch& batch);

// All of the slot.
void DropWatchRecords(uint32_t slot, kv::WriteBatch& batch);

}  // namespace basalt::runtime
