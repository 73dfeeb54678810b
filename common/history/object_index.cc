#include "common/history/object_index.h"

#include <optional>
#include <utility>

#include "common/base/status_macros.h"

namespace basalt::history {

using kv::Family;
using storage::v1::HistoryIndexRecord;

namespace {

std::string SlotPrefix(uint32_t slot) {
  std::string key;
  kv::PutSlot(key, slot);
  return key;
}

std::string ObjectPrefix(uint32_t slot, std::string_view object_key) {
  std::string key = SlotPrefix(slot);
  kv::PutText(key, object_key);
  return key;
}

std::string IndexKey(uint32_t slot, std::string_view object_key, int64_t first_ms, std::string_view uid) {
  std::string key = ObjectPrefix(slot, object_key);
  kv::PutFixed64(key, static_cast<uint64_t>(first_ms));
  kv::PutText(key, uid);
  return key;
}

struct ParsedIndex {
  HistoryIndexRecord record;
  bool is_anew = false;  // True if the stored record could not be read, and `record` was made from the key.
};

// Nullopt if the key cannot be read.
std::optional<ParsedIndex> ParseIndex(std::string_view key, std::string_view value) {
  uint32_t slot = 0;
  std::string object_key;
  uint64_t first_ms = 0;
  std::string uid;
  if (!kv::TakeSlot(key, slot) || !kv::TakeText(key, object_key) || !kv::TakeFixed64(key, first_ms) ||
      !kv::TakeText(key, uid)) {
    return std::nullopt;
  }
  ParsedIndex index;
  const bool is_read = index.record.ParseFromArray(value.data(), static_cast<int>(value.size()));
  if (is_read && index.record.uid() == uid) return index;
  index.record.Clear();
  index.record.set_uid(std::move(uid));
  index.record.set_first_ms(static_cast<int64_t>(first_ms));
  index.is_anew = true;
  return index;
}

}  // namespace

void PutObject(uint32_t slot, std::string_view object_key, std::string_view uid, int64_t first_ms,
               kv::WriteBatch& batch) {
  HistoryIndexRecord record;
  record.set_uid(std::string(uid));
  record.set_first_ms(first_ms);
  batch.Put(Family::kHistoryIndex, IndexKey(slot, object_key, first_ms, uid), record.SerializeAsString());
}

absl::Status PutGone(const kv::KvStore& store, uint32_t slot, std::string_view object_key, std::string_view uid,
                     int64_t gone_ms, kv::WriteBatch& batch) {
  const std::string prefix = ObjectPrefix(slot, object_key);
  return store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                    [&](std::string_view key, std::string_view value) {
                      std::optional<ParsedIndex> index = ParseIndex(key, value);
                      if (index && index->record.uid() == uid && index->record.gone_ms() == 0) {
                        index->record.set_gone_ms(gone_ms);
                        batch.Put(Family::kHistoryIndex, key, index->record.SerializeAsString());
                      }
                      return true;
                    });
}

absl::StatusOr<std::vector<HistoryIndexRecord>> ReadObjects(const kv::KvStore& store, uint32_t slot,
                                                            std::string_view object_key) {
  const std::string prefix = ObjectPrefix(slot, object_key);
  std::vector<HistoryIndexRecord> objects;
  BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      std::optional<ParsedIndex> index = ParseIndex(key, value);
                                      if (index) objects.push_back(std::move(index->record));
                                      return true;
                                    }));
  return objects;
}

absl::StatusOr<std::vector<IndexedObject>> ReadGoneObjects(const kv::KvStore& store, uint32_t slot,
                                                           const std::set<std::string>& present, kv::WriteBatch& batch,
                                                           kv::Damage& damage) {
  const auto mend = [&](std::string_view key, const std::optional<ParsedIndex>& index) {
    damage.push_back(
        {"history_index", Family::kHistoryIndex, std::string(key), index ? index->record.uid() : std::string(), ""});
    if (index) {
      batch.Put(Family::kHistoryIndex, key, index->record.SerializeAsString());
    } else {
      batch.Delete(Family::kHistoryIndex, key);
    }
  };
  const std::string prefix = SlotPrefix(slot);
  std::vector<IndexedObject> gone;
  BASALT_RETURN_IF_ERROR(store.Scan(Family::kHistoryIndex, prefix, kv::PrefixEnd(prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      std::optional<ParsedIndex> index = ParseIndex(key, value);
                                      if (!index || index->is_anew) mend(key, index);
                                      if (index && !present.contains(index->record.uid())) {
                                        gone.push_back({std::string(key), std::move(index->record)});
                                      }
                                      return true;
                                    }));
  return gone;
}

}  // namespace basalt::history
