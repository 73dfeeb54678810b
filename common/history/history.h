#pragma once

// The histories of a service's objects: its decisions, for people alone; nothing acts by them. A history outlives its
// object until it is too old or too large (common/history/retention.h). It moves with its slot, after the records that
// the owner acts by. Confined to one loop. It reads the store and fills batches, which the caller writes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/storage/v1/history.pb.h"
#include "common/base/status_macros.h"
#include "common/history/entries.h"
#include "common/history/object_index.h"
#include "common/history/retention.h"
#include "common/kv/damage.h"
#include "common/kv/kv_store.h"

namespace basalt::history {

// `Entry` is a message of the service with int64 sequence, generation and time_ms. A UID identifies an object. `slot`
// is the slot of the object's key. entries.h describes `damage`.
template <typename Entry>
class History {
 public:
  // `store` must outlive this object.
  explicit History(const kv::KvStore& store, const Limits& limits = {})
      : store_(store), limits_(limits), retention_(store, limits, &TimeOf) {}

  // ---- objects ----
  // Adds the object to the index: from now on the object's key finds its history.
  static void Begin(uint32_t slot, std::string_view object_key, std::string_view uid, int64_t first_ms,
                    kv::WriteBatch& batch) {
    PutObject(slot, object_key, uid, first_ms, batch);
  }
  // Records that the object was observed to be gone.
  absl::Status End(uint32_t slot, std::string_view object_key, std::string_view uid, int64_t gone_ms,
                   kv::WriteBatch& batch) const {
    return PutGone(store_, slot, object_key, uid, gone_ms, batch);
  }
  // Returns the objects that had this key, oldest first.
  absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> ObjectsOf(uint32_t slot,
                                                                         std::string_view object_key) const {
    return ReadObjects(store_, slot, object_key);
  }

  // ---- entries ----
  // Replaces an entry of the same number.
  static void Put(uint32_t slot, std::string_view uid, const Entry& entry, kv::WriteBatch& batch) {
    batch.Put(kv::Family::kHistory, EntryKey(slot, uid, NumberOf(entry)), entry.SerializeAsString());
  }
  // Returns the entries, oldest first.
  absl::StatusOr<std::vector<Entry>> Read(uint32_t slot, std::string_view uid, kv::Damage* damage = nullptr) const;
  // Nullopt if the entry does not exist, or not any more.
  absl::StatusOr<std::optional<Entry>> ReadOne(uint32_t slot, std::string_view uid, EntryNumber number,
                                               kv::Damage* damage = nullptr) const;
  // Counts an entry that was put into `batch`, which is not written yet. Beyond the limit, drops older entries in the
  // batch: edits first while they are more than half of the limit.
  absl::Status Trim(uint32_t slot, std::string_view uid, EntryCount& count, kv::WriteBatch& batch,
                    kv::Damage& damage) const;

  // ---- objects that are gone ----
  Retention& retention() { return retention_; }

 private:
  static EntryNumber NumberOf(const Entry& entry) { return {entry.sequence(), entry.generation()}; }
  static bool Parse(std::string_view bytes, Entry& entry) {
    return entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }
  static std::optional<int64_t> TimeOf(std::string_view bytes) {
    Entry entry;
    if (!Parse(bytes, entry)) return std::nullopt;
    return entry.time_ms();
  }

  const kv::KvStore& store_;
  const Limits limits_;
  Retention retention_;
};

template <typename Entry>
absl::StatusOr<std::vector<Entry>> History<Entry>::Read(uint32_t slot, std::string_view uid, kv::Damage* damage) const {
  std::vector<Entry> entries;
  const auto take = [&entries](EntryNumber number, std::string_view bytes) {
    Entry entry;
    if (!Parse(bytes, entry) || NumberOf(entry) != number) return false;
    entries.push_back(std::move(entry));
    return true;
  };
  BASALT_RETURN_IF_ERROR(ReadEntries(store_, slot, uid, take, damage));
  return entries;
}

template <typename Entry>
absl::StatusOr<std::optional<Entry>> History<Entry>::ReadOne(uint32_t slot, std::string_view uid, EntryNumber number,
                                                             kv::Damage* damage) const {
  std::optional<Entry> found;
  const auto take = [&found](EntryNumber wanted, std::string_view bytes) {
    Entry entry;
    if (!Parse(bytes, entry) || NumberOf(entry) != wanted) return false;
    found = std::move(entry);
    return true;
  };
  BASALT_RETURN_IF_ERROR(ReadEntry(store_, slot, uid, number, take, damage));
  return found;
}

template <typename Entry>
absl::Status History<Entry>::Trim(uint32_t slot, std::string_view uid, EntryCount& count, kv::WriteBatch& batch,
                                  kv::Damage& damage) const {
  const auto most = static_cast<int64_t>(limits_.entries);
  if (count && ++*count <= most) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Read(slot, uid, &damage));
  // The new entry is not in the store yet, and neither is another one of this batch.
  count = std::max(count.value_or(0), static_cast<int64_t>(entries.size()) + 1);
  if (*count <= most) return absl::OkStatus();
  // Drop a few more than needed, so that a long history is not read again for every entry.
  const int64_t surplus = *count - most + most / 16;
  const size_t drop = std::min(entries.size(), static_cast<size_t>(surplus));
  std::vector<EntryNumber> numbers;
  numbers.reserve(entries.size());
  for (const Entry& entry : entries) numbers.push_back(NumberOf(entry));
  for (const EntryNumber old : Surplus(numbers, drop, static_cast<size_t>(most) / 2)) {
    batch.Delete(kv::Family::kHistory, EntryKey(slot, uid, old));
  }
  *count -= static_cast<int64_t>(drop);
  return absl::OkStatus();
}

}  // namespace basalt::history
