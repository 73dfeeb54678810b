#pragma once

// Records a slot's revisions and reads them again. Keys begin with the slot, so that the records travel with it.
// Stateless; errors are those of the store. Any thread, but the functions that change a RevisionLog run on the loop of
// its slot.
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

// Visits the last published record of each object, deleted ones too, in the order of the keys. An unreadable record is
// added to `damage` and left out.
absl::Status ForEachShown(const kv::KvStore& store, uint32_t slot, const VisitShown& visit, kv::Damage& damage);

// `epoch` is the slot's. `visit` is called for each object that is not deleted.
absl::StatusOr<watch::RevisionLog> LoadRevisions(const kv::KvStore& store, uint32_t slot, int64_t epoch,
                                                 const VisitShown& visit, kv::Damage& damage);

// Records that the object is published in another state than before. `published` has all of that state but the
// revision, which is returned. A repeated call, here and below, takes another revision.
int64_t RecordPublished(uint32_t slot, const std::string& key, storage::v1::PublishedObject published,
                        watch::RevisionLog& log, Random& random, kv::WriteBatch& batch);
void RecordDeleted(uint32_t slot, const std::string& key, const std::string& uid, watch::RevisionLog& log,
                   Random& random, kv::WriteBatch& batch);

// Drops all watch records of the slot.
void DropWatchRecords(uint32_t slot, kv::WriteBatch& batch);

}  // namespace basalt::runtime
