#include "common/runtime/watch/watch_records.h"

#include <optional>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"

namespace basalt::runtime {

using kv::Family;

namespace {

// Damaged records are counted by kind, which is the second part of the key.
constexpr std::string_view kWatchRecord = "watch";
constexpr std::string_view kShownRecord = "published";

std::string TextKey(uint32_t slot, std::string_view kind) {
  std::string key;
  kv::PutSlot(key, slot);
  kv::PutText(key, kind);
  return key;
}

// Parses a scan's view of the value.
template <typename Record>
bool Parse(std::string_view value, Record& record) {
  return record.ParseFromArray(value.data(), static_cast<int>(value.size()));
}

absl::StatusOr<storage::v1::SlotWatch> ReadSlotWatch(const kv::KvStore& store, uint32_t slot, kv::Damage& damage) {
  const std::string key = SlotWatchKey(slot);
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> value, store.Get(Family::kAux, key));
  storage::v1::SlotWatch record;
  if (!value || Parse(*value, record)) return record;
  damage.push_back({kWatchRecord, Family::kAux, key, "", ""});
  return storage::v1::SlotWatch();
}

void Put(uint32_t slot, const std::string& key, const storage::v1::PublishedObject& published,
         const watch::RevisionLog& log, kv::WriteBatch& batch) {
  storage::v1::SlotWatch record;
  record.set_incarnation(log.state().incarnation);
  record.set_revision(log.state().revision);
  record.set_forgotten(log.state().forgotten);
  batch.Put(Family::kAux, ShownKey(slot, key), published.SerializeAsString());
  batch.Put(Family::kAux, SlotWatchKey(slot), record.SerializeAsString());
}

}  // namespace

std::string SlotWatchKey(uint32_t slot) { return TextKey(slot, kWatchRecord); }

std::string ShownKey(uint32_t slot, std::string_view key) {
  std::string shown = TextKey(slot, kShownRecord);
  kv::PutText(shown, key);
  return shown;
}

absl::Status ForEachShown(const kv::KvStore& store, uint32_t slot, const VisitShown& visit, kv::Damage& damage) {
  const std::string prefix = TextKey(slot, kShownRecord);
  const auto take = [&](std::string_view stored, std::string_view value) {
    std::string_view rest = stored.substr(prefix.size());
    std::string key;
    storage::v1::PublishedObject shown;
    if (kv::TakeText(rest, key) && Parse(value, shown) && shown.revision() > 0) {
      visit(key, shown);
    } else {
      damage.push_back({kShownRecord, Family::kAux, std::string(stored), std::move(key), ""});
    }
    return true;
  };
  return store.Scan(Family::kAux, prefix, kv::PrefixEnd(prefix), take);
}

absl::StatusOr<watch::RevisionLog> LoadRevisions(const kv::KvStore& store, uint32_t slot, int64_t epoch,
                                                 const VisitShown& visit, kv::Damage& damage) {
  BASALT_ASSIGN_OR_RETURN(const storage::v1::SlotWatch record, ReadSlotWatch(store, slot, damage));
  std::vector<watch::RevisionLog::Deletion> deletions;
  const auto load = [&](const std::string& key, const storage::v1::PublishedObject& shown) {
    if (shown.deleted()) {
      deletions.push_back({shown.revision(), key, shown.uid()});
    } else {
      visit(key, shown);
    }
  };
  BASALT_RETURN_IF_ERROR(ForEachShown(store, slot, load, damage));
  return watch::RevisionLog({record.incarnation(), record.revision(), record.forgotten()}, std::move(deletions), epoch);
}

int64_t RecordPublished(uint32_t slot, const std::string& key, storage::v1::PublishedObject published,
                        watch::RevisionLog& log, Random& random, kv::WriteBatch& batch) {
  published.set_revision(log.Publish(key, random));
  Put(slot, key, published, log, batch);
  return published.revision();
}

void RecordDeleted(uint32_t slot, const std::string& key, const std::string& uid, watch::RevisionLog& log,
                   Random& random, kv::WriteBatch& batch) {
  const watch::RevisionLog::Deleted deleted = log.Delete(key, uid, random);
  if (deleted.forgotten_key) batch.Delete(Family::kAux, ShownKey(slot, *deleted.forgotten_key));
  storage::v1::PublishedObject published;
  published.set_revision(deleted.revision);
  published.set_deleted(true);
  published.set_uid(uid);
  Put(slot, key, published, log, batch);
}

void DropWatchRecords(uint32_t slot, kv::WriteBatch& batch) {
  batch.Delete(Family::kAux, SlotWatchKey(slot));
  const std::string shown = TextKey(slot, kShownRecord);
  batch.DeleteRange(Family::kAux, shown, kv::PrefixEnd(shown));
}

}  // namespace basalt::runtime
