#include "services/jobsvc/control/watch_records.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "services/jobsvc/store/job_store.h"

namespace basalt::jobsvc {

namespace {

void Put(uint32_t slot, const std::string& key, const storage::v1::ShownJob& published, const watch::RevisionLog& log,
         kv::WriteBatch& batch) {
  storage::v1::SlotWatch record;
  record.set_incarnation(log.state().incarnation);
  record.set_revision(log.state().revision);
  record.set_forgotten(log.state().forgotten);
  batch.Put(kv::Family::kAux, ShownJobKey(slot, key), published.SerializeAsString());
  batch.Put(kv::Family::kAux, SlotWatchKey(slot), record.SerializeAsString());
}

}  // namespace

absl::StatusOr<watch::RevisionLog> LoadRevisions(
    const kv::KvStore& store, uint32_t slot, int64_t epoch,
    const std::function<void(const std::string&, const storage::v1::ShownJob&)>& visit, kv::Damage& damage) {
  BASALT_ASSIGN_OR_RETURN(const storage::v1::SlotWatch record, ReadSlotWatch(store, slot, &damage));
  std::vector<watch::RevisionLog::Deletion> deletions;
  const auto load = [&](std::string key, const storage::v1::ShownJob& published) {
    if (published.deleted()) {
      deletions.push_back({published.revision(), std::move(key), published.uid()});
    } else {
      visit(key, published);
    }
  };
  BASALT_RETURN_IF_ERROR(ForEachShownJob(store, slot, load, &damage));
  return watch::RevisionLog({record.incarnation(), record.revision(), record.forgotten()}, std::move(deletions), epoch);
}

int64_t RecordPublished(uint32_t slot, const std::string& key, uint64_t state, watch::RevisionLog& log, Random& random,
                        kv::WriteBatch& batch) {
  storage::v1::ShownJob published;
  published.set_revision(log.Publish(key, random));
  published.set_state(state);
  Put(slot, key, published, log, batch);
  return published.revision();
}

void RecordDeleted(uint32_t slot, const std::string& key, const std::string& uid, watch::RevisionLog& log,
                   Random& random, kv::WriteBatch& batch) {
  const watch::RevisionLog::Deleted deleted = log.Delete(key, uid, random);
  if (deleted.forgotten_key) batch.Delete(kv::Family::kAux, ShownJobKey(slot, *deleted.forgotten_key));
  storage::v1::ShownJob published;
  published.set_revision(deleted.revision);
  published.set_deleted(true);
  published.set_uid(uid);
  Put(slot, key, published, log, batch);
}

}  // namespace basalt::jobsvc
